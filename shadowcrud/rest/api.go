package rest

import (
	"net/http"
	"strings"
	"sync"
	"time"

	"lectern/contenttypes"
	"lectern/documents"
	"lectern/documents/permission"
	"lectern/internal/lru"
	"lectern/shadowcrud/levels"
	"lectern/shadowcrud/params"
	"lectern/store"
)

// An API answers the routes of the content-types of a Model. It is safe for concurrent use.
type API struct {
	model     *contenttypes.Model
	store     *store.Store
	documents *documents.Service
	params    *params.Parser
	routes    []*Route
	fileUses  []*contenttypes.Attribute // the media attributes
	fileUsers []fileUser                // the types that have media attributes
	schedule  *documents.Selection      // of a schedule, in the meta of an answer; nil if the model has none
	version   string                    // see SetVersion

	historyNames bool // see ShowHistoryNames

	typesByName map[string]*contenttypes.ContentType // by uid, and by the name in paths, in lower case
	writes      map[typeAction]*Route
	kept        *lru.Cache[reading, *dependencies]
}

// New returns the API of a model.
func New(m *contenttypes.Model, st *store.Store, ds *documents.Service, ps *params.Parser) *API {
	a := &API{model: m, store: st, documents: ds, params: ps, fileUses: levels.FileUses(m),
		typesByName: map[string]*contenttypes.ContentType{}, writes: map[typeAction]*Route{}}
	a.kept = lru.New[reading, *dependencies](maxKept, maxKeptBytes)
	a.fileUsers = fileUsers(a.fileUses)
	if t := m.Type(contenttypes.ScheduleUID); t != nil {
		a.schedule = documents.Scalars(&t.Schema)
	}
	for _, t := range m.Types {
		if !t.BuiltIn {
			a.addReads(t)
			a.addWrites(t)
			a.typesByName[strings.ToLower(t.UID)], a.typesByName[t.PathName()] = t, t
		}
	}
	return a
}

// SetVersion gives the answers to reads ETags. The version identifies everything that decides the bytes of an answer
// besides the content, the request and its caller: the program, the definitions and the settings. It must be called
// before the first request.
func (a *API) SetVersion(version string) { a.version = version }

// ShowHistoryNames lets histories show the names of users to all callers who may read them. Otherwise only callers who
// may find users see these names. It must be called before the first request.
func (a *API) ShowHistoryNames() { a.historyNames = true }

// List returns a route that lists the documents of a built-in type, which has no routes of its own. Its user chooses
// the path and the permission.
func (a *API) List(t *contenttypes.ContentType) *Route {
	return newRoute(Route{Method: http.MethodGet, Type: t, api: a, serve: (*Route).list})
}

// Routes returns the routes of the API.
func (a *API) Routes() []*Route { return a.routes }

// A Route is one operation on one content-type.
type Route struct {
	Method string
	Path   string // without the prefix of the API; "{documentId}" stands for one segment
	Type   *contenttypes.ContentType
	Action string // the permission that the caller needs is the UID of Type with this action

	api      *API
	writes   bool
	serve    handler
	identity func() []byte // what ETags hold of the program, its settings and the route; nil: answers have no ETag
}

// A Call holds what Serve needs to know about a request besides the request itself.
type Call struct {
	Access     *permission.Access
	By         store.Principal // who sent the request
	DocumentID string          // from the path, decoded
	// ReadBody returns the body of the request as a jsontree value; nil if there is none.
	ReadBody func(http.ResponseWriter, *http.Request) (any, error)
	Limits   *AnswerLimits // nil: the default ones
	Lines    *Lines        // how to send a list as JSON Lines; nil unless the client asks for that
	// Preview returns a token for a preview of a document of the type that the sender of the request makes, and when it
	// expires. Only the action preview needs it.
	Preview func(t *contenttypes.ContentType, documentID string) (token string, expires time.Time, err error)
	// Once keeps the answer to a write, so that it is not carried out twice; nil for a request without an idempotency
	// key.
	Once *store.Once
	// Untagged is set if code of a program may change the answer, which then has no ETag.
	Untagged bool
	// CacheControl is the header of an answer with an ETag; nil: none.
	CacheControl []string
}

func (c *Call) limits() *AnswerLimits {
	if c.Limits == nil {
		return unlimited
	}
	return c.Limits
}

// Writes reports whether the route changes content.
func (rt *Route) Writes() bool { return rt.writes }

// Serve answers a request to the route. The caller must be allowed to use it.
func (rt *Route) Serve(w http.ResponseWriter, r *http.Request, c Call) error {
	return rt.serve(rt, w, r, c)
}

// A handler answers requests to a route.
type handler = func(*Route, http.ResponseWriter, *http.Request, Call) error

// newRoute returns a route that knows its part of ETags.
func newRoute(rt Route) *Route {
	rt.identity = sync.OnceValue(rt.identify)
	return &rt
}

// add adds a route. The route changes content unless its method is GET.
func (a *API) add(method, path string, t *contenttypes.ContentType, action string, h handler) {
	rt := newRoute(Route{Method: method, Path: path, Type: t, Action: action, api: a, serve: h,
		writes: method != http.MethodGet})
	a.routes = append(a.routes, rt)
	if rt.writes {
		a.writes[typeAction{t, action}] = rt
	}
}

// A typeAction identifies a route that writes.
type typeAction struct {
	typ    *contenttypes.ContentType
	action string
}
