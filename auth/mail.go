package auth

import (
	"context"
	"fmt"
	"html"
	"log/slog"
	"net/mail"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"

	gomail "github.com/wneessen/go-mail"
)

// MailSettings are the settings for sending mail and its templates.
type MailSettings struct {
	From, ReplyTo  string // addresses, for example `Lectern <no-reply@example.org>`
	SMTP           *SMTP  // nil means that no mail is sent
	Reset, Confirm MailTemplate
}

// SMTP is the mail server that messages are sent to.
type SMTP struct {
	Host               string
	Port               int
	Username, Password string
	Security           string // starttls, tls, or none
}

// A MailTemplate is the subject and text of a mail. A text that begins with an HTML tag is sent as HTML, any other as
// plain text.
type MailTemplate struct{ Subject, Message string }

// These are the templates of projects that set none.
var (
	DefaultResetMail = MailTemplate{
		Subject: "Reset your password",
		Message: "Somebody, hopefully you, wants to set a new password for your account <%= USER.username %>.\n\n" +
			"Go on at <%= URL %>?code=<%= TOKEN %>\n\nIf it was not you, there is nothing to do: your password stays as it is.\n",
	}
	DefaultConfirmMail = MailTemplate{
		Subject: "Confirm your address",
		Message: "Welcome, <%= USER.username %>.\n\nConfirm that this address is yours at <%= URL %>?confirmation=<%= CODE %>\n",
	}
)

// placeholders are the names that a template may contain. Each is replaced by its value, and nothing else in a
// template, or in a value, is evaluated.
var placeholders = []string{"URL", "TOKEN", "CODE", "USER.username", "USER.email", "SERVER_URL"}

var placeholder = regexp.MustCompile(`<%(=?)\s*([^%]*?)\s*%>`)

// Check returns an error with a suggestion if a template contains an unknown or unclosed placeholder.
func (t MailTemplate) Check() error {
	for _, text := range []string{t.Subject, t.Message} {
		if strings.Count(text, "<%") != len(placeholder.FindAllString(text, -1)) {
			return fmt.Errorf("a placeholder is not closed; write it as <%%= URL %%>")
		}
		for _, m := range placeholder.FindAllStringSubmatch(text, -1) {
			if m[1] != "=" || !slices.Contains(placeholders, m[2]) {
				return fmt.Errorf("there is no placeholder %s; there are <%%= %s %%>", m[0],
					strings.Join(placeholders, " %>, <%= "))
			}
		}
	}
	return nil
}

// fill replaces the placeholders in a text by their values, which it passes through escape.
func fill(text string, values map[string]string, escape func(string) string) string {
	return placeholder.ReplaceAllStringFunc(text, func(found string) string {
		return escape(values[placeholder.FindStringSubmatch(found)[2]])
	})
}

// A message is a mail that is ready to be sent.
type message struct {
	to, subject, text string
	html              bool
}

// write fills in a template. Values cannot add headers or HTML tags.
func (t MailTemplate) write(to string, values map[string]string) message {
	msg := message{to: to, html: isHTML(t.Message)}
	msg.subject = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return -1
		}
		return r
	}, fill(t.Subject, values, func(s string) string { return s }))
	escape := func(s string) string { return s }
	if msg.html {
		escape = html.EscapeString
	}
	msg.text = fill(t.Message, values, escape)
	return msg
}

func isHTML(message string) bool {
	message = strings.TrimSpace(message)
	return strings.HasPrefix(message, "<") && !strings.HasPrefix(message, "<%")
}

// A mailSender sends messages by SMTP. Without an SMTP server it writes them to a directory, and without a directory it
// fails.
type mailSender struct {
	settings MailSettings
	dir      string // "" means that no messages are written
	log      *slog.Logger
}

func (s *mailSender) send(ctx context.Context, msg message) error {
	m, err := s.compose(msg)
	if err != nil {
		return err
	}
	switch server := s.settings.SMTP; {
	case server != nil:
		client, err := server.client()
		if err != nil {
			return err
		}
		return client.DialAndSendWithContext(ctx, m)
	case s.dir != "":
		return s.writeFile(m)
	}
	return fmt.Errorf("no mail can be sent: name a server in config/plugins.yaml at users-permissions.config.email.smtp")
}

// compose converts a message to one of the mail library.
func (s *mailSender) compose(msg message) (*gomail.Msg, error) {
	to, err := mail.ParseAddress(msg.to)
	if err != nil {
		return nil, fmt.Errorf("write a mail: the address of the user cannot be written to")
	}
	m := gomail.NewMsg()
	if err := m.From(s.settings.From); err != nil {
		return nil, fmt.Errorf("write a mail: from: %w", err)
	}
	if s.settings.ReplyTo != "" {
		if err := m.ReplyTo(s.settings.ReplyTo); err != nil {
			return nil, fmt.Errorf("write a mail: replyTo: %w", err)
		}
	}
	m.ToMailAddress(&mail.Address{Address: to.Address})
	m.Subject(msg.subject)
	kind := gomail.TypeTextPlain
	if msg.html {
		kind = gomail.TypeTextHTML
	}
	m.SetBodyString(kind, msg.text)
	m.SetDate()
	m.SetMessageID()
	return m, nil
}

// writeFile writes a mail to the directory, for developers to read. The log names the file but not its text, since the
// code in it gives access to an account.
func (s *mailSender) writeFile(m *gomail.Msg) error {
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return fmt.Errorf("write a mail to a file: %w", err)
	}
	file, err := os.CreateTemp(s.dir, time.Now().UTC().Format("20060102-150405-")+"*.part")
	if err != nil {
		return fmt.Errorf("write a mail to a file: %w", err)
	}
	_, err = m.WriteTo(file)
	if closed := file.Close(); err == nil {
		err = closed
	}
	name := strings.TrimSuffix(file.Name(), ".part") + ".eml"
	if err == nil {
		err = os.Rename(file.Name(), name)
	}
	if err != nil {
		_ = os.Remove(file.Name()) // report only the first error
		return fmt.Errorf("write a mail to a file: %w", err)
	}
	s.log.Info("a mail was written to a file instead of sent", "file", filepath.Base(name))
	return nil
}

// client returns a client for the mail server.
func (s *SMTP) client() (*gomail.Client, error) {
	options := []gomail.Option{gomail.WithPort(s.Port), gomail.WithTimeout(20 * time.Second)}
	switch s.Security {
	case "tls":
		options = append(options, gomail.WithSSL())
	case "none":
		options = append(options, gomail.WithTLSPolicy(gomail.NoTLS))
	default:
		options = append(options, gomail.WithTLSPolicy(gomail.TLSMandatory))
	}
	if s.Username != "" {
		options = append(options, gomail.WithSMTPAuth(gomail.SMTPAuthAutoDiscover), gomail.WithUsername(s.Username),
			gomail.WithPassword(s.Password))
	}
	return gomail.NewClient(s.Host, options...)
}
