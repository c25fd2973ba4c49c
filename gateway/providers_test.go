package gateway_test

import (
	"fmt"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"testing"

	"lectern/auth/providers/providertest"
	"lectern/gateway"
)

// A visitor is a browser, and the front end in it.
type visitor struct {
	*api
	idp *providertest.Provider
}

const frontEnd = "https://www.people.test/connect/idp"

// visit runs a project whose users can log in by a provider, with further settings of users.
func visit(t *testing.T, settings string) *visitor {
	return visitAt(t, writeProject(t, with(nil)), gateway.Options{Ephemeral: true}, settings)
}

// visitAt is visit with the project in a directory.
func visitAt(t *testing.T, dir string, o gateway.Options, settings string) *visitor {
	idp := providertest.New(t)
	idp.Claims = map[string]any{"email": "Ann@people.test", "email_verified": true, "preferred_username": "ann"}
	writeFiles(t, dir, plugins(noRateLimit+settings+fmt.Sprintf("    providers:\n      idp: {issuer: %q, clientId: %s, "+
		"clientSecret: %q, callback: %q}\n", idp.URL, providertest.ClientID, providertest.ClientSecret, frontEnd)))
	ready, _ := run(t, dir, o, nil)
	a := newAPI(t, ready)
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	a.client.Jar = jar
	return &visitor{a, idp}
}

// forget drops the cookies of the browser.
func (v *visitor) forget() {
	v.client.Jar, _ = cookiejar.New(nil)
}

// follow sends a request, and returns where it sends the browser on to.
func (v *visitor) follow(address string) *url.URL {
	v.t.Helper()
	res, err := v.client.Get(address)
	if err != nil {
		v.t.Fatal(err)
	}
	res.Body.Close()
	to, err := res.Location()
	if err != nil {
		v.t.Fatalf("GET %s: %s, %v", address, res.Status, err)
	}
	return to
}

// come logs in at the provider, and returns the query with which the browser comes to the front end.
func (v *visitor) come(query string) url.Values {
	v.t.Helper()
	page := v.follow(v.follow(v.follow(v.Base + "/api/connect/idp" + query).String()).String())
	if !strings.HasPrefix(page.String(), frontEnd) {
		v.t.Fatalf("the browser comes to %s", page)
	}
	return page.Query()
}

// enter logs in, and returns the answer to the front end.
func (v *visitor) enter() reply {
	v.t.Helper()
	return v.do("GET", "/api/auth/idp/callback?access_token="+v.come("").Get("access_token"), "", nil)
}

// TestConnect logs a new user in by a provider, and again.
func TestConnect(t *testing.T) {
	v := visit(t, "")
	begun := v.want(302, "GET", "/api/connect/idp", "", nil)
	if c := begun.header.Get("Set-Cookie"); !strings.HasPrefix(c, "lectern-login-state-idp=") ||
		!strings.HasSuffix(c, "; Path=/; Max-Age=600; HttpOnly; SameSite=Lax") || begun.header.Get("Cache-Control") != "no-store" {
		t.Errorf("begins with %v", begun.header)
	}
	first := v.enter()
	jwt, _ := first.at("jwt").(string)
	for key, want := range map[string]any{"username": "ann", "email": "ann@people.test", "provider": "idp",
		"confirmed": true, "blocked": false} {
		if got := first.at("user." + key); got != want {
			t.Errorf("%s is %v, want %v", key, got, want)
		}
	}
	if first.status != 200 || first.header.Get("Cache-Control") != "no-store" {
		t.Errorf("%d %s %v", first.status, first.text, first.header)
	}
	me := v.want(200, "GET", "/api/users/me?populate=role", jwt, nil)
	if me.at("id") != first.at("user.id") {
		t.Errorf("logged in as %s", me.text)
	}
	if again := v.enter(); again.at("user.id") != first.at("user.id") {
		t.Errorf("the second time: %s", again.text)
	}
	v.want(400, "POST", "/api/auth/local", "", object{"identifier": "ann", "password": "secret"})
	if role := v.want(200, "GET", userPath(int(first.at("user.id").(float64)))+"?populate=role", "full", nil); role.at("role.type") != "authenticated" {
		t.Errorf("the role is %s", role.text)
	}
	// A username that others have, or that is too short, gets digits.
	for name, email := range map[string]string{"ann": "ann@other.test", "bo": "bo@other.test"} {
		v.idp.Claims["email"], v.idp.Claims["preferred_username"] = email, name
		got, _ := v.enter().at("user.username").(string)
		if len(got) != len(name)+4 || !strings.HasPrefix(got, name) {
			t.Errorf("%s is called %q", email, got)
		}
	}
}

