package config

import (
	"net/mail"
	"net/url"
	"slices"
	"strings"
	"time"

	"lectern/auth"
	"lectern/auth/providers"
	"lectern/contenttypes"
	"lectern/internal/yamlfile"
)

// Users holds the settings users-permissions of config/plugins.yaml.
type Users struct {
	Enabled   bool           // default true
	Secret    string         // signs JWTs; "": the server generates one and stores it in the data directory
	RateLimit auth.RateLimit // of logins; default 5 in 5 minutes for an address and route
	Accounts  auth.UserSettings
	Providers []providers.Settings // by which users may log in, in the order of their names

	Management string        // jwtManagement: legacy-support (default) or refresh, which sets Accounts.Sessions.On
	Cookie     SessionCookie // used with sessions only

	AllowRegister  *yamlfile.Node // position of Accounts.AllowRegister; nil if not set
	RegisterFields *yamlfile.Node // position of Accounts.RegisterFields; nil if not set
	DefaultRole    *yamlfile.Node // position of Accounts.DefaultRole; nil if not set
	SecretAt       *yamlfile.Node // position of Secret; nil if not set
	SameSiteAt     *yamlfile.Node // position of Cookie.SameSite
}

var defaultUsers = Users{
	Enabled:   true,
	RateLimit: auth.RateLimit{Enabled: true, Interval: 5 * time.Minute, Max: 5},
	Accounts: auth.UserSettings{
		Lifespan:      30 * 24 * time.Hour,
		Sessions:      auth.SessionSettings{Access: 10 * time.Minute, Idle: 14 * 24 * time.Hour, Max: 30 * 24 * time.Hour},
		AllowRegister: true, UniqueEmail: true, DefaultRole: auth.AuthenticatedRole,
		ConfirmedURL: "/",
		Mail: auth.MailSettings{From: "Lectern <no-reply@localhost>", Reset: auth.DefaultResetMail,
			Confirm: auth.DefaultConfirmMail},
	},
	Management: legacyMode,
	Cookie:     SessionCookie{Name: "strapi_up_refresh", Path: "/", SameSite: "lax"},
}

// usersFile is users-permissions.config as written. Decoding it sets the settings that its pointers lead to.
type usersFile struct {
	// signs JWTs. In production it must have 16 bytes or more, and must not be one that ships with Lectern
	// Default: made at the first start
	JWTSecret *string `yaml:"jwtSecret"`
	JWT       struct {
		// how long a JWT works, with `legacy-support`
		// Default: `30d`
		ExpiresIn *yamlfile.Node `yaml:"expiresIn"`
	}
	// `refresh`: a login begins a [session](accounts.md#sessions), with a JWT that works for a short time and a token
	// that gets the next one. `legacy-support`: it gives a JWT alone, which works for long
	JWTManagement *string `yaml:"jwtManagement"`
	Sessions      sessionsFile
	RateLimit     rateLimitFile `yaml:"ratelimit"`
	// whether anybody may register. Without it `lectern check`, and each start in production, warn that it is so
	AllowRegister *bool `yaml:"allow_register"`
	// whether an address belongs to one user only
	UniqueEmail *bool `yaml:"unique_email"`
	// whether users must confirm their address before they log in
	EmailConfirmation *bool `yaml:"email_confirmation"`
	// where the browser goes after an address is confirmed
	ConfirmedURL *string `yaml:"email_confirmation_redirection"`
	// your page on which users set a new password: the mail links to it, with the code as `?code=`. Without it the mail
	// links to `url`, where there is no such page
	// Default: none
	ResetURL *string `yaml:"email_reset_password"`
	Register struct {
		// attributes of your own that users may set when they register: see [below](#attributes-of-users)
		// Default: none
		AllowedFields *[]string `yaml:"allowedFields"`
	}
	// role of users who register
	DefaultRole *string `yaml:"default_role"`
	Providers   map[string]providerFile
	Email       mailFile
}

type rateLimitFile struct {
	// whether to limit how often an address may log in, register, or request mail, and, twenty times as often, refresh
	// sessions
	Enabled *bool
	// most requests of an address in an interval, for each route
	Max *int
	// the interval: a time, or `{min: 5}` of `ms`, `sec`, `min`, `hour` and `day`
	Interval *interval
}

type mailFile struct {
	// sender of mail
	From *string
	// address for answers to mail
	// Default: none
	ReplyTo *string `yaml:"replyTo"`
	// `host`, `port`, `username`, `password`, `security` (`starttls`, `tls`, `none`). Without it, mail is written to
	// `data/mail/` in development and by `serve --ephemeral`, and the log says so; in production none is sent
	// Default: none
	SMTP *smtpFile `yaml:"smtp"`
	// `reset_password`, `email_confirmation`: each `object` and `message`, with the placeholders `<%= URL %>`, `<%=
	// TOKEN %>`, `<%= CODE %>`, `<%= USER.username %>`, `<%= USER.email %>` and `<%= SERVER_URL %>`
	// Default: in English
	Templates templatesFile
}

type templatesFile struct {
	Reset   templateFile `yaml:"reset_password"`
	Confirm templateFile `yaml:"email_confirmation"`
}

type smtpFile struct {
	Host     string `yaml:",required"`
	Port     int
	Username string
	Password string
	Security string
}

type templateFile struct{ Object, Message *string }

