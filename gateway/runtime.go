package gateway

import (
	"net/http"

	"lectern/auth"
	"lectern/documents/permission"
	"lectern/shadowcrud/rest"
)

// A Runtime is what a Server answers with: all that hangs on one Model.
type Runtime struct {
	// Prefix of the content API; "" is /api.
	Prefix string
	// REST is the API generated from the Model.
	REST *rest.API
	// Authenticate says who sent a request and what he may do. A credential that is not valid is an *apierror.Error 401; none
	// at all is no error but the public. It is called for each request to a route of REST and of Routes.
	Authenticate func(*http.Request) (auth.Principal, error)
	// Routes are served beside the generated ones and go before them where both match; those of Extensions go before both.
	Routes []Route
	// Extensions are what a program adds, nil where nothing. Host is what they are told the server is.
	Extensions *Extensions
	Host       Host

	health func() *healthProblem // nil: always well
}

// A Route is one operation beside the generated API.
type Route struct {
	Method string // GET answers HEAD as well
	// Path begins with a slash and includes the prefix. Variables are written as for mux: /api/articles/{documentId}/feature, and
	// /files/{path:.*} for the rest of a path. mux.Vars gives their values, decoded. Letter case and a slash at the end do not matter.
	Path string
	// Handle answers. An error that it returns becomes the answer, as long as it has written nothing; what is no
	// *apierror.Error is logged and shown as a 500 without its text. access is what the caller may do.
	Handle func(w http.ResponseWriter, r *http.Request, access *permission.Access) error

	// Action is the permission that the caller needs, unless Scopes say otherwise: "api::article.article.feature".
	// config/permissions.yaml can grant it as those of generated routes. Without Action, Scopes and Open a route is for
	// everybody whose credential is valid or who has none, and Handle decides by access.
	Action string
	// Open, Scopes, Policies and Middlewares are as in RouteConfig. In an open route of a program access is that of the public;
	// one of the server's own is told of nobody.
	Open        bool
	Scopes      []string
	Policies    []PolicyUse
	Middlewares []MiddlewareUse

	// Streams are routes whose work lasts as long as bytes flow: they bound it themselves.
	Streams bool
	// Whole are routes that write their answer in one piece and never flush it, so that it can be sent in one.
	Whole bool

	own   bool        // it is a program's
	user  userHandler // in place of Handle, for what depends on the user
	limit rateLimit   // on how often an address may use the route
}

func (r *Route) config() RouteConfig {
	c := RouteConfig{Open: r.Open, Scopes: r.Scopes, Policies: r.Policies, Middlewares: r.Middlewares}
	if len(c.Scopes) == 0 && r.Action != "" && !r.Open {
		c.Scopes = []string{r.Action}
	}
	return c
}

// answers returns what answers the route.
func (r *Route) answers() answer {
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