// TestConnectByCookie leaves the code to the cookie of the browser, as the reference does.
func TestConnectByCookie(t *testing.T) {
	const path = "/api/auth/idp/callback"
	v := visit(t, "")
	v.come("")
	v.want(204, "HEAD", path, "", nil)
	if r := v.want(200, "GET", path, "", nil, "Origin", "https://www.people.test"); r.at("user.username") != "ann" {
		t.Error(r.text)
	}
	const none = "OAuth authentication requires a completed provider session"
	if r := v.do("GET", path, "", nil); r.status != 400 || r.message() != none {
		t.Errorf("a second time: %d %s", r.status, r.text)
	}
	v.come("")
	if r := v.do("GET", path, "", nil, "Origin", "https://evil.people.test"); r.status != 400 || r.message() != none {
		t.Errorf("from another page: %d %s", r.status, r.text)
	}
	v.come("")
	v.forget()
	if r := v.do("GET", path, "", nil); r.status != 400 || r.message() != none {
		t.Errorf("of another browser: %d %s", r.status, r.text)
	}
}

// TestConnectByToken logs in by an id_token that an app has got, and by one of another client.
func TestConnectByToken(t *testing.T) {
	v := visit(t, "")
	const path = "/api/auth/idp/callback?id_token="
	if r := v.do("GET", path+v.idp.IDToken(nil), "", nil); r.status != 400 {
		t.Errorf("where no app is declared: %d %s", r.status, r.text)
	}
	a := serve(t, plugins(noRateLimit+fmt.Sprintf("    providers: {idp: {issuer: %q, clientId: x, callback: %q, audiences: [app]}}\n",
		v.idp.URL, frontEnd)))
	for audience, status := range map[string]int{"app": 200, "another": 400, providertest.ClientID: 400} {
		if r := a.do("GET", path+v.idp.IDToken(object{"aud": audience}), "", nil); r.status != status {
			t.Errorf("for %s: %d %s", audience, r.status, r.text)
		}
	}
}

// TestConnectRefuses begins and ends logins in wrong ways.
func TestConnectRefuses(t *testing.T) {
	v := visit(t, "")
	for path, want := range map[string]string{
		"/api/connect/github":          "This provider is disabled",
		"/api/connect/idp/other":       "This provider is disabled",
		"/api/auth/github/callback":    "This provider is disabled",
		"/api/auth/idp/callback":       "OAuth authentication requires a completed provider session",
		"/api/connect/idp?callback=//": "Invalid callback URL provided",
	} {
		if r := v.do("GET", path, "", nil); r.status != 400 || r.message() != want {
			t.Errorf("%s: %d %s, want %s", path, r.status, r.text, want)
		}
	}
	if q := v.come("?callback=" + url.QueryEscape(frontEnd+"?page=2")); q.Get("page") != "2" || q.Get("access_token") == "" {
		t.Errorf("with a query of its own: %v", q)
	}
	back := v.follow(v.follow(v.Base + "/api/connect/idp").String())
	v.forget()
	if page := v.follow(back.String()); page.Query().Get("error_description") != "OAuth2 state mismatch" ||
		page.Query().Has("access_token") {
		t.Errorf("a browser that has not begun the login comes to %s", page)
	}
	code := v.come("").Get("access_token")
	v.want(200, "GET", "/api/auth/idp/callback?access_token="+code, "", nil)
	if r := v.do("GET", "/api/auth/idp/callback?access_token="+code, "", nil); r.status != 400 ||
		r.message() != "the login was used already, or has taken too long: begin again" {
		t.Errorf("a code a second time: %d %s", r.status, r.text)
	}
}

