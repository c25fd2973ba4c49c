package accounts

import (
	"net/http"

	"lectern/auth"
	"lectern/documents/apierror"
	"lectern/gateway/internal/server"
	"lectern/jsontree"
)

// Desk says how the sessions of the desk are reached.
type Desk struct {
	Path   string // of the desk; "" if it is switched off
	Owners *auth.Owners
	Secure bool // whether its cookie is sent over https only
}

// deskCookie is the cookie that holds what a session of the desk is refreshed with. It has no path of its own, so a
// browser sends it to the paths beside the one that set it, wherever a proxy has put the desk. All three routes thus
// have the same path.
const deskCookie = "lectern_desk"

// sessionPath is the path of the sessions, below that of the desk.
const sessionPath = "/session"

// deskRoutes returns the routes by which the desk logs in. What it gets is used with the routes of the API.
func (u *routes) deskRoutes() []server.Route {
	if u.Desk.Path == "" {
		return nil
	}
	at := u.Desk.Path + sessionPath
	return []server.Route{
		withJWT(server.Route{Method: "POST", Path: at, Open: true, Handle: u.deskLogin, Limit: u.limit(u.Limiter, at)}),
		withJWT(server.Route{Method: "PUT", Path: at, Open: true, Handle: u.deskRefresh, Limit: u.limit(u.Refreshes, at)}),
		{Method: "DELETE", Path: at, Open: true, Handle: u.deskLogout},
	}
}

// POST /desk/session: begins a session with {identifier, password} or with {link}, the code of a link that logs in
// once. The answer has the JWT for requests; what refreshes it is a cookie that no script can read.
func (u *routes) deskLogin(w http.ResponseWriter, r *http.Request, _ auth.Principal) error {
	if err := fromDesk(r); err != nil {
		return err
	}
	sent, err := u.Limits.ReadBody(w, r)
	if err != nil {
		return err
	}
	var c auth.Credentials
	if link := textOf(sent, "link"); link != "" {
		user, ok := u.Desk.Owners.Open(link)
		switch {
		case !ok:
			return errLink
		case user == "":
			return u.sendOwner(w, u.Desk.Owners.Begin())
		}
		c, err = u.Users.DeskLoginAs(r.Context(), user)
	} else {
		c, err = u.Users.DeskLogin(r.Context(), sent)
	}
	if err != nil {
		return err
	}
	return u.sendDesk(w, c)
}

// PUT /desk/session: the next JWT of a session; null if there is none.
func (u *routes) deskRefresh(w http.ResponseWriter, r *http.Request, _ auth.Principal) error {
	if err := fromDesk(r); err != nil {
		return err
	}
	token := cookieOf(r, deskCookie)
	if token == "" {
		return server.SendJSON(w, http.StatusOK, []byte(`{"jwt":null}`)) // the desk asks first thing
	}
	if u.Desk.Owners.Extend(token) {
		return u.sendOwner(w, token)
	}
	c, err := u.Users.DeskRefresh(r.Context(), token)
	if err != nil {
		return err
	}
	return u.sendDesk(w, c)
}

// DELETE /desk/session: ends the session.
func (u *routes) deskLogout(w http.ResponseWriter, r *http.Request, _ auth.Principal) error {
	if err := fromDesk(r); err != nil {
		return err
	}
	token := cookieOf(r, deskCookie)
	u.Desk.Owners.End(token)
	if err := u.Users.DeskLogout(r.Context(), token); err != nil {
		return err
	}
	u.setDeskCookie(w, "", -1)
	return done(w, nil)
}

// fromDesk returns an error if a page of another site has sent the request. The desk is of the site of its server, and
// other programs have their own ways to log in.
func fromDesk(r *http.Request) error {
	if site := r.Header.Get("Sec-Fetch-Site"); site != "" && site != "same-origin" {
		return errNoFetch
	}
	return nil
}

var errLink = &apierror.Error{Status: http.StatusUnauthorized, Name: "UnauthorizedError", Reason: apierror.Credential,
	Message: "This link works no longer: lectern desk link makes another"}

// deskCookieLife is how long a browser keeps the cookie, in seconds. What it holds ends by itself.
const deskCookieLife = 30 * 24 * 60 * 60

func (u *routes) setDeskCookie(w http.ResponseWriter, value string, age int) {
	http.SetCookie(w, &http.Cookie{Name: deskCookie, Value: value, MaxAge: age, HttpOnly: true,
		Secure: u.Desk.Secure, SameSite: http.SameSiteStrictMode})
}

func (u *routes) sendDesk(w http.ResponseWriter, c auth.Credentials) error {
	u.setDeskCookie(w, c.Refresh, deskCookieLife)
	return sendJWT(w, c.JWT)
}

func (u *routes) sendOwner(w http.ResponseWriter, key string) error {
	u.setDeskCookie(w, key, 0)
	return sendJWT(w, key)
}

func sendJWT(w http.ResponseWriter, jwt string) error {
	return server.SendJSON(w, http.StatusOK, append(jsontree.AppendString([]byte(`{"jwt":`), jwt), '}'))
}
