package movein

import (
	"fmt"
	"net/mail"
	"slices"

	"lectern/auth"
	"lectern/internal/yamlfile"
	"lectern/jsontree"
	"lectern/strapi/archive"
	"lectern/strapi/definitions"
)

// settings are the settings in the database of Strapi that mean something in Lectern. They go to config/plugins.yaml.
type settings struct {
	i18nDefault string
	locales     []localeRow
	advanced    *jsontree.Object // of users-permissions
	mails       *jsontree.Object
	providers   *jsontree.Object
	upload      *jsontree.Object
	webhooks    []string
}

type localeRow struct{ code, name string }

// add takes a line of the configuration.
func (s *settings) add(line archive.Setting) {
	if line.Type == "webhook" {
		s.webhooks = append(s.webhooks, line.Value.Text("name"))
		return
	}
	value := line.Value.Value("value")
	object, _ := value.(*jsontree.Object)
	switch line.Value.Value("key") {
	case "plugin_i18n_default_locale":
		s.i18nDefault, _ = value.(string)
	case "plugin_users-permissions_advanced":
		s.advanced = object
	case "plugin_users-permissions_email":
		s.mails = object
	case "plugin_users-permissions_grant":
		s.providers = object
	case "plugin_upload_settings":
		s.upload = object
	}
}

// addLocale takes a row of plugin::i18n.locale.
func (s *settings) addLocale(data *jsontree.Object) {
	if code := data.Text("code"); code != "" {
		s.locales = append(s.locales, localeRow{code, data.Text("name")})
	}
}

// defaultLocale returns the locale of rows without one.
func (s *settings) defaultLocale() string {
	if s.i18nDefault == "" {
		return "en"
	}
	return s.i18nDefault
}

const pluginsFile = "config/plugins.yaml"

// write writes the settings. What has no counterpart becomes a note.
func (s *settings) write(to *definitions.Converted, notes *notes) {
	s.writeLocales(to)
	s.writeAdvanced(to, notes)
	s.writeMails(to, notes)
	for _, name := range s.webhooks {
		notes.say("webhook "+name, "set it up anew; see docs/webhooks.md")
	}
	if s.providers != nil {
		for _, name := range s.providers.Keys {
			if p, _ := s.providers.Value(name).(*jsontree.Object); name != "email" && p != nil &&
				p.Value("enabled") == true {
				notes.say("login by "+name, "Lectern has no login by other services")
			}
		}
	}
	if s.upload != nil && s.upload.Value("responsiveDimensions") == false {
		notes.say("setting responsiveDimensions of uploads",
			"is off in the source; here upload.config.breakpoints says which formats new images get")
	}
}

func (s *settings) writeLocales(to *definitions.Converted) {
	if s.i18nDefault == "" && len(s.locales) == 0 {
		return
	}
	to.Set(pluginsFile, textNode(s.defaultLocale()), "i18n", "config", "defaultLocale")
	list := &yamlfile.Node{Kind: yamlfile.List}
	for _, l := range s.locales {
		item := textNode(l.code)
		if l.name != "" && l.name != l.code && !(l.code == "en" && l.name == "English (en)") {
			item = &yamlfile.Node{Kind: yamlfile.Map,
				Entries: []yamlfile.Entry{{Key: "code", Value: item}, {Key: "name", Value: textNode(l.name)}}}
		}
		list.Items = append(list.Items, item)
	}
	if len(list.Items) > 0 {
		to.Set(pluginsFile, list, "i18n", "config", "locales")
	}
}

// advancedKeys are the advanced settings of users-permissions that Lectern has under the same name.
var advancedKeys = []string{"unique_email", "allow_register", "email_confirmation", "email_reset_password",
	"email_confirmation_redirection", "default_role"}

func (s *settings) writeAdvanced(to *definitions.Converted, notes *notes) {
	if s.advanced == nil {
		return
	}
	for _, key := range s.advanced.Keys {
		switch v := s.advanced.Value(key).(type) {
		case nil:
		case bool:
			if slices.Contains(advancedKeys, key) {
				to.Set(pluginsFile, &yamlfile.Node{Kind: yamlfile.Bool, Text: fmt.Sprint(v)}, "users-permissions",
					"config", key)
			}
		case string:
			if v != "" && slices.Contains(advancedKeys, key) {
				to.Set(pluginsFile, textNode(v), "users-permissions", "config", key)
			}
		default:
			notes.say("advanced setting "+key+" of users-permissions", "Lectern has no such setting")
		}
	}
}

// writeMails writes the templates of mail, unless they are those that Strapi begins with.
func (s *settings) writeMails(to *definitions.Converted, notes *notes) {
	if s.mails == nil {
		return
	}
	for _, name := range []string{"reset_password", "email_confirmation"} {
		template, _ := s.mails.Value(name).(*jsontree.Object)
		if template == nil {
			continue
		}
		o, _ := template.Value("options").(*jsontree.Object)
		if o == nil {
			continue
		}
		t := auth.MailTemplate{Subject: o.Text("object"), Message: o.Text("message")}
		if err := t.Check(); err != nil {
			notes.say("mail "+name, "the template of Lectern stays: %v", err)
			continue
		}
		at := []string{"users-permissions", "config", "email", "templates", name}
		to.Set(pluginsFile, textNode(t.Subject), append(at, "object")...)
		to.Set(pluginsFile, textNode(t.Message), append(at, "message")...)
		s.writeSender(to, o)
	}
}

// writeSender writes who sends mail, unless it is the sender that Strapi begins with.
func (s *settings) writeSender(to *definitions.Converted, options *jsontree.Object) {
	from, _ := options.Value("from").(*jsontree.Object)
	if from != nil {
		if address := from.Text("email"); address != "" && address != "no-reply@strapi.io" {
			to.Set(pluginsFile, textNode((&mail.Address{Name: from.Text("name"), Address: address}).String()),
				"users-permissions", "config", "email", "from")
		}
	}
	if reply := options.Text("response_email"); reply != "" {
		to.Set(pluginsFile, textNode(reply), "users-permissions", "config", "email", "replyTo")
	}
}

func textNode(s string) *yamlfile.Node {
	return &yamlfile.Node{Kind: yamlfile.Text, Text: yamlfile.Literal(s)}
}