// TestJoinedAccounts logs in by a provider users who have an account with a password.
func TestJoinedAccounts(t *testing.T) {
	t.Run("of an address that was never confirmed", func(t *testing.T) {
		v := visit(t, "")
		jwt, id := v.register("ann")
		r := v.enter()
		if r.status != 200 || r.at("user.id") != float64(id) || r.at("user.provider") != "idp" {
			t.Fatalf("%d %s", r.status, r.text)
		}
		v.want(200, "GET", "/api/users/me", r.at("jwt").(string), nil)
		v.want(401, "GET", "/api/users/me", jwt, nil)
		v.want(400, "POST", "/api/auth/local", "", object{"identifier": "ann", "password": "secret-ann"})
	})
	t.Run("of an address that was confirmed", func(t *testing.T) {
		v := visit(t, "    email_confirmation: true\n")
		_, id := v.register("ann")
		v.want(200, "PUT", userPath(id), "full", object{"confirmed": true})
		jwt := v.login("ann", "secret-ann")
		r := v.enter()
		if r.status != 200 || r.at("user.id") != float64(id) || r.at("user.provider") != "local" {
			t.Fatalf("%d %s", r.status, r.text)
		}
		v.want(200, "GET", "/api/users/me", r.at("jwt").(string), nil)
		v.want(200, "GET", "/api/users/me", jwt, nil)
		v.login("ann", "secret-ann")
	})
	t.Run("of an address that is to be confirmed", func(t *testing.T) {
		v := visit(t, "    email_confirmation: true\n")
		_, id := v.register("ann")
		r := v.enter()
		if r.status != 200 || r.at("user.id") != float64(id) || r.at("user.confirmed") != true {
			t.Fatalf("%d %s", r.status, r.text)
		}
		v.want(200, "GET", "/api/users/me", r.at("jwt").(string), nil)
		v.want(400, "POST", "/api/auth/local", "", object{"identifier": "ann", "password": "secret-ann"})
	})
	t.Run("where an address may have several", func(t *testing.T) {
		v := visit(t, "    unique_email: false\n")
		jwt, id := v.register("ann")
		r := v.enter()
		if r.status != 200 || r.at("user.id") == float64(id) {
			t.Fatalf("%d %s", r.status, r.text)
		}
		v.want(200, "GET", "/api/users/me", jwt, nil)
		if again := v.enter(); again.at("user.id") != r.at("user.id") {
			t.Errorf("the second time: %s", again.text)
		}
	})
}

