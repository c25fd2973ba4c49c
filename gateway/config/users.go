package config

import (
	"net/mail"
	"net/url"
	"slices"
	"strings"
	"time"

	"lectern/auth"
	"lectern/contenttypes"
	"lectern/internal/yamlfile"
)

// Users is the part users-permissions of config/plugins.yaml.
type Users struct {
	Enabled   bool           // default true
	Secret    string         // signs JWTs; "": one is generated and stored in the data directory
	RateLimit auth.RateLimit // of logins; default 5 in 5 minutes by address and route
	Accounts  auth.UserSettings

	RegisterFields *yamlfile.Node // position of Accounts.RegisterFields; nil if not set
	DefaultRole    *yamlfile.Node // position of Accounts.DefaultRole; nil if not set
	SecretAt       *yamlfile.Node // position of Secret; nil if not set
}

var defaultUsers = Users{
	Enabled:   true,
	RateLimit: auth.RateLimit{Enabled: true, Interval: 5 * time.Minute, Max: 5},
	Accounts: auth.UserSettings{
		Lifespan: 30 * 24 * time.Hour, AllowRegister: true, UniqueEmail: true, DefaultRole: auth.AuthenticatedRole, ConfirmedURL: "/",
		Mail: auth.MailSettings{From: "Lectern <no-reply@localhost>", Reset: auth.DefaultResetMail, Confirm: auth.DefaultConfirmMail},
	},
}

// usersFile is that part as written.
type usersFile struct {
	JWTSecret string `yaml:"jwtSecret"`
	JWT       struct {
		ExpiresIn *yamlfile.Node `yaml:"expiresIn"`
	}
	RateLimit struct {
		Enabled  bool
		Interval interval
		Max      int
	} `yaml:"ratelimit"`
	Register struct {
		AllowedFields []string `yaml:"allowedFields"`
	}
	AllowRegister     bool   `yaml:"allow_register"`
	UniqueEmail       bool   `yaml:"unique_email"`
	EmailConfirmation bool   `yaml:"email_confirmation"`
	ConfirmedURL      string `yaml:"email_confirmation_redirection"`
	ResetURL          string `yaml:"email_reset_password"`
	DefaultRole       string `yaml:"default_role"`
	Email             mailFile
}

type mailFile struct {
	From    string
	ReplyTo string    `yaml:"replyTo"`
	SMTP    *smtpFile `yaml:"smtp"`

	Templates struct {
		Reset   templateFile `yaml:"reset_password"`
		Confirm templateFile `yaml:"email_confirmation"`
	}
}

type smtpFile struct {
	Host     string `yaml:",required"`
	Port     int
	Username string
	Password string
	Security string
}

type templateFile struct{ Object, Message string }

// file returns the settings as a file that sets nothing would give them.
func (s *Users) file() usersFile {
	a := s.Accounts
	f := usersFile{
		JWTSecret: s.Secret, AllowRegister: a.AllowRegister, UniqueEmail: a.UniqueEmail, EmailConfirmation: a.EmailConfirmation,
		ConfirmedURL: a.ConfirmedURL, ResetURL: a.ResetURL, DefaultRole: a.DefaultRole,
	}
	f.RateLimit.Enabled, f.RateLimit.Interval, f.RateLimit.Max = s.RateLimit.Enabled, interval(s.RateLimit.Interval), s.RateLimit.Max
	f.Email.From, f.Email.ReplyTo = a.Mail.From, a.Mail.ReplyTo
	f.Email.Templates.Reset = templateFile{a.Mail.Reset.Subject, a.Mail.Reset.Message}
	f.Email.Templates.Confirm = templateFile{a.Mail.Confirm.Subject, a.Mail.Confirm.Message}
	return f
}

// read reads a file; config is its position for problems.
func (s *Users) read(f *usersFile, config *yamlfile.Node) (problems yamlfile.Problems) {
	wrong := func(at *yamlfile.Node, format string, args ...any) {
		problems = append(problems, at.Problem(format, args...))
	}
	a := &s.Accounts
	if d := f.JWT.ExpiresIn; !d.IsNull() {
		var ok bool
		if a.Lifespan, ok = ParseLifespan(d.Text); !ok {
			wrong(d, "expiresIn must be a number of seconds or a time such as 12h or 30d, not %q", d.Text)
		}
	}
	s.Secret, s.SecretAt = f.JWTSecret, config.Get("jwtSecret")
	s.RateLimit = auth.RateLimit{Enabled: f.RateLimit.Enabled, Interval: time.Duration(f.RateLimit.Interval), Max: f.RateLimit.Max}
	if s.RateLimit.Max < 1 {
		wrong(config.At("ratelimit", "max"), "max must be 1 or more: it is how often an address may ask within an interval")
	}
	if s.RateLimit.Interval <= 0 {
		wrong(config.At("ratelimit", "interval"), "interval must be more than nothing, such as 5m")
	}
	a.RegisterFields, s.RegisterFields = f.Register.AllowedFields, config.Get("register").Get("allowedFields")
	a.AllowRegister, a.UniqueEmail, a.EmailConfirmation = f.AllowRegister, f.UniqueEmail, f.EmailConfirmation
	a.DefaultRole, s.DefaultRole = f.DefaultRole, config.Get("default_role")
	if a.ResetURL = f.ResetURL; a.ResetURL != "" && !isPage(a.ResetURL) {
		wrong(config.At("email_reset_password"), "email_reset_password must be the address of the page where a new password is set, "+
			"such as https://www.example.org/reset-password, not %q", a.ResetURL)
	}
	if a.ConfirmedURL = f.ConfirmedURL; !isPage(a.ConfirmedURL) && !isLocalPath(a.ConfirmedURL) {
		wrong(config.At("email_confirmation_redirection"), "email_confirmation_redirection must be an address or a path, "+
			"such as https://www.example.org/welcome or /, not %q", a.ConfirmedURL)
	}
	return append(problems, readMail(&a.Mail, &f.Email, config.At("email"))...)
}

