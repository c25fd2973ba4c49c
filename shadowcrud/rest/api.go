// Package rest serves the content-types of a Model over the REST content API: for a collection type
//
//	GET    /plural               a list
//	POST   /plural               create a document
//	GET    /plural/:documentId   one document
//	PUT    /plural/:documentId   change it
//	DELETE /plural/:documentId   remove it
//	POST   /plural/:documentId/actions/{publish,unpublish,discard-draft}
//
// and for a single type the same without an id, and without the list and POST, below /singular.
//
// An API knows nothing of how requests arrive: Routes says what it answers, and whoever carries requests finds the route,
// decides whether the caller may use it, and calls Serve. An error that Serve returns has not been answered yet.
//
// An answer is built within one snapshot of the store, straight from stored bytes into a pooled buffer, and sent after the
// snapshot ended: a slow client keeps nothing open.
package rest

import (
	"net/http"

	"lectern/contenttypes"
	"lectern/documents"
	"lectern/documents/permission"
	"lectern/shadowcrud/levels"
	"lectern/shadowcrud/params"
	"lectern/store"
)

// An API answers the routes that a Model gives rise to. Any number of goroutines may use it.
type API struct {
	model     *contenttypes.Model
	store     *store.Store
	documents *documents.Service
	params    *params.Parser
	routes    []*Route
	uses      []*contenttypes.Attribute // through which files are used
	users     []fileUser                // the types that have them
}

// New returns the API of a model.
func New(m *contenttypes.Model, st *store.Store, ds *documents.Service, ps *params.Parser) *API {
	a := &API{model: m, store: st, documents: ds, params: ps, uses: levels.FileUses(m)}
	a.users = fileUsers(a.uses)
	for _, t := range m.Types {
		switch {
		case t.BuiltIn:
		case t.Kind == contenttypes.SingleType:
			a.addSingle(t)
		default:
			a.addCollection(t)
		}
	}
	return a
}

// Routes lists what the API answers.
func (a *API) Routes() []*Route { return a.routes }

// A Route is one operation on one content-type.
type Route struct {
	Method string
	Path   string // below the API's prefix; "{documentId}" is any one part
	Type   *contenttypes.ContentType
	Action string // what the caller must be allowed to do with Type

	api    *API
	writes bool
	serve  serveFunc
}

// A Call is what the carrier of a request found out about it.
type Call struct {
	Access     *permission.Access
	DocumentID string // as it stood in the path, decoded
	// ReadBody reads the request's body as a jsontree value; nil where there is none.
	ReadBody func(http.ResponseWriter, *http.Request) (any, error)
	Limits   *Limits // nil: none but the default ones
}

func (c *Call) limits() *Limits {
	if c.Limits == nil {
		return unlimited
	}
	return c.Limits
}

// Writes reports whether the route changes content.
func (rt *Route) Writes() bool { return rt.writes }

// Serve answers a request to the route by someone who may use it.
func (rt *Route) Serve(w http.ResponseWriter, r *http.Request, c Call) error {
	return rt.serve(rt, w, r, c)
}

func (a *API) addCollection(t *contenttypes.ContentType) {
	all, one := "/"+t.Plural, "/"+t.Plural+"/{documentId}"
	a.read(all, t, "find", (*Route).list)
	a.read(one, t, "findOne", (*Route).one)
	a.write("POST", all, t, "create", (*Route).create)
	a.write("PUT", one, t, "update", (*Route).update)
	a.write("DELETE", one, t, "delete", (*Route).delete)
	a.addActions(one, t)
}

func (a *API) addSingle(t *contenttypes.ContentType) {
	path := "/" + t.Singular
	a.read(path, t, "find", (*Route).single)
	a.write("PUT", path, t, "update", (*Route).saveSingle)
	a.write("DELETE", path, t, "delete", (*Route).delete)
	a.addActions(path, t)
}

// addActions adds what publishes; only types with drafts have it.
func (a *API) addActions(path string, t *contenttypes.ContentType) {
	if !t.DraftAndPublish {
		return
	}
	a.write("POST", path+"/actions/publish", t, "publish", (*Route).publish)
	a.write("POST", path+"/actions/unpublish", t, "unpublish", (*Route).unpublish)
	a.write("POST", path+"/actions/discard-draft", t, "discardDraft", (*Route).discardDraft)
}

type serveFunc = func(*Route, http.ResponseWriter, *http.Request, Call) error

func (a *API) read(path string, t *contenttypes.ContentType, action string, f serveFunc) {
	a.routes = append(a.routes, &Route{Method: "GET", Path: path, Type: t, Action: action, api: a, serve: f})
}

func (a *API) write(method, path string, t *contenttypes.ContentType, action string, f serveFunc) {
	a.routes = append(a.routes, &Route{Method: method, Path: path, Type: t, Action: action, api: a, serve: f, writes: true})
}