// TestPasswordEndsUnlessAddressIsProven logs in by a provider users whose accounts count as confirmed. Their passwords
// go on working if it is known that the address is theirs.
func TestPasswordEndsUnlessAddressIsProven(t *testing.T) {
	const confirming = "    email_confirmation: true\n"
	var box *mailbox // of each case: some leave mails unread
	register := func(v *visitor, email string) (path string) {
		id := v.want(200, "POST", "/api/auth/local/register", "",
			object{"username": "ann", "email": email, "password": "secret-ann"}).at("user.id")
		return userPath(int(id.(float64)))
	}
	code := func() string {
		return "/api/auth/email-confirmation?confirmation=" + strings.TrimSpace(box.next().after("confirmation="))
	}
	for name, c := range map[string]struct {
		settings string
		begin    func(v *visitor)
		goesOn   bool
	}{
		"confirmed by mail": {confirming, func(v *visitor) {
			register(v, "ann@people.test")
			v.want(302, "GET", code(), "", nil)
		}, true},
		"confirmed by mail, with another address since": {confirming, func(v *visitor) {
			path := register(v, "other@people.test")
			v.want(302, "GET", code(), "", nil)
			v.want(200, "PUT", path, "full", object{"email": "ann@people.test"})
		}, false},
		"confirmed by a mail to another address": {confirming, func(v *visitor) {
			path, sent := register(v, "other@people.test"), code()
			v.want(200, "PUT", path, "full", object{"email": "ann@people.test"})
			v.want(400, "GET", sent, "", nil)
			v.want(200, "PUT", path, "full", object{"confirmed": true, "confirmationToken": "mine"})
		}, false},
		"confirmed by an administrator": {confirming, func(v *visitor) {
			v.want(200, "PUT", register(v, "other@people.test"), "full", object{"email": "ann@people.test", "confirmed": true})
		}, true},
		"confirmed by registering": {"", func(v *visitor) {
			v.want(200, "PUT", register(v, "ann@people.test"), "full", object{"confirmed": true}) // as it was
		}, false},
		"made by an administrator": {"", func(v *visitor) {
			v.want(201, "POST", "/api/users", "full", object{"username": "ann", "email": "ann@people.test",
				"password": "secret-ann", "role": v.roleID("authenticated"), "confirmed": true})
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			box = newMailbox(t)
			v := visit(t, c.settings+"    email:\n      "+box.config()+"\n")
			c.begin(v)
			v.keepsPassword(c.goesOn)
		})
	}
	t.Run("confirmed by registering, before the mails", func(t *testing.T) {
		dir := writeProject(t, with(plugins(noRateLimit)))
		ready, stop := run(t, dir, gateway.Options{}, nil)
		newAPI(t, ready).register("ann")
		stop()
		visitAt(t, dir, gateway.Options{}, confirming).keepsPassword(false)
	})
}

// keepsPassword logs in by a password, by the provider, and by the password again if that goes on working.
func (v *visitor) keepsPassword(goesOn bool) {
	v.t.Helper()
	jwt := v.login("ann", "secret-ann")
	r := v.enter()
	if r.status != 200 || r.at("user.provider") != map[bool]string{true: "local", false: "idp"}[goesOn] {
		v.t.Fatalf("by the provider: %d %s", r.status, r.text)
	}
	want := map[bool]int{true: 200, false: 401}[goesOn]
	v.want(want, "GET", "/api/users/me", jwt, nil)
	if r := v.do("POST", "/api/auth/local", "", object{"identifier": "ann", "password": "secret-ann"}); r.status == 200 != goesOn {
		v.t.Errorf("by the password: %d %s", r.status, r.text)
	}
	v.want(200, "GET", "/api/users/me", v.enter().at("jwt").(string), nil)
}

// TestConnectBeginsASession logs in by a provider where logins begin sessions. The sessions of whoever had the account
// before end if it is taken over.
func TestConnectBeginsASession(t *testing.T) {
	v := visit(t, "    jwtManagement: refresh\n")
	theirs := v.want(200, "POST", "/api/auth/local/register", "",
		object{"username": "ann", "email": "ann@people.test", "password": "secret-ann"})
	ours := v.enter()
	v.want(200, "GET", "/api/users/me", ours.at("jwt").(string), nil)
	v.want(200, "POST", "/api/auth/refresh", "", object{"refreshToken": ours.at("refreshToken")})
	v.want(401, "GET", "/api/users/me", theirs.at("jwt").(string), nil)
	v.want(401, "POST", "/api/auth/refresh", "", object{"refreshToken": theirs.at("refreshToken")})
}

// TestProvidersInOpenAPI expects the operation that logs in by a provider where there is one.
func TestProvidersInOpenAPI(t *testing.T) {
	for want, a := range map[bool]*api{true: visit(t, "").api, false: serve(t, nil)} {
		paths, _ := a.want(200, "GET", "/api/_openapi.json", "full", nil).at("paths").(map[string]any)
		if _, got := paths["/api/auth/{provider}/callback"]; got != want {
			t.Errorf("the document has the operation: %t, want %t", got, want)
		}
	}
}

