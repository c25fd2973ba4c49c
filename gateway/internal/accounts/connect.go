package accounts

import (
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/gorilla/mux"

	"lectern/auth"
	"lectern/auth/providers"
	"lectern/gateway/internal/server"
)

// connectRoute returns the route of logins by providers. It limits the two requests of a login each for itself,
// whatever the name of the provider is.
func (u *routes) connectRoute() server.Route {
	route := u.route("GET", "/connect/{path:.*}", authAction+"connect", u.connect)
	route.Limit = func(w http.ResponseWriter, r *http.Request) error {
		name := "/connect"
		if strings.Contains(strings.Trim(mux.Vars(r)["path"], "/"), "/") {
			name = "/connect/callback"
		}
		return server.Allow(u.Limiter, u.Proxies, w, r, name)
	}
	return route
}

// GET /api/connect/{provider}: sends the browser to the provider, where the user logs in.
// GET /api/connect/{provider}/callback: sends the browser from there to the front end.
func (u *routes) connect(w http.ResponseWriter, r *http.Request, _ auth.Principal) error {
	name, rest, _ := strings.Cut(strings.Trim(mux.Vars(r)["path"], "/"), "/")
	p := u.Providers.Get(name)
	switch {
	case p == nil, rest != "" && rest != "callback":
		return auth.ErrProvider
	case r.Method == http.MethodHead: // of a program that checks links
		w.WriteHeader(http.StatusNoContent)
		return nil
	case rest == "":
		return u.beginConnect(w, r, p)
	}
	state := u.takeCookie(w, r, "state", p)
	location, code := p.Return(r.Context(), state, r.URL.Query())
	if code != "" {
		u.setCookie(w, "code", p, code, providers.CodeLife)
	}
	return redirect(w, location)
}

func (u *routes) beginConnect(w http.ResponseWriter, r *http.Request, p *providers.Provider) error {
	query := r.URL.Query()
	location, state, err := p.Begin(r.Context(), u.Base()+u.Prefix+"/connect/"+p.Name+"/callback",
		query.Get("callback"), query.Get("code_challenge"))
	if err != nil {
		return err
	}
	u.setCookie(w, "state", p, state, providers.StateLife)
	return redirect(w, location)
}

// GET /api/auth/{provider}/callback: logs the user in by the code that the front end has got, and answers with the user
// and a JWT. The code is in access_token, where the reference has a token of the provider, or in a cookie.
func (u *routes) callback(w http.ResponseWriter, r *http.Request, who auth.Principal) error {
	name := mux.Vars(r)["provider"]
	if name == "local" { // which has no password here
		_, err := u.Users.Login(r.Context(), nil, nil)
		return err
	}
	p := u.Providers.Get(name)
	switch {
	case p == nil:
		return auth.ErrProvider
	case r.Method == http.MethodHead: // of a program that checks links: the code works once
		w.WriteHeader(http.StatusNoContent)
		return nil
	}
	identity, err := u.identify(w, r, p)
	if err != nil {
		return err
	}
	w.Header()["Cache-Control"] = server.NoStore
	return u.loggedIn(w, r, who, false, func(show auth.Show) (auth.Credentials, error) {
		return u.Users.Connect(r.Context(), identity, show)
	})
}

// identify returns who logs in: by the code of the query, by that of the cookie, or by an id_token that an app has got.
func (u *routes) identify(w http.ResponseWriter, r *http.Request, p *providers.Provider) (auth.Identity, error) {
	query := r.URL.Query()
	t := providers.Trade{Code: query.Get("access_token"), Verifier: query.Get("code_verifier"),
		Origin: r.Header.Get("Origin")}
	if token := query.Get("id_token"); token != "" && t.Code == "" {
		return p.VerifyToken(r.Context(), token)
	}
	if kept := u.takeCookie(w, r, "code", p); t.Code == "" && kept != "" {
		t.Code, t.FromCookie = kept, true
	}
	if t.Code == "" {
		return auth.Identity{}, providers.ErrNoCode
	}
	return p.Finish(r.Context(), t)
}

// IsLoginByProvider reports whether a path is that of the route that logs in by another provider, which may write.
func IsLoginByProvider(path, prefix string) bool {
	rest, ok := cutFold(path, prefix+"/auth/")
	name, last, _ := strings.Cut(rest, "/")
	return ok && strings.EqualFold(last, "callback") && !strings.EqualFold(name, "local")
}

// cutFold returns s without a prefix, in any case.
func cutFold(s, prefix string) (rest string, ok bool) {
	if len(s) < len(prefix) || !strings.EqualFold(s[:len(prefix)], prefix) {
		return "", false
	}
	return s[len(prefix):], true
}

// redirect sends a browser on. The address may have a code, so nobody may keep the answer.
func redirect(w http.ResponseWriter, to string) error {
	w.Header()["Location"] = []string{to}
	w.Header()["Cache-Control"] = server.NoStore
	return server.SendBody(w, server.Text, http.StatusFound, []byte("Redirecting."))
}

// maxCookie is the longest value of a cookie: browsers drop longer ones.
const maxCookie = 3800

// setCookie has the browser keep a value of a login for this server alone: pages cannot read it, and other sites do not
// send it. Over HTTPS its name begins with __Host-, so that other hosts of the same domain cannot set it.
func (u *routes) setCookie(w http.ResponseWriter, use string, p *providers.Provider, value string, life time.Duration) {
	name, secure := u.cookieName(use, p)
	if len(value) <= maxCookie {
		http.SetCookie(w, &http.Cookie{Name: name, Value: value, Path: "/", MaxAge: int(life / time.Second),
			Secure: secure, HttpOnly: true, SameSite: http.SameSiteLaxMode})
	}
}

// takeCookie returns a value that setCookie has had the browser keep, "" if there is none, and has it removed.
func (u *routes) takeCookie(w http.ResponseWriter, r *http.Request, use string, p *providers.Provider) string {
	name, secure := u.cookieName(use, p)
	kept, err := r.Cookie(name)
	if err != nil {
		return ""
	}
	http.SetCookie(w, &http.Cookie{Name: name, Path: "/", MaxAge: -1, Secure: secure, HttpOnly: true,
		SameSite: http.SameSiteLaxMode})
	return kept.Value
}

func (u *routes) cookieName(use string, p *providers.Provider) (name string, secure bool) {
	base, err := url.Parse(u.Base())
	if name = "lectern-login-" + use + "-" + p.Name; err == nil && base.Scheme == "https" {
		return "__Host-" + name, true
	}
	return name, false
}
