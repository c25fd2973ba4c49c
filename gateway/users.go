package gateway

import (
	"context"
	"fmt"
	"net/http"
	"net/netip"

	"github.com/gorilla/mux"

	"lectern/auth"
	"lectern/contenttypes"
	"lectern/documents"
	"lectern/documents/apierror"
	"lectern/gateway/internal/server"
	"lectern/jsontree"
	"lectern/shadowcrud/params"
	"lectern/shadowcrud/qs"
	"lectern/shadowcrud/rest"
	"lectern/store"
)

// openUsers opens the users and creates the configured roles, unless users are switched off.
func (g *generation) openUsers() error {
	shared := &g.project.shared
	if !g.Settings.Users.Enabled {
		shared.closeUsers()
		return nil
	}
	secret, err := g.jwtSecret()
	if err != nil {
		return err
	}
	settings := g.Settings.Users.Accounts
	settings.ConfirmPath = g.Settings.REST.Prefix + "/auth/email-confirmation"
	mail := ""
	if o := g.project.options; !o.Production || o.Ephemeral { // an ephemeral server is for tests, which may look at the mail
		mail = g.project.Data.Join("mail")
	}
	g.users, err = auth.OpenUsers(context.Background(), auth.UserOptions{
		Store: g.store, Documents: g.docs, Model: g.Model, Actions: g.Actions, Settings: settings, Granted: g.Settings.Roles,
		Secret: secret, ServerURL: g.base, MailDir: mail, Log: g.project.log, Now: g.project.clock.Now,
		Former: shared.users,
	})
	if err != nil {
		return fmt.Errorf("open the users: %w", err)
	}
	shared.users = g.users
	if mail == "" && settings.Mail.SMTP == nil && settings.EmailConfirmation {
		g.project.log.Warn("nobody who registers can log in: email addresses must be confirmed, and config/plugins.yaml names no mail server " +
			"at users-permissions.config.email.smtp")
	}
	return nil
}

// userRoutes has the handlers of users, roles and permissions. Their bodies and answers have no envelope.
type userRoutes struct {
	prefix   string
	users    *auth.Users
	limiter  *auth.Limiter
	proxies  []netip.Prefix
	params   *params.Parser
	rest     *rest.API
	store    *store.Store
	limits   server.Limits
	onceOnly func(onceHandler) server.Handler
	answers  *rest.AnswerLimits
	user     *documents.Selection // of the scalars of a user
	role     documents.Populate   // of the role of a user
}

// userRoutes returns the routes of users, roles and permissions; none if users are switched off.
func (g *generation) userRoutes(api *rest.API, ps *params.Parser, limiter *auth.Limiter) []server.Route {
	t := g.Model.Type(contenttypes.UserUID)
	if t == nil {
		return nil
	}
	s := g.Settings
	u := &userRoutes{
		prefix: s.REST.Prefix, users: g.users, limiter: limiter,
		proxies: s.Server.TrustedProxies, params: ps, rest: api, store: g.store,
		limits: server.Limits(s.Server.Limits.WithDefaults()), onceOnly: g.onceOnly, answers: g.answers,
	}
	u.user = documents.Scalars(&t.Schema)
	role := t.Attribute("role")
	u.role = documents.Populate{Attr: role, Of: documents.Scalars(&role.Target.Schema)}
	return append(append(u.authRoutes(), u.accountRoutes()...), u.roleRoutes()...)
}

// route returns a route that requires a permission.
func (u *userRoutes) route(method, path, permission string, handle server.Handler) server.Route {
	return server.Route{Method: method, Path: u.prefix + path, Action: permission, Handle: handle}
}

// keyed returns a route that requires a permission and takes requests with an Idempotency-Key.
func (u *userRoutes) keyed(method, path, permission string, handle onceHandler) server.Route {
	route := u.route(method, path, permission, u.onceOnly(handle))
	route.Keyed = true
	return route
}

// limited returns a route that requires a permission and has a rate limit by address.
func (u *userRoutes) limited(method, path, permission string, handle server.Handler) server.Route {
	route := u.route(method, path, permission, handle)
	route.Limit = func(w http.ResponseWriter, r *http.Request) error {
		return server.Allow(u.limiter, u.proxies, w, r, path)
	}
	return route
}

// shown returns a Show that prints a user into body. If with is set and the caller may read roles, it prints the role of the user too.
func (u *userRoutes) shown(r *http.Request, who auth.Principal, with bool, body *[]byte) auth.Show {
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

func (u *userRoutes) plain(ctx context.Context, who auth.Principal) *rest.Plain {
	return &rest.Plain{API: u.rest, Access: who.Access, Limits: u.answers, Memory: server.AnswerMemory(ctx)}
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

// pathID returns the id in the path of a request. It returns 0, which is never the id of a row, if the path has no number there.
func pathID(r *http.Request) uint64 {
	id, _ := auth.ParseID(mux.Vars(r)["id"])
	return id
}

func readQuery(r *http.Request) (*jsontree.Object, error) {
	query, err := qs.Parse(r.URL.RawQuery)
	if err != nil {
		return nil, apierror.Validation(err.Error())
	}
	return query, nil
}
