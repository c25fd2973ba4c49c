package routes

import (
	"net/http"

	"lectern/auth"
	"lectern/contenttypes"
	"lectern/documents/apierror"
	"lectern/gateway/internal/presence"
	"lectern/gateway/internal/server"
	"lectern/jsontree"
	"lectern/shadowcrud/rest"
)

// PresenceOptions are what the route of presence needs.
type PresenceOptions struct {
	Prefix string // of the content API
	Model  *contenttypes.Model
	REST   *rest.API
	Board  *presence.Board
	Limits server.Limits
	// Permit returns an error if the caller may not read documents of a type one by one.
	Permit func(t *contenttypes.ContentType, who auth.Principal) error
	// HistoryNames says that histories show the names of users to all who read them.
	HistoryNames bool
}

// Presence returns the route at which callers say that they have a document open, and see who else has.
func Presence(o PresenceOptions) server.Route {
	return server.Route{Method: http.MethodPost, Path: o.Prefix + "/_presence", Action: auth.DeskAction, Handle: o.open}
}

// POST /api/_presence: the caller has a document open, or has closed it. The answer says who else has it open. Callers
// who do not see the document get the answer of a request that reads it.
func (o *PresenceOptions) open(w http.ResponseWriter, r *http.Request, who auth.Principal) error {
	by := server.RecordedAs(who)
	if by.Name == "" {
		return apierror.Forbidden() // it is nobody in particular
	}
	said, err := o.read(w, r)
	if err != nil {
		return err
	}
	if err := o.Permit(said.of, who); err != nil {
		return err
	}
	id, locale, err := o.REST.Seen(r.Context(), said.of, said.documentID, said.locale, who.Access)
	if err != nil {
		return err
	}
	document := presence.Document{Type: said.of.UID, ID: id, Locale: locale}
	others := []any{}
	if said.closed {
		o.Board.Leave(document, by)
	} else {
		named := who.Access.FindsUsers() || o.HistoryNames && who.Access.Allows(said.of, "history")
		for _, v := range o.Board.Open(document, by, said.unsaved) {
			if v.By.Kind == "user" && !named {
				v.By.Name = ""
			}
			others = append(others, jsontree.ObjectOf("by", jsontree.ObjectOf("kind", v.By.Kind, "name", textOr(v.By.Name)),
				"since", timeOr(v.Since), "unsaved", v.Unsaved))
		}
	}
	w.Header()["Cache-Control"] = server.NoStore
	body := jsontree.Append(nil, jsontree.ObjectOf("data", others, "meta",
		jsontree.ObjectOf("lasts", number(int(presence.Life.Seconds())))))
	return o.Limits.SendJSON(w, r, http.StatusOK, body)
}

// An opening is what a caller says of a document.
type opening struct {
	of                 *contenttypes.ContentType
	documentID, locale string
	unsaved, closed    bool
}

func (o *PresenceOptions) read(w http.ResponseWriter, r *http.Request) (said opening, err error) {
	data, err := readData(&o.Limits, w, r)
	if err != nil {
		return said, err
	}
	if err := only(data, "contentType", "documentId", "locale", "unsaved", "closed"); err != nil {
		return said, err
	}
	uid := data.Text("contentType")
	if said.of = o.Model.Type(uid); said.of == nil || said.of.BuiltIn || said.of.Internal {
		return said, apierror.Validation("contentType is the uid of a content-type, such as api::article.article")
	}
	for name, flag := range map[string]*bool{"unsaved": &said.unsaved, "closed": &said.closed} {
		var ok bool
		if *flag, ok = data.Value(name).(bool); !ok && data.Value(name) != nil {
			return said, apierror.Validation(name + " is true or false")
		}
	}
	said.documentID, said.locale = data.Text("documentId"), data.Text("locale")
	return said, nil
}
