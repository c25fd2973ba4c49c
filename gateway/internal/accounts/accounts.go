// Package accounts has the routes of users, roles and permissions: logging in, registering, and administering accounts.
// Their bodies and answers have no envelope.
package accounts

import (
	"context"
	"net/http"
	"net/netip"
	"slices"

	"github.com/gorilla/mux"

	"lectern/auth"
	"lectern/auth/providers"
	"lectern/contenttypes"
	"lectern/documents"
	"lectern/gateway/internal/idempotency"
	"lectern/gateway/internal/server"
	"lectern/shadowcrud/params"
	"lectern/shadowcrud/rest"
	"lectern/store"
)

// Options are what the routes need.
type Options struct {
	Prefix string // of the content API
	Model  *contenttypes.Model
	Users  *auth.Users
	Store  *store.Store
	REST   *rest.API // prints users and roles, within Answers
	Params *params.Parser
	// Limiter limits how often an address may log in, register and ask for mail. Addresses are those behind Proxies.
	Limiter *auth.Limiter
	// Refreshes limits how often an address may refresh sessions.
	Refreshes *auth.Limiter
	Proxies   []netip.Prefix
	Limits    server.Limits
	Answers   *rest.AnswerLimits
	Cookie    Cookie
	Keys      *idempotency.Keys
	// Providers are those by which users log in beside passwords; nil: none. Base returns the URL at which clients
	// reach the server.
	Providers *providers.Providers
	Base      func() string
	Desk      Desk
}

// routes has the handlers.
type routes struct {
	Options
	user *documents.Selection // of the scalars of a user
	role documents.Populate   // of the role of a user
}

// Routes returns the routes; none if the model has no users. Without Users and Store, they have names but cannot
// answer.
func Routes(o Options) []server.Route {
	t := o.Model.Type(contenttypes.UserUID)
	if t == nil {
		return nil
	}
	u := &routes{Options: o, user: documents.Scalars(&t.Schema)}
	role := t.Attribute("role")
	u.role = documents.Populate{Attr: role, Of: documents.Scalars(&role.Target.Schema)}
	return slices.Concat(u.authRoutes(), u.sessionRoutes(), u.otherSessionRoutes(),
		u.accountRoutes(), u.roleRoutes(), u.roleRuleRoutes(), u.deskRoutes())
}

// route returns a route that requires a permission.
func (u *routes) route(method, path, permission string, handle server.Handler) server.Route {
	return server.Route{Method: method, Path: u.Prefix + path, Action: permission, Handle: handle}
}

// keyed returns a route that requires a permission and takes requests with an Idempotency-Key.
func (u *routes) keyed(method, path, permission string, handle idempotency.Handler) server.Route {
	route := u.route(method, path, permission, u.Keys.Once(handle))
	route.Keyed = true
	return route
}

// matching returns a route whose handler compares If-Match.
func matching(route server.Route) server.Route {
	route.Matches = true
	return route
}

// limited returns a route that requires a permission and has a rate limit by address.
func (u *routes) limited(method, path, permission string, handle server.Handler) server.Route {
	return u.limitedBy(u.Limiter, method, path, permission, handle)
}

func (u *routes) limitedBy(l *auth.Limiter, method, path, permission string, handle server.Handler) server.Route {
	route := u.route(method, path, permission, handle)
	route.Limit = u.limit(l, path)
	return route
}

// limit counts the requests of an address under a name.
func (u *routes) limit(l *auth.Limiter, name string) server.RateLimit {
	return func(w http.ResponseWriter, r *http.Request) error { return server.Allow(l, u.Proxies, w, r, name) }
}

// shown returns a Show that prints a user into body. If with is set and the caller may read roles, it prints the role
// of the user too.
func (u *routes) shown(r *http.Request, who auth.Principal, with bool, body *[]byte) auth.Show {
	s := u.user
	if with && who.Access.Follows(u.role.Attr) {
		s = &documents.Selection{Fields: s.Fields, Populate: []documents.Populate{u.role}}
	}
	begin := len(*body)
	return func(snap *store.Snapshot, row store.Record) (err error) {
		*body, err = u.plain(r.Context(), who).Append(r.Context(), (*body)[:begin], snap, row, s)
		return err
	}
}

func (u *routes) plain(ctx context.Context, who auth.Principal) *rest.Plain {
	return &rest.Plain{API: u.REST, Access: who.Access, Limits: u.Answers, Memory: server.AnswerMemory(ctx)}
}

// isDone is the answer to a request that has been carried out and has nothing to show.
var isDone = []byte(`{"ok":true}`)

// done answers that a request has been carried out, unless err says that it has failed.
func done(w http.ResponseWriter, err error) error {
	if err != nil {
		return err
	}
	return server.SendJSON(w, http.StatusOK, isDone)
}

// pathID returns the id in the path of a request. It returns 0, which is never the id of a row, if the path has no
// number there.
func pathID(r *http.Request) uint64 {
	id, _ := auth.ParseID(mux.Vars(r)["id"])
	return id
}