// file returns a usersFile whose pointers lead to s.
func (s *Users) file() usersFile {
	a := &s.Accounts
	m := &a.Mail
	f := usersFile{
		JWTSecret: &s.Secret, JWTManagement: &s.Management, Sessions: s.sessionsFile(), AllowRegister: &a.AllowRegister, UniqueEmail: &a.UniqueEmail,
		EmailConfirmation: &a.EmailConfirmation,
		ConfirmedURL:      &a.ConfirmedURL, ResetURL: &a.ResetURL, DefaultRole: &a.DefaultRole,
		Email: mailFile{From: &m.From, ReplyTo: &m.ReplyTo},
	}
	f.RateLimit = rateLimitFile{Enabled: &s.RateLimit.Enabled, Max: &s.RateLimit.Max,
		Interval: (*interval)(&s.RateLimit.Interval)}
	f.Register.AllowedFields = &a.RegisterFields
	f.Email.Templates.Reset = templateFile{&m.Reset.Subject, &m.Reset.Message}
	f.Email.Templates.Confirm = templateFile{&m.Confirm.Subject, &m.Confirm.Message}
	return f
}

// read checks the settings that decoding f has set, and sets the others. config is the Node of f, for the lines of
// problems.
func (s *Users) read(f *usersFile, config *yamlfile.Node) (problems yamlfile.Problems) {
	a := &s.Accounts
	if d := f.JWT.ExpiresIn; !d.IsNull() {
		var ok bool
		if a.Lifespan, ok = ParseLifespan(d.Text); !ok {
			problems.Add(d, "expiresIn must be a number of seconds or a time such as 12h or 30d, not %q", d.Text)
		}
	}
	problems = append(problems, s.readSessions(f, config)...)
	s.SecretAt, s.DefaultRole = config.Get("jwtSecret"), config.Get("default_role")
	s.AllowRegister = config.Get("allow_register")
	s.RegisterFields = config.Get("register").Get("allowedFields")
	if s.RateLimit.Max < 1 {
		problems.Add(config.At("ratelimit", "max"),
			"max must be 1 or more: it is how often an address may ask within an interval")
	}
	if s.RateLimit.Interval <= 0 {
		problems.Add(config.At("ratelimit", "interval"), "interval must be longer than 0, such as 5m")
	}
	if a.ResetURL != "" && !isPage(a.ResetURL) {
		problems.Add(config.At("email_reset_password"),
			"email_reset_password must be the address of the page where a new password is set, "+
				"such as https://www.example.org/reset-password, not %q", a.ResetURL)
	}
	if !isPage(a.ConfirmedURL) && !isLocalPath(a.ConfirmedURL) {
		problems.Add(config.At("email_confirmation_redirection"),
			"email_confirmation_redirection must be an address or a path, "+
				"such as https://www.example.org/welcome or /, not %q", a.ConfirmedURL)
	}
	problems = append(problems, s.readProviders(f.Providers, config.At("providers"))...)
	return append(problems, readMail(&a.Mail, f.Email.SMTP, config.At("email"))...)
}

// checkFields reports names in register.allowedFields that are no attribute of users, or one that users may not set
// when they register.
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
		case name == "": // decoding has reported that it is no text
		case a == nil:
			problems.Add(at, "users have no attribute %q; those that whoever registers may set are %s", name,
				strings.Join(may, ", "))
		case !auth.MayRegister(a):
			problems.Add(at, "%s is not for whoever registers to say; take it out", name)
		}
	}
	return problems
}

// readMail checks the settings of mail, and reads those of the SMTP server from smtp unless it is nil. at is the Node
// of email, for the lines of problems.
func readMail(m *auth.MailSettings, smtp *smtpFile, at *yamlfile.Node) (problems yamlfile.Problems) {
	if _, err := mail.ParseAddress(m.From); err != nil {
		problems.Add(at.At("from"), "from must be an address such as Lectern <no-reply@example.org>, not %q", m.From)
	}
	if _, err := mail.ParseAddress(m.ReplyTo); err != nil && m.ReplyTo != "" {
		problems.Add(at.At("replyTo"), "replyTo must be an address such as help@example.org, not %q", m.ReplyTo)
	}
	for key, t := range map[string]auth.MailTemplate{"reset_password": m.Reset, "email_confirmation": m.Confirm} {
		if err := t.Check(); err != nil {
			problems.Add(at.At("templates", key), "%v", err)
		}
	}
	if smtp == nil {
		return problems
	}
	if m.From == defaultUsers.Accounts.Mail.From {
		problems.Add(at.At("smtp"),
			"mail needs a sender: say whose address it comes from, as email.from: Lectern <no-reply@example.org>")
	}
	s := auth.SMTP(*smtp)
	at = at.At("smtp")
	if s.Security == "" {
		s.Security = "starttls"
	}
	if !slices.Contains([]string{"starttls", "tls", "none"}, s.Security) {
		problems.Add(at.At("security"), "security must be starttls, tls or none, not %q", s.Security)
	}
	switch {
	case s.Port == 0 && s.Security == "tls":
		s.Port = 465
	case s.Port == 0:
		s.Port = 587
	case s.Port < 0 || s.Port > 65535:
		problems.Add(at.At("port"), "port must be from 1 to 65535, not %d", s.Port)
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

// isLocalPath reports whether s is a path on the same host. A URL such as //example.org is not.
func isLocalPath(s string) bool {
	return strings.HasPrefix(s, "/") && !strings.HasPrefix(s, "//") && !strings.ContainsAny(s, "\\ <>\"'")
}

// An interval is a duration that is written as 5m or as {min: 5}.
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
			return append(problems, n.Problem("interval has no %q; write it as {min: 5}, of ms, sec, min, hour and day",
				unit))
		}
		sum += time.Duration(count) * intervalUnits[unit]
	}
	*i = interval(sum)
	return problems
}