// TestConnectIsRefused logs in users who may not.
func TestConnectIsRefused(t *testing.T) {
	refused := func(v *visitor, want string) {
		t.Helper()
		if r := v.enter(); r.status != 400 || r.message() != want {
			t.Errorf("%d %s, want %s", r.status, r.text, want)
		}
	}
	v := visit(t, "    allow_register: false\n")
	refused(v, "Register action is actually not available.")
	v.want(201, "POST", "/api/users", "full", object{"username": "ann", "email": "ann@people.test", "password": "secret-ann",
		"role": v.roleID("authenticated"), "confirmed": true})
	if r := v.enter(); r.status != 200 {
		t.Errorf("a user of a closed project: %d %s", r.status, r.text)
	}

	v = visit(t, "")
	_, id := v.register("ann")
	v.want(200, "PUT", userPath(id), "full", object{"blocked": true})
	refused(v, "Your account has been blocked by an administrator")
	v.idp.Claims["email"] = "bob@people.test"
	made, _ := v.enter().at("user.id").(float64)
	v.want(200, "PUT", userPath(int(made)), "full", object{"blocked": true})
	refused(v, "Your account has been blocked by an administrator")
	v.idp.Claims["email_verified"] = false
	refused(v, "idp does not vouch for your email address: confirm it there, and log in again")
	v.idp.Claims["email_verified"], v.idp.Claims["email"] = true, "no address"
	refused(v, "Email was not available.")
}

// TestProviderIsDown begins a login while the provider does not answer. Other logins go on.
func TestProviderIsDown(t *testing.T) {
	v := visit(t, "")
	v.register("bob")
	v.idp.Close()
	r := v.do("GET", "/api/connect/idp", "", nil)
	if r.status != 503 || r.message() != "idp cannot be reached; try again later, or log in another way" {
		t.Errorf("%d %s", r.status, r.text)
	}
	v.login("bob", "secret-bob")
}

// TestConnectBehindHTTPS expects cookies that only this host can set, and addresses as clients know them.
func TestConnectBehindHTTPS(t *testing.T) {
	idp := providertest.New(t)
	files := plugins(fmt.Sprintf("    providers: {idp: {issuer: %q, clientId: x, callback: %q}}\n", idp.URL, frontEnd))
	files["config/server.yaml"] = "url: https://api.people.test/cms\n"
	ready, _ := run(t, writeProject(t, with(files)), gateway.Options{Ephemeral: true}, nil)
	a := newAPI(t, ready)
	r := a.want(302, "GET", "/api/connect/idp", "", nil)
	to, err := url.Parse(r.header.Get("Location"))
	if err != nil || to.Query().Get("redirect_uri") != "https://api.people.test/cms/api/connect/idp/callback" {
		t.Errorf("sent to %s", to)
	}
	if c := r.header.Get("Set-Cookie"); !strings.HasPrefix(c, "__Host-lectern-login-state-idp=") ||
		!strings.Contains(c, "; Secure") || !strings.Contains(c, "; HttpOnly") {
		t.Errorf("the cookie is %s", c)
	}
}

// TestLoginsByProvidersAreLimited counts the logins of an address.
func TestLoginsByProvidersAreLimited(t *testing.T) {
	v := visit(t, "")
	files := plugins(fmt.Sprintf("    ratelimit: {max: 2}\n    providers: {idp: {issuer: %q, clientId: x, callback: %q}}\n",
		v.idp.URL, frontEnd))
	a := serve(t, files)
	for i, want := range []int{400, 400, http.StatusTooManyRequests} {
		if r := a.do("GET", "/api/auth/idp/callback?access_token=x", "", nil); r.status != want {
			t.Errorf("request %d: %d %s", i, r.status, r.text)
		}
	}
}
