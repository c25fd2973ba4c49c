package gateway_test

import (
	"bufio"
	"fmt"
	"io"
	"mime/quotedprintable"
	"net"
	"net/mail"
	"strings"
	"testing"
	"time"
)

// A mailbox is an SMTP server that keeps the mails it receives.
type mailbox struct {
	t     *testing.T
	port  int
	mails chan received
}

// received is a mail that a mailbox received.
type received struct {
	to     string // of the envelope
	header mail.Header
	body   string
}

func newMailbox(t *testing.T) *mailbox {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	m := &mailbox{t: t, port: ln.Addr().(*net.TCPAddr).Port, mails: make(chan received, 16)}
	t.Cleanup(func() { ln.Close() })
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			go m.serve(c)
		}
	}()
	return m
}

// config returns the settings of plugins.yaml that send mail to the mailbox.
func (m *mailbox) config() string {
	return fmt.Sprintf("from: Tests <tests@people.test>\n      smtp: {host: 127.0.0.1, port: %d, security: none}",
		m.port)
}

func (m *mailbox) serve(c net.Conn) {
	defer c.Close()
	r := bufio.NewReader(c)
	say := func(text string) { fmt.Fprint(c, text+"\r\n") }
	say("220 mailbox")
	var to string
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			return
		}
		switch verb, rest, _ := strings.Cut(strings.TrimSpace(line), " "); strings.ToUpper(verb) {
		case "EHLO", "HELO":
			say("250-mailbox\r\n250 8BITMIME")
		case "RCPT":
			to = strings.TrimPrefix(rest, "TO:")
			say("250 fine")
		case "DATA":
			say("354 go on")
			m.mails <- m.read(r, to)
			say("250 taken")
		case "QUIT":
			say("221 bye")
			return
		default:
			say("250 fine")
		}
	}
}

func (m *mailbox) read(r *bufio.Reader, to string) received {
	var text strings.Builder
	for {
		line, err := r.ReadString('\n')
		if err != nil || line == ".\r\n" {
			break
		}
		text.WriteString(strings.TrimPrefix(line, "."))
	}
	message, err := mail.ReadMessage(strings.NewReader(text.String()))
	if err != nil {
		m.t.Errorf("a mail that cannot be read: %v\n%s", err, text.String())
		return received{}
	}
	body := message.Body
	if message.Header.Get("Content-Transfer-Encoding") == "quoted-printable" {
		body = quotedprintable.NewReader(body)
	}
	plain, err := io.ReadAll(body)
	if err != nil {
		m.t.Error(err)
	}
	return received{to, message.Header, string(plain)}
}

// next waits for the next mail and returns it.
func (m *mailbox) next() received {
	m.t.Helper()
	select {
	case mail := <-m.mails:
		return mail
	case <-time.After(10 * time.Second):
		m.t.Fatal("no mail came")
	}
	return received{}
}

// after returns the text after a word in the body of a mail, up to the end of the line.
func (r received) after(word string) string {
	_, rest, _ := strings.Cut(r.body, word)
	code, _, _ := strings.Cut(rest, "\n")
	return strings.TrimSpace(code)
}
