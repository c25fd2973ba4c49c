package rest

import (
	"net/http"
	"slices"

	"lectern/contenttypes"
	"lectern/documents/apierror"
	"lectern/documents/permission"
	"lectern/jsontree"
	"lectern/shadowcrud/params"
	"lectern/store"
)

// addPreview adds the route that makes previews of documents of a type. It changes no content.
func (a *API) addPreview(t *contenttypes.ContentType) {
	path := "/" + t.Plural + "/{documentId}"
	if t.Kind == contenttypes.SingleType {
		path = "/" + t.Singular
	}
	a.routes = append(a.routes, newRoute(Route{Method: http.MethodPost, Path: path + "/actions/preview", Type: t,
		Action: permission.PreviewAction, api: a, serve: (*Route).preview}))
}

// POST /api/{plural}/{documentId}/actions/preview: makes a preview of a document whose draft the caller may read, and
// answers with its token and the address at which a front end shows it, null if there is none.
func (rt *Route) preview(w http.ResponseWriter, r *http.Request, c Call) error {
	action := "findOne"
	if rt.Type.Kind == contenttypes.SingleType {
		action = "find"
	}
	if !c.Access.Allows(rt.Type, action) {
		return apierror.Forbidden()
	}
	one, err := rt.drafts(r, c)
	if err != nil {
		return err
	}
	data := jsontree.NewObject()
	err = rt.api.store.View(func(s *store.Snapshot) error {
		s.Within(r.Context(), c.limits().Time)
		id := c.DocumentID
		if rt.Type.Kind == contenttypes.SingleType {
			id, _ = s.Only(rt.Type)
		}
		row := rt.version(s, id, &one.Query)
		if !row.Exists() {
			return apierror.NotFound()
		}
		if l := c.Access.LimitOf(rt.Type, permission.PreviewAction); l != nil &&
			!s.Matches(row, l.Where, store.Draft) {
			return apierror.Forbidden()
		}
		token, expires, err := c.Preview(rt.Type, row.DocumentID())
		if err != nil {
			return err
		}
		data = jsontree.ObjectOf("token", token, "expiresAt", expires.UTC().Format(contenttypes.TimeFormat),
			"url", rt.previewURL(row, &one.Query, c.Access, token))
		return nil
	})
	if err != nil {
		return err
	}
	w.Header()["Cache-Control"] = []string{"no-store"}
	w.Header()["Content-Type"] = typeJSON
	w.WriteHeader(http.StatusOK)
	_, err = w.Write(jsontree.Append(nil, jsontree.ObjectOf("data", data, "meta", jsontree.NewObject())))
	return err
}

// drafts reads the parameters of a request for the draft of a document, of which it has the locale alone.
func (rt *Route) drafts(r *http.Request, c Call) (*params.One, error) {
	query, err := ParseQuery(r)
	if err != nil {
		return nil, err
	}
	for _, key := range query.Keys {
		if key != "locale" {
			return nil, apierror.Validation("Invalid key " + key + "; a preview takes the parameter locale alone")
		}
	}
	asked := jsontree.ObjectOf("status", "draft")
	if locale, ok := query.Get("locale"); ok {
		asked.Set("locale", locale)
	}
	return rt.api.params.One(rt.Type, asked, c.Access)
}

// previewURL returns the address that shows the draft. It is nil if the definition has none, or if it would tell the
// caller values that they do not see.
func (rt *Route) previewURL(row store.Record, q *store.Query, access *permission.Access, token string) any {
	shown := rt.Type.Preview
	if shown == nil || slices.ContainsFunc(shown.Attributes(), func(a *contenttypes.Attribute) bool {
		return !access.Sees(a)
	}) {
		return nil
	}
	locale := row.Locale()
	if locale == "" {
		locale = rt.api.params.DefaultLocale()
	}
	return shown.Expand(locale, token, func(a *contenttypes.Attribute) string {
		return plainText(row.JSON(a))
	})
}

// plainText returns a stored value as it is in an address: a text without quotes, and "" for null.
func plainText(raw []byte) string {
	switch v, _ := jsontree.Parse(raw, 1); v := v.(type) { // what is stored can be parsed
	case string:
		return v
	case jsontree.Number:
		return string(v)
	}
	return ""
}
