package server

import (
	"net/http"

	"lectern/auth"
	"lectern/shadowcrud/graphql/schema"
	"lectern/shadowcrud/rest"
)

// An API is what a Server answers requests with: routes, and what stands between them and the requests.
type API struct {
	// Prefix is the path of the routes of content-types; "" is /api.
	Prefix string
	// Routes are the operations. If two have the same method and path, the first one answers.
	Routes []Route
	Mounts []Mount
	// Authenticate returns who sent a request and what they may do: the public if the request has no credential. An
	// invalid credential is an *apierror.Error of status 401. Open routes without a limit do not call it; a retry calls
	// it again. nil: nobody has a permission.
	Authenticate func(*http.Request) (auth.Principal, error)
	// AuthenticateReader is Authenticate for routes that read content, which take the tokens of previews, too. nil:
	// they call Authenticate.
	AuthenticateReader func(*http.Request) (auth.Principal, error)
	// Host is the server as code of a program sees it.
	Host schema.Server
	// Quotas are the rate limits; nil: there are none.
	Quotas *Quotas
	// Probes answer orchestrators and monitors.
	Probes []Probe
	// Steps are what stands between requests and their handlers beside the server itself.
	Steps Steps
	// Starting says that there are no routes yet: every path but those of probes is answered 503.
	Starting bool
}

// A Handler answers a request that has been authenticated and permitted. If it returns an error and has written
// nothing, the error becomes the answer; one that is no *apierror.Error is logged and answered with 500 without its
// text.
type Handler func(w http.ResponseWriter, r *http.Request, who auth.Principal) error

// A DocumentHandler answers a request for a route of a content-type. call has all but what the handler knows itself of
// such a route.
type DocumentHandler func(w http.ResponseWriter, r *http.Request, who auth.Principal, call rest.Call) error

// A Route is one operation: a method of a path.
type Route struct {
	Method string // GET answers HEAD as well
	// Path begins with a slash and includes the prefix. Variables are written as for mux:
	// /api/articles/{documentId}/feature, and /files/{path:.*} for the rest of a path. mux.Vars gives their values,
	// decoded. Letter case and a slash at the end do not matter.
	Path string
	// One of these answers the requests:
	Handle   Handler
	Long     LongHandler     // an answer that may take long
	Document DocumentHandler // of the content-type whose name in paths is Content

	// Action is the permission that the caller needs, unless there are Scopes. A route without Action, Scopes and Open
	// accepts every caller without a credential or with a valid one.
	Action string
	// Open routes need no permission and ignore credentials.
	Open bool
	// Scopes are the permissions that the caller needs, all of them.
	Scopes []string
	// Policies are called in their order, each with its Func, before the Middlewares, of which the first is outermost.
	Policies    []schema.PolicyUse
	Middlewares []Middleware
	// Limit counts the requests of an address, and returns an error if there are too many; nil means no limit.
	Limit RateLimit
	// Unmetered routes are exempt from the rate limits of callers.
	Unmetered bool

	// Reads is set for routes of a content-type that only show its documents.
	Reads   bool
	Content string // the name of the content-type in paths, such as articles; "" for a route of none
	// Streams is set for routes that limit their time themselves: they work as long as bytes flow.
	Streams bool
	// Whole is set for routes that write their answer at once and never flush it, so that it can be sent by one system
	// call.
	Whole bool
	// Program is set for routes of a program, Extended for those that call code of a program, besides Policies and
	// Middlewares: the context of a request then has its Caller.
	Program, Extended bool
	// Absent routes answer that their path has no such method: Allow does not list it.
	Absent bool
	// Keyed routes take requests with an Idempotency-Key. Keyless is the answer to such requests; nil: the handler gets
	// them as they are.
	Keyed   bool
	Keyless error
	// Matches is set for routes that compare If-Match. Those that write and do not are no routes for requests with it.
	Matches bool
}

// Requires returns the permissions that the caller needs.
func (r *Route) Requires() []string {
	if len(r.Scopes) == 0 && r.Action != "" && !r.Open {
		return []string{r.Action}
	}
	return r.Scopes
}

// answers returns the answer that calls the handler of the route behind g.
func (r *Route) answers(g *guard) answer {
	switch {
	case r.Document != nil:
		return g.answerDocument(r.Document)
	case r.Long != nil:
		long := r.Long
		return func(w http.ResponseWriter, r *http.Request, who auth.Principal, _ string) error {
			return g.whileAllowed(w, r, who, long)
		}
	}
	handle := r.Handle
	if !r.Program {
		return func(w http.ResponseWriter, r *http.Request, who auth.Principal, _ string) error {
			return handle(w, r, who)
		}
	}
	return func(w http.ResponseWriter, r *http.Request, who auth.Principal, _ string) error {
		answer := HandlerFunc(func(w http.ResponseWriter, r *http.Request) error { return handle(w, r, who) })
		return answer.untilBegun(w, r)
	}
}

// answerDocument returns the answer of a route of a content-type.
func (g *guard) answerDocument(handle DocumentHandler) answer {
	s := g.handlers.server
	readBody, answers := s.limits.ReadBody, s.answers
	return func(w http.ResponseWriter, r *http.Request, who auth.Principal, documentID string) error {
		call := rest.Call{
			Access: who.Access, By: RecordedAs(who), DocumentID: documentID, ReadBody: readBody, Limits: answers,
		}
		if prefersLines(r) {
			return g.whileAllowed(w, r, who, func(w http.ResponseWriter, r *http.Request, l *LongAnswer) error {
				call.Lines = s.lines(w, r, l)
				return handle(w, r, who, call)
			})
		}
		return handle(w, r, who, call)
	}
}
