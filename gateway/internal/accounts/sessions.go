package accounts

import (
	"net/http"
	"slices"
	"time"

	"github.com/gorilla/mux"

	"lectern/auth"
	"lectern/contenttypes"
	"lectern/documents/apierror"
	"lectern/gateway/internal/server"
	"lectern/jsontree"
)

// A Cookie says how refresh tokens are sent as cookies.
type Cookie struct {
	Always   bool          // to all clients, instead of those that ask for it
	Template http.Cookie   // without a value
	Life     time.Duration // 0: until the browser is closed
	Now      func() time.Time
	Origins  []string // of the pages that may log in from other sites; nil: any
}

// cookieHeader is the header by which a client asks for the cookie; its value is then httpOnly.
const cookieHeader = "X-Strapi-Refresh-Cookie"

// wants reports whether the refresh token is sent to a client as a cookie, and not in the body.
func (c *Cookie) wants(r *http.Request) bool {
	return c.Always || r.Header.Get(cookieHeader) == "httpOnly"
}

// sent returns the refresh token in the cookie of a request, "" if there is none.
func (c *Cookie) sent(r *http.Request) string { return cookieOf(r, c.Template.Name) }

// cookieOf returns the value of a cookie of a request, "" if there is none.
func cookieOf(r *http.Request, name string) string {
	cookie, err := r.Cookie(name)
	if err != nil {
		return ""
	}
	return cookie.Value
}

var errNoFetch = &apierror.Error{Status: http.StatusForbidden, Name: "ForbiddenError",
	Message: "logins begin a session in a cookie here: log in by fetch, from a page of an origin that cors.origin names"}

// check returns an error if a page of another site has a browser log in, by a link or a form that needs no leave of
// this server: the browser would keep the cookie of an account of that page's choice, and its user would work in it
// unnoticed. A client that asks for the cookie by its header has had the leave already (CORS).
func (c *Cookie) check(r *http.Request) error {
	mode := r.Header.Get("Sec-Fetch-Mode") // which all browsers send, and no page can choose
	switch {
	case !c.Always, mode == "":
		return nil
	case mode != "cors" && mode != "same-origin",
		c.Origins != nil && r.Header.Get("Sec-Fetch-Site") == "cross-site" &&
			!slices.Contains(c.Origins, r.Header.Get("Origin")):
		return errNoFetch
	}
	return nil
}

// set sends a refresh token as a cookie.
func (c *Cookie) set(w http.ResponseWriter, token string) {
	cookie := c.Template
	cookie.Value = token
	if c.Life > 0 {
		cookie.Expires = c.Now().Add(c.Life)
	}
	http.SetCookie(w, &cookie)
}

// clear has the browser forget the cookie.
func (c *Cookie) clear(w http.ResponseWriter) {
	cookie := c.Template
	cookie.Expires = time.Unix(0, 0)
	http.SetCookie(w, &cookie)
}

// token returns the refresh token of a request: that of the cookie, otherwise that of the body; "" if there is none.
func (c *Cookie) token(r *http.Request, sent any) string {
	if token := c.sent(r); token != "" {
		return token
	}
	return textOf(sent, "refreshToken")
}

// textOf returns a text in the body of a request, "" if there is none of this name.
func textOf(body any, name string) string {
	o, _ := body.(*jsontree.Object)
	if o == nil {
		return ""
	}
	s, _ := o.Value(name).(string)
	return s
}

func (u *routes) sessionRoutes() []server.Route {
	return []server.Route{
		withJWT(u.limitedBy(u.Refreshes, "POST", "/auth/refresh", authAction+"refresh", u.refresh)),
		u.route("POST", "/auth/logout", authAction+"logout", u.logout),
		u.route("GET", "/auth/sessions", authAction+"getSessions", u.listSessions),
		u.route("DELETE", "/auth/sessions/{id}", authAction+"revokeSession", u.revokeSession),
	}
}

// appendCredentials appends the members of an answer that hold credentials, each with a comma after it. It sends a
// refresh token as a cookie instead, if asCookie is set.
func (u *routes) appendCredentials(body []byte, w http.ResponseWriter, c auth.Credentials, asCookie bool) []byte {
	if c.JWT != "" {
		body = append(jsontree.AppendString(append(body, `"jwt":`...), c.JWT), ',')
	}
	switch {
	case c.Refresh == "":
	case asCookie:
		u.Cookie.set(w, c.Refresh)
	default:
		body = append(jsontree.AppendString(append(body, `"refreshToken":`...), c.Refresh), ',')
	}
	return body
}

// POST /api/auth/refresh: the next JWT and refresh token of a session. Whoever has sent a cookie gets a cookie: scripts
// of the page must not get by this request the token that they cannot read in the cookie.
func (u *routes) refresh(w http.ResponseWriter, r *http.Request, _ auth.Principal) error {
	sent, err := u.Limits.ReadBody(w, r)
	if err != nil {
		return err
	}
	c, err := u.Users.Refresh(r.Context(), u.Cookie.token(r, sent))
	if err != nil {
		return err
	}
	body := u.appendCredentials([]byte{'{'}, w, c, u.Cookie.wants(r) || u.Cookie.sent(r) != "")
	body[len(body)-1] = '}'
	return server.SendJSON(w, http.StatusOK, body)
}

// POST /api/auth/logout: ends the session of the request, or those that the body names.
func (u *routes) logout(w http.ResponseWriter, r *http.Request, who auth.Principal) error {
	sent, err := u.Limits.ReadBody(w, r)
	if err != nil {
		return err
	}
	if err := u.Users.Logout(r.Context(), who.User, u.Users.SessionOf(r), sent); err != nil {
		return err
	}
	if u.Cookie.wants(r) || u.Cookie.sent(r) != "" {
		u.Cookie.clear(w)
	}
	return server.SendJSON(w, http.StatusOK, isDone)
}

// GET /api/auth/sessions: where the user is logged in.
func (u *routes) listSessions(w http.ResponseWriter, r *http.Request, who auth.Principal) error {
	list, err := u.Users.Sessions(who.User, u.Users.SessionOf(r))
	if err != nil {
		return err
	}
	return server.SendJSON(w, http.StatusOK, jsontree.Append(nil, jsontree.ObjectOf("data", describeSessions(list))))
}

func describeSessions(list []auth.Session) []any {
	sessions := make([]any, len(list))
	for i, s := range list {
		var device any
		if s.Device != "" {
			device = s.Device
		}
		sessions[i] = jsontree.ObjectOf("id", s.ID, "deviceId", device, "current", s.Current,
			"loginAt", s.LoginAt.Format(contenttypes.TimeFormat),
			"lastActiveAt", s.LastActiveAt.Format(contenttypes.TimeFormat))
	}
	return sessions
}

// DELETE /api/auth/sessions/{id}: ends a session of the user.
func (u *routes) revokeSession(w http.ResponseWriter, r *http.Request, who auth.Principal) error {
	if err := u.Users.RevokeSession(r.Context(), who.User, mux.Vars(r)["id"]); err != nil {
		return err
	}
	return server.SendJSON(w, http.StatusOK, []byte(`{"data":{}}`))
}
