package gateway

import (
	"context"
	"net/http"

	"lectern/auth"
	"lectern/contenttypes"
	"lectern/documents"
	"lectern/documents/permission"
	"lectern/gateway/internal/server"
	"lectern/jsontree"
	"lectern/store"
)

// listLocales is the permission to read locales.
const listLocales = "plugin::i18n.locales.listLocales"

// makeLocales creates a document for each configured locale that has none, in the order of the configuration.
func (g *generation) makeLocales() error {
	t := g.Model.Type(contenttypes.LocaleUID)
	if t == nil {
		return nil // i18n is switched off
	}
	have := map[string]bool{}
	err := eachLocale(g.store, t, func(r store.Record) {
		have[localeCode(t, r)] = true
	})
	if err != nil {
		return err
	}
	g.docs.Retired = map[string]bool{} // the locales that were removed from the configuration
	for code := range have {
		g.docs.Retired[code] = !g.Settings.I18n.Has(code)
	}
	for _, l := range g.Settings.I18n.Locales {
		if have[l.Code] {
			continue
		}
		data := jsontree.NewObject()
		data.Set("name", l.Name)
		data.Set("code", l.Code)
		if err := g.docs.Create(context.Background(), documents.Write{Type: t, Data: data, Access: permission.FullAccess}); err != nil {
			if store.FollowsAnother(err) {
				return nil // the origin makes it
			}
			return err
		}
	}
	return nil
}

// eachLocale calls yield with the document of each locale, in the order of their creation.
func eachLocale(st *store.Store, t *contenttypes.ContentType, yield func(store.Record)) error {
	return st.View(func(s *store.Snapshot) error {
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

// localeRoutes returns the routes of locales; none if i18n is switched off.
func (g *generation) localeRoutes() []server.Route {
	if g.Model.Type(contenttypes.LocaleUID) == nil {
		return nil
	}
	return []server.Route{
		{Method: http.MethodGet, Path: g.Settings.REST.Prefix + "/i18n/locales", Action: listLocales, Handle: g.listLocales},
	}
}

// GET /api/i18n/locales: the configured locales, without envelope, in the order of their creation.
func (g *generation) listLocales(w http.ResponseWriter, _ *http.Request, _ auth.Principal) error {
	t, body := g.Model.Type(contenttypes.LocaleUID), []byte{'['}
	err := eachLocale(g.store, t, func(r store.Record) {
		if g.docs.Retired[localeCode(t, r)] {
			return
		}
		if len(body) > 1 {
			body = append(body, ',')
		}
		body = g.appendLocale(body, t, r)
	})
	if err != nil {
		return err
	}
	w.Header()["Content-Type"] = server.JSON
	_, err = w.Write(append(body, ']'))
	return err
}

// appendLocale appends a locale as a JSON object.
func (g *generation) appendLocale(body []byte, t *contenttypes.ContentType, r store.Record) []byte {
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
	if localeCode(t, r) == g.Settings.I18n.DefaultLocale {
		return append(body, "true}"...)
	}
	return append(body, "false}"...)
}
