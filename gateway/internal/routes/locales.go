package routes

import (
	"context"
	"net/http"

	"lectern/auth"
	"lectern/contenttypes"
	"lectern/documents"
	"lectern/documents/permission"
	"lectern/gateway/config"
	"lectern/gateway/internal/server"
	"lectern/jsontree"
	"lectern/store"
)

// listLocales is the permission to read locales.
const listLocales = "plugin::i18n.locales.listLocales"

// Locales are the locales of a project, which are documents.
type Locales struct {
	Settings  config.I18n
	Model     *contenttypes.Model
	Store     *store.Store
	Documents *documents.Service
}

// Make creates a document for each configured locale that has none, in the order of the configuration.
func (l *Locales) Make() error {
	t := l.Model.Type(contenttypes.LocaleUID)
	if t == nil {
		return nil // i18n is switched off
	}
	have := map[string]bool{}
	err := l.each(t, func(r store.Record) {
		have[localeCode(t, r)] = true
	})
	if err != nil {
		return err
	}
	l.Documents.Retired = map[string]bool{} // the locales that were removed from the configuration
	for code := range have {
		l.Documents.Retired[code] = !l.Settings.Has(code)
	}
	for _, locale := range l.Settings.Locales {
		if have[locale.Code] {
			continue
		}
		data := jsontree.NewObject()
		data.Set("name", locale.Name)
		data.Set("code", locale.Code)
		if err := l.Documents.Create(context.Background(),
			documents.Write{Type: t, Data: data, Access: permission.FullAccess}); err != nil {
			if store.WritesElsewhere(err) {
				return nil // the origin makes it
			}
			return err
		}
	}
	return nil
}

// each calls yield with the document of each locale, in the order of their creation.
func (l *Locales) each(t *contenttypes.ContentType, yield func(store.Record)) error {
	return l.Store.View(func(s *store.Snapshot) error {
		page, err := s.Find(&store.Query{Type: t, Status: store.Published, Limit: -1})
		for _, r := range page.Rows {
			yield(r)
		}
		return err
	})
}

// localeCode returns the code of a locale, such as "en".
func localeCode(t *contenttypes.ContentType, r store.Record) string {
	text := r.JSON(t.Attribute("code"))
	code, _ := jsontree.Parse(text, 1)
	s, _ := code.(string)
	return s
}

// localeFields are the fields of a locale in an answer. isDefault follows them.
var localeFields = []string{"id", "documentId", "name", "code", "createdAt", "updatedAt", "publishedAt"}

// Routes returns the routes of locales; none if i18n is switched off.
func (l *Locales) Routes(prefix string) []server.Route {
	if l.Model.Type(contenttypes.LocaleUID) == nil {
		return nil
	}
	return []server.Route{
		{Method: http.MethodGet, Path: prefix + "/i18n/locales", Action: listLocales, Handle: l.list},
	}
}

// GET /api/i18n/locales: the configured locales, without envelope, in the order of their creation.
func (l *Locales) list(w http.ResponseWriter, _ *http.Request, _ auth.Principal) error {
	t, body := l.Model.Type(contenttypes.LocaleUID), []byte{'['}
	err := l.each(t, func(r store.Record) {
		if l.Documents.Retired[localeCode(t, r)] {
			return
		}
		if len(body) > 1 {
			body = append(body, ',')
		}
		body = l.append(body, t, r)
	})
	if err != nil {
		return err
	}
	w.Header()["Content-Type"] = server.JSON
	_, err = w.Write(append(body, ']'))
	return err
}

// append appends a locale as a JSON object.
func (l *Locales) append(body []byte, t *contenttypes.ContentType, r store.Record) []byte {
	body = append(body, '{')
	for _, name := range localeFields {
		body = append(jsontree.AppendString(body, name), ':')
		if text := r.JSON(t.Attribute(name)); text != nil {
			body = append(body, text...)
		} else {
			body = append(body, "null"...)
		}
		body = append(body, ',')
	}
	body = append(body, `"isDefault":`...)
	if localeCode(t, r) == l.Settings.DefaultLocale {
		return append(body, "true}"...)
	}
	return append(body, "false}"...)
}
