package gateway

import (
	"net/http"

	"lectern/auth"
	"lectern/contenttypes"
	"lectern/documents/permission"
	"lectern/gateway/admin"
	"lectern/gateway/config"
	"lectern/shadowcrud/rest"
)

// A Runtime holds the routes and services of one Model, which a Server serves.
type Runtime struct {
	// Prefix of the content API; "" is /api.
	Prefix string
	// REST is the API generated from the Model.
	REST *rest.API
	// Cache holds, by type and role, the header Cache-Control of answers to reads over REST; nil: there is none.
	Cache map[*contenttypes.ContentType]config.CacheControl
	// Authenticate returns who sent a request and what they may do: the public if the request has no credential. An invalid credential is
	// an *apierror.Error of status 401. Open routes without a limit do not call it; a retry calls it again.
	Authenticate func(*http.Request) (auth.Principal, error)
	// Routes are served beside the generated ones. They go before these if both match, and routes of Extensions go before both.
	Routes []Route
	// Extensions are those of the program; nil: none. Host is the server that they see.
	Extensions *Extensions
	Host       Host

	health, ready func() *admin.Condition    // what the probes answer: nil if there is no problem. If not set: never a problem
	replica       func() *admin.ReplicaState // what the probes say of a replica; returns nil if the server is none
	forward       *forwarder                 // sends writes to the origin of a replica or the leader of a cluster; nil: the server answers them
	graphql       string                     // the path of the GraphQL endpoint
	idempotency   *idempotency               // carries out requests with an Idempotency-Key; nil: the header is ignored
	quotas        *quotas                    // rate limits; nil: there are none
	starting      bool                       // the project is not open yet: every path but those of probes is answered 503
}

// A Route is one operation beside the generated API.
type Route struct {
	Method string // GET answers HEAD as well
	// Path begins with a slash and includes the prefix. Variables are written as for mux: /api/articles/{documentId}/feature, and
	// /files/{path:.*} for the rest of a path. mux.Vars gives their values, decoded. Letter case and a slash at the end do not matter.
	Path string
	// Handle answers a request. If it returns an error and has written nothing, the error becomes the answer; one that is no
	// *apierror.Error is logged and answered with 500 without its text. access holds the permissions of the caller.
	Handle func(w http.ResponseWriter, r *http.Request, access *permission.Access) error

	// Action is the permission that the caller needs, such as "api::article.article.feature", unless there are Scopes.
	// config/permissions.yaml can grant it like those of generated routes. A route without Action, Scopes and Open accepts every caller
	// without a credential or with a valid one; Handle decides by access.
	Action string
	// Open, Scopes, Policies and Middlewares are as in RouteConfig. In an open route of a program, access is that of the public; in one of
	// the server it is not set.
	Open        bool
	Scopes      []string
	Policies    []PolicyUse
	Middlewares []MiddlewareUse

	// Streams is set for routes that limit their time themselves: they work as long as bytes flow.
	Streams bool
	// Whole is set for routes that write their answer at once and never flush it, so that it can be sent by one system call.
	Whole bool

	own   bool        // a program added the route
	user  userHandler // in place of Handle, for handlers that need the user
	long  longHandler // in place of Handle, for answers that may take long
	limit rateLimit   // limits how often an address may use the route

	absent    bool  // Handle answers that the path has no such method: Allow does not list it
	unmetered bool  // the rate limits of config/api.yaml do not apply
	keyed     bool  // the handler takes requests with an Idempotency-Key
	keyless   error // the answer to requests with an Idempotency-Key; nil: the handler gets them as they are
}

// config returns the configuration that the route has of itself.
func (r *Route) config() RouteConfig {
	c := RouteConfig{Open: r.Open, Scopes: r.Scopes, Policies: r.Policies, Middlewares: r.Middlewares}
	if len(c.Scopes) == 0 && r.Action != "" && !r.Open {
		c.Scopes = []string{r.Action}
	}
	return c
}

// answers returns the answer that calls the handler of the route behind g.
func (r *Route) answers(g *guard) answer {
	if long := r.long; long != nil {
		return func(w http.ResponseWriter, r *http.Request, who auth.Principal, _ string) error {
			return g.whileAllowed(w, r, who, long)
		}
	}
	if user := r.user; user != nil {
		return func(w http.ResponseWriter, r *http.Request, who auth.Principal, _ string) error {
			return user(w, r, who)
		}
	}
	handle := r.Handle
	if !r.own {
		return func(w http.ResponseWriter, r *http.Request, who auth.Principal, _ string) error {
			return handle(w, r, who.Access)
		}
	}
	return func(w http.ResponseWriter, r *http.Request, who auth.Principal, _ string) error {
		return HandlerFunc(func(w http.ResponseWriter, r *http.Request) error { return handle(w, r, who.Access) }).untilBegun(w, r)
	}
}