// checkFields reports fields in register.allowedFields that users do not have, or that a user may not set when registering.
func (s *Users) checkFields(model *contenttypes.Model) (problems yamlfile.Problems) {
	user := model.Type(contenttypes.UserUID)
	if user == nil {
		return nil // switched off
	}
	var may []string
	for _, a := range user.Attributes {
		if auth.MayRegister(a) {
			may = append(may, a.Name)
		}
	}
	for i, name := range s.Accounts.RegisterFields {
		at := s.RegisterFields.Items[i]
		switch a := user.Attribute(name); {
		case name == "": // it is no text, which is said already
		case a == nil:
			problems = append(problems, at.Problem("users have no attribute %q; those that whoever registers may set are %s", name, strings.Join(may, ", ")))
		case !auth.MayRegister(a):
			problems = append(problems, at.Problem("%s is not for whoever registers to say; take it out", name))
		}
	}
	return problems
}

func readMail(m *auth.MailSettings, f *mailFile, at *yamlfile.Node) (problems yamlfile.Problems) {
	wrong := func(at *yamlfile.Node, format string, args ...any) {
		problems = append(problems, at.Problem(format, args...))
	}
	m.From, m.ReplyTo = f.From, f.ReplyTo
	if _, err := mail.ParseAddress(f.From); err != nil {
		wrong(at.At("from"), "from must be an address such as Lectern <no-reply@example.org>, not %q", f.From)
	}
	if _, err := mail.ParseAddress(f.ReplyTo); err != nil && f.ReplyTo != "" {
		wrong(at.At("replyTo"), "replyTo must be an address such as help@example.org, not %q", f.ReplyTo)
	}
	m.Reset, m.Confirm = auth.MailTemplate{Subject: f.Templates.Reset.Object, Message: f.Templates.Reset.Message},
		auth.MailTemplate{Subject: f.Templates.Confirm.Object, Message: f.Templates.Confirm.Message}
	for key, t := range map[string]auth.MailTemplate{"reset_password": m.Reset, "email_confirmation": m.Confirm} {
		if err := t.Check(); err != nil {
			wrong(at.At("templates", key), "%v", err)
		}
	}
	if f.SMTP == nil {
		return problems
	}
	if f.From == defaultUsers.Accounts.Mail.From {
		wrong(at.At("smtp"), "mail needs a sender: say whose address it comes from, as email.from: Lectern <no-reply@example.org>")
	}
	s := auth.SMTP(*f.SMTP)
	at = at.At("smtp")
	if s.Security == "" {
		s.Security = "starttls"
	}
	if !slices.Contains([]string{"starttls", "tls", "none"}, s.Security) {
		wrong(at.At("security"), "security must be starttls, tls or none, not %q", s.Security)
	}
	switch {
	case s.Port == 0 && s.Security == "tls":
		s.Port = 465
	case s.Port == 0:
		s.Port = 587
	case s.Port < 0 || s.Port > 65535:
		wrong(at.At("port"), "port must be from 1 to 65535, not %d", s.Port)
	}
	m.SMTP = &s
	return problems
}

// isPage reports whether s is the URL of a website, or of an app with a URL scheme of its own.
func isPage(s string) bool {
	u, err := url.Parse(s)
	if err != nil || u.Scheme == "" || u.Host == "" || u.User != nil || strings.ContainsAny(s, " <>\"'\\") {
		return false
	}
	return !slices.Contains([]string{"javascript", "data", "vbscript", "file"}, strings.ToLower(u.Scheme))
}

// isLocalPath reports whether s is a path on the same host, which //example.org is not.
func isLocalPath(s string) bool {
	return strings.HasPrefix(s, "/") && !strings.HasPrefix(s, "//") && !strings.ContainsAny(s, "\\ <>\"'")
}

// An interval is a duration, written as 5m or as {min: 5}.
type interval time.Duration

var intervalUnits = map[string]time.Duration{
	"ms": time.Millisecond, "sec": time.Second, "min": time.Minute, "hour": time.Hour, "day": 24 * time.Hour,
}

func (i *interval) UnmarshalNode(n *yamlfile.Node) yamlfile.Problems {
	if n.Kind != yamlfile.Map {
		d, ok := ParseLifespan(n.Text)
		if !ok {
			return yamlfile.Problems{n.Problem("interval must be a time such as 5m, or {min: 5}, not %q", n.Text)}
		}
		*i = interval(d)
		return nil
	}
	var parts map[string]int
	problems := n.Decode(&parts)
	sum := time.Duration(0)
	for unit, count := range parts {
		if intervalUnits[unit] == 0 || count < 0 || count > 1e6 {
			return append(problems, n.Problem("interval has no %q; write it as {min: 5}, of ms, sec, min, hour and day", unit))
		}
		sum += time.Duration(count) * intervalUnits[unit]
	}
	*i = interval(sum)
	return problems
}
