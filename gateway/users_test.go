package gateway_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"lectern/auth"
	"lectern/gateway"
	"lectern/internal/servertest"
)

// plugins returns config/plugins.yaml with these settings of users.
func plugins(settings string) map[string]string {
	return map[string]string{"config/plugins.yaml": "users-permissions:\n  config:\n    jwtSecret: " + testSecret +
		"\n" + settings}
}

const noRateLimit = "    ratelimit: {enabled: false}\n"

// TestPasswordIsResetByMail resets a forgotten password with the code from a mail.
func TestPasswordIsResetByMail(t *testing.T) {
	box := newMailbox(t)
	a := serve(t, plugins(noRateLimit+"    email_reset_password: https://www.people.test/reset\n    email:\n      "+
		box.config()+"\n"))
	old, id := a.register("ann")

	a.want(200, "POST", "/api/auth/forgot-password", "", object{"email": "ANN@people.test"})
	mail := box.next()
	if mail.to != "<ann@people.test>" || mail.header.Get("From") != `"Tests" <tests@people.test>` ||
		mail.header.Get("Subject") != "Reset your password" {
		t.Errorf("to %s: %v", mail.to, mail.header)
	}
	first := mail.after("https://www.people.test/reset?code=")
	a.want(200, "POST", "/api/auth/forgot-password", "", object{"email": "ann@people.test"})
	code := box.next().after("?code=")

	reset := func(code string) reply {
		return a.do("POST", "/api/auth/reset-password", "",
			object{"code": code, "password": "another", "passwordConfirmation": "another"})
	}
	for name, wrong := range map[string]string{"an earlier": first, "a shorter": code[1:], "an unknown": "x"} {
		if r := reset(wrong); r.status != 400 || r.message() != "Incorrect code provided" {
			t.Errorf("%s code: %d %s", name, r.status, r.text)
		}
	}
	r := reset(code)
	jwt, _ := r.at("jwt").(string)
	if r.status != 200 || r.at("user.username") != "ann" {
		t.Fatalf("reset: %d %s", r.status, r.text)
	}
	a.want(200, "GET", "/api/users/me", jwt, nil)
	a.want(401, "GET", "/api/users/me", old, nil)
	a.want(400, "POST", "/api/auth/local", "", object{"identifier": "ann", "password": "secret-ann"})
	a.login("ann", "another")
	if r := reset(code); r.status != 400 {
		t.Errorf("the code works again: %s", r.text)
	}

	// A code that was mailed before the user was blocked has no effect.
	a.want(200, "POST", "/api/auth/forgot-password", "", object{"email": "ann@people.test"})
	code = box.next().after("?code=")
	a.want(200, "PUT", userPath(id), "full", object{"blocked": true})
	if r := reset(code); r.message() != "Incorrect code provided" {
		t.Errorf("of a blocked user: %s", r.text)
	}
}

// TestCodesEndWithThePassword uses codes that were mailed before the password or the address of the user was changed.
// Whoever could read the mailbox then must not get the account back.
func TestCodesEndWithThePassword(t *testing.T) {
	box := newMailbox(t)
	a := serve(t, plugins(noRateLimit+"    email:\n      "+box.config()+"\n"))
	jwt, id := a.register("ann")
	a.want(200, "PUT", fmt.Sprint("/api/users-permissions/roles/", a.roleID("authenticated")), "full",
		object{"permissions": object{
			"plugin::users-permissions": object{"controllers": object{"auth": object{"changePassword": object{"enabled": true}}}}}})
	for _, c := range []struct {
		name, method, path, as string
		body                   object
		works                  bool
	}{
		{"a new name", "PUT", userPath(id), "full", object{"username": "anna"}, true},
		{"a new password", "POST", "/api/auth/change-password", "ann",
			object{"currentPassword": "secret-ann", "password": "second", "passwordConfirmation": "second"}, false},
		{"a new password by an administrator", "PUT", userPath(id), "full", object{"password": "the third"}, false},
		{"a new address", "PUT", userPath(id), "full", object{"email": "anna@people.test"}, false},
		{"a new password and a code", "PUT", userPath(id), "full",
			object{"password": "fourth", "resetPasswordToken": "by hand"}, false},
	} {
		a.want(200, "POST", "/api/auth/forgot-password", "", object{"email": "ann@people.test"})
		code := box.next().after("?code=")
		a.Tokens["ann"] = jwt
		a.want(200, c.method, c.path, c.as, c.body)
		password := "secret-ann"
		r := a.do("POST", "/api/auth/reset-password", "",
			object{"code": code, "password": password, "passwordConfirmation": password})
		if works := r.status == 200; works != c.works {
			t.Errorf("%s: a code that was mailed before is answered %d %s", c.name, r.status, r.text)
		} else if works {
			jwt = r.at("jwt").(string)
		}
		a.want(200, "PUT", userPath(id), "full", object{"email": "ann@people.test"})
	}
}

// TestAddressIsConfirmedByMail registers a user whose address must be confirmed, and confirms it with the link from a
// mail.
func TestAddressIsConfirmedByMail(t *testing.T) {
	box := newMailbox(t)
	a := serve(t, plugins(noRateLimit+
		"    email_confirmation: true\n    email_confirmation_redirection: https://www.people.test/welcome\n    email:\n      "+box.config()+`
      templates:
        email_confirmation:
          object: Hello <%= USER.username %>
          message: <p>Dear <%= USER.username %>, <a href="<%= URL %>?confirmation=<%= CODE %>">confirm</a>!</p>
`))
	r := a.want(200, "POST", "/api/auth/local/register", "",
		object{"username": "<b>ann", "email": "ann@people.test", "password": "secret"})
	if _, has := r.body.(object)["jwt"]; has || r.at("user.confirmed") != false {
		t.Errorf("registered: %s", r.text)
	}
	login := object{"identifier": "ann@people.test", "password": "secret"}
	if r := a.do("POST", "/api/auth/local", "", login); r.status != 400 ||
		r.message() != "Your account email is not confirmed" {
		t.Errorf("login: %d %s", r.status, r.text)
	}
	mail := box.next()
	if mail.header.Get("Subject") != "Hello <b>ann" || !strings.HasPrefix(mail.body, "<p>Dear &lt;b&gt;ann, <a href=\""+
		a.Base+"/api/auth/email-confirmation?confirmation=") {
		t.Errorf("%v\n%s", mail.header, mail.body)
	}
	first, _, _ := strings.Cut(mail.after("?confirmation="), `"`)

	a.want(200, "POST", "/api/auth/send-email-confirmation", "", object{"email": "ann@people.test"})
	code, _, _ := strings.Cut(box.next().after("?confirmation="), `"`)
	if r := a.do("GET", "/api/auth/email-confirmation?confirmation="+first, "", nil); r.message() != "Invalid token" {
		t.Errorf("an earlier code: %d %s", r.status, r.text)
	}
	a.want(204, "HEAD", "/api/auth/email-confirmation?confirmation="+code, "",
		nil) // a mail scanner sends HEAD to check the link
	r = a.do("GET", "/api/auth/email-confirmation?confirmation="+code, "", nil)
	if r.status != 302 || r.header.Get("Location") != "https://www.people.test/welcome" {
		t.Errorf("confirmed: %d %v", r.status, r.header)
	}
	jwt, _ := a.want(200, "POST", "/api/auth/local", "", login).at("jwt").(string)
	if r := a.do("POST", "/api/auth/send-email-confirmation", "", object{"email": "ann@people.test"}); r.message() != "Already confirmed" {
		t.Errorf("again: %d %s", r.status, r.text)
	}
	id := int(a.want(200, "GET", "/api/users?fields=username", "full", nil).body.([]any)[0].(object)["id"].(float64))
	a.want(200, "PUT", userPath(id), "full", object{"confirmed": false})
	a.want(401, "GET", "/api/articles", jwt, nil)
}

// TestMailIsWrittenToFiles expects mail in the data directory if no mail server is configured. Its links lead to the
// address of the server, and the log contains no code.
func TestMailIsWrittenToFiles(t *testing.T) {
	dir := writeProject(t, with(nil))
	var log bytes.Buffer
	ready, stop := run(t, dir,
		gateway.Options{Log: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))}, nil)
	a := newAPI(t, ready)
	a.register("ann")
	a.want(200, "POST", "/api/auth/forgot-password", "", object{"email": "ann@people.test"})
	stop()
	files, err := filepath.Glob(filepath.Join(dir, "data", "mail", "*"))
	if err != nil || len(files) != 1 || !strings.HasSuffix(files[0], ".eml") {
		t.Fatal(files, err)
	}
	text, err := os.ReadFile(files[0])
	_, code, found := strings.Cut(strings.ReplaceAll(string(text), "=\r\n", ""), ready.Base+"?code=3D")
	if err != nil || !found {
		t.Fatalf("%v\n%s", err, text)
	}
	for _, secret := range []string{code[:20], "secret-ann", "ann@people.test"} {
		if strings.Contains(log.String(), secret) {
			t.Errorf("the log tells %s:\n%s", secret, log.String())
		}
	}
	if !strings.Contains(log.String(), "a mail was written") {
		t.Errorf("the log does not speak of the mail:\n%s", log.String())
	}
	if info, err := os.Stat(files[0]); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info.Mode(), err)
	}
}

// TestEphemeralServersWriteMailToFiles expects an ephemeral server to write mail to files, even in production, so that
// tests can read the mail.
func TestEphemeralServersWriteMailToFiles(t *testing.T) {
	log := &servertest.LogBuffer{}
	ready, stop := run(t, writeProject(t, with(nil)),
		gateway.Options{Production: true, Ephemeral: true, Log: slog.New(slog.NewTextHandler(log, nil))}, nil)
	a := newAPI(t, ready)
	a.register("ann")
	a.want(200, "POST", "/api/auth/forgot-password", "", object{"email": "ann@people.test"})
	stop() // stop waits until the mail is written
	if text := log.String(); !strings.Contains(text, "a mail was written to a file instead of sent") ||
		strings.Contains(text, "a mail was not sent") {
		t.Error(text)
	}
}

// TestUsersAreWrittenByNumberOnly expects the path of the caller itself to be that of no user, as in the reference.
func TestUsersAreWrittenByNumberOnly(t *testing.T) {
	a := serve(t, plugins(noRateLimit))
	ann, _ := a.register("ann")
	for _, c := range []struct {
		method, as string
		status     int
		message    string
	}{
		{"PUT", ann, 403, "Forbidden"},
		{"PUT", "full", 404, "User not found"},
		{"DELETE", ann, 403, "Forbidden"},
		{"DELETE", "full", 204, ""},
	} {
		if r := a.do(c.method, "/api/users/me", c.as, object{"username": "other"}); r.status != c.status ||
			r.message() != c.message {
			t.Errorf("%s: %d %s", c.method, r.status, r.text)
		}
	}
	a.want(200, "GET", "/api/users/1", "full", nil)
}

// The role of a user who has just registered is shown to whoever may find roles.
func TestRoleOfRegisteredIsShownToReaders(t *testing.T) {
	a := serve(t, plugins(noRateLimit))
	for as, want := range map[string]string{"": `"role":null`, "full": `"role":{"name":"Authenticated"}`,
		"readonly": `"role":{"name":"Authenticated"}`} {
		name := "user" + as
		r := a.graphql(as, `mutation{register(input:{username:"`+name+`",email:"`+name+
			`@people.test",password:"secret12"}){user{role{name}}}}`)
		if !strings.Contains(r.text, want) {
			t.Errorf("registered as %q: %s", as, r.text)
		}
	}
}

// TestUserSettingsAreObeyed registers users under the settings allow_register, default_role and unique_email.
func TestUserSettingsAreObeyed(t *testing.T) {
	ann := object{"username": "ann", "email": "ann@people.test", "password": "secret"}
	for _, c := range []struct {
		settings string
		body     object
		status   int
		message  string
	}{
		{"", ann, 200, ""},
		{"    allow_register: false\n", ann, 400, "Register action is currently disabled"},
		{"    default_role: keeper\n", ann, 200, ""},
		{"    unique_email: false\n", ann, 200, ""},
	} {
		a := serve(t, plugins(noRateLimit+c.settings))
		r := a.do("POST", "/api/auth/local/register", "full", c.body)
		if r.status != c.status || r.message() != c.message {
			t.Errorf("%q: %d %s", c.settings, r.status, r.text)
		}
		if strings.Contains(c.settings, "keeper") && r.at("user.role.type") != "keeper" {
			t.Errorf("the role is %v", r.at("user.role"))
		}
		twin := a.do("POST", "/api/users", "full",
			object{"username": "twin", "email": "ann@people.test", "password": "secret", "role": a.roleID("public")})
		if c.status == 200 && (twin.status == 201) != strings.Contains(c.settings, "unique_email: false") {
			t.Errorf("%q: a second user of the address: %d %s", c.settings, twin.status, twin.text)
		}
	}
	dir := writeProject(t, with(plugins("    default_role: nobody\n")))
	if _, err := gateway.Open(dir, gateway.Options{}); err == nil ||
		!strings.Contains(err.Error(), `there is no role "nobody"`) {
		t.Errorf("a default role of none: %v", err)
	}
}

// serveKept serves a project that keeps its data and has a full-access token. It stops the server when f returns.
func serveKept(t *testing.T, dir string, o gateway.Options, f func(*api)) {
	t.Helper()
	var key string
	ready, stop := run(t, dir, o, func(p *gateway.Project) {
		list, err := p.Tokens(context.Background())
		if err == nil {
			_, key, err = p.CreateToken(context.Background(),
				auth.Declaration{Name: fmt.Sprint("full", len(list)), Kind: auth.FullAccess})
		}
		if err != nil {
			t.Fatal(err)
		}
	})
	ready.Tokens = map[string]string{"full": key}
	f(newAPI(t, ready))
	stop()
}

// grant returns a body that enables actions on articles for a role.
func grant(actions ...string) object {
	enabled := object{}
	for _, a := range actions {
		enabled[a] = object{"enabled": true}
	}
	return object{"permissions": object{"api::article": object{"controllers": object{"article": enabled}}}}
}

// TestGrantsFollowTheFile changes permissions.yaml between starts, and grants permissions at run time.
func TestGrantsFollowTheFile(t *testing.T) {
	dir := writeProject(t, with(nil))
	file := func(text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, "config", "permissions.yaml"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	public := func(a *api, want ...int) {
		t.Helper()
		got := []int{
			a.do("GET", "/api/articles", "", nil).status,
			a.do("POST", "/api/articles", "", object{"data": object{}}).status,
			a.do("DELETE", "/api/articles/none", "", nil).status,
			a.do("POST", "/api/auth/local", "", object{"identifier": "x", "password": "y"}).status,
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("the public gets %v, want %v", got, want)
		}
	}
	serveKept(t, dir, gateway.Options{}, func(a *api) {
		public(a, 200, 403, 403, 400)
		// A grant at run time also revokes the permissions that it does not name.
		a.want(200, "PUT", fmt.Sprint("/api/users-permissions/roles/", a.roleID("public")), "full", grant("create"))
		public(a, 403, 201, 403, 403)
	})
	serveKept(t, dir, gateway.Options{},
		func(a *api) {
			public(a, 200, 201, 403,
				403)
		}) // permissions.yaml applies again; permissions that it does not name are kept
	file("roles: {public: {api::article.article: [delete], plugin::users-permissions.auth: [callback]}}")
	serveKept(t, dir, gateway.Options{}, func(a *api) { public(a, 403, 201, 204, 400) })
	file("")
	serveKept(t, dir, gateway.Options{}, func(a *api) {
		public(a, 403, 201, 403, 403)
		a.roleID("keeper") // a role is kept when permissions.yaml no longer names it
	})
}

// TestSecretIsKeptAndNotGuessable expects a generated secret to be kept across starts, and secrets that can be guessed
// to be refused in production.
func TestSecretIsKeptAndNotGuessable(t *testing.T) {
	unset := map[string]string{"config/plugins.yaml": ""}
	dir := writeProject(t, with(unset))
	var jwt string
	serveKept(t, dir, gateway.Options{Production: true}, func(a *api) { jwt, _ = a.register("ann") })
	secret := filepath.Join(dir, "data", "jwt-secret")
	if info, err := os.Stat(secret); err != nil || info.Mode().Perm() != 0o600 || info.Size() < 64 {
		t.Errorf("%v %v", info, err)
	}
	serveKept(t, dir, gateway.Options{Production: true}, func(a *api) { a.want(200, "GET", "/api/users/me", jwt, nil) })
	if err := os.Remove(secret); err != nil {
		t.Fatal(err)
	}
	serveKept(t, dir, gateway.Options{Production: true}, func(a *api) { a.want(401, "GET", "/api/users/me", jwt, nil) })

	for secret, want := range map[string]string{
		"fifteen bytes..":        "has 15 bytes, which is too easily guessed",
		"sixteen bytes...":       "",
		"find, findOne, create,": "one that everybody knows", // this secret is in a file of the example project
	} {
		dir := writeProject(
			t, with(map[string]string{"config/plugins.yaml": "users-permissions: {config: {jwtSecret: '" + secret +
				"'}}"}))
		for _, production := range []bool{true, false} {
			p, err := gateway.Open(dir, gateway.Options{Ephemeral: true, Production: production})
			if err == nil {
				err = p.Close()
			}
			if production && want != "" {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("%q in production: %v, want …%s…", secret, err, want)
				}
			} else if err != nil {
				t.Errorf("%q: %v", secret, err)
			}
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "data", "jwt-secret"), []byte("\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := gateway.Open(dir, gateway.Options{}); err == nil ||
		!strings.Contains(err.Error(), "does not hold a secret") {
		t.Errorf("an empty file: %v", err)
	}
}

// TestUsersCanBeSwitchedOff switches users off: their routes and types do not exist, and a JWT is not a credential.
func TestUsersCanBeSwitchedOff(t *testing.T) {
	ready, _ := run(t, writeProject(t, map[string]string{
		"config/plugins.yaml":     "users-permissions: {enabled: false, config: {jwtSecret: '" + testSecret + "'}}",
		"config/permissions.yaml": "roles: {public: {api::article.article: [find]}}",
	}), gateway.Options{Ephemeral: true}, nil)
	a := newAPI(t, ready)
	for _, path := range []string{"/api/users", "/api/users/me", "/api/users-permissions/roles",
		"/api/auth/email-confirmation", "/api/connect/github"} {
		a.want(404, "GET", path, "full", nil)
	}
	a.want(405, "POST", "/api/auth/local", "", object{"identifier": "x", "password": "y"})
	a.want(200, "GET", "/api/articles", "", nil)
	a.want(401, "GET", "/api/articles", "eyJhbGciOiJIUzI1NiJ9.e30.x", nil)
}

// TestRolesAreAdministered creates, changes and deletes roles.
func TestRolesAreAdministered(t *testing.T) {
	a := serve(t, nil)
	const roles = "/api/users-permissions/roles"
	for _, c := range []struct {
		body    any
		message string
	}{
		{object{"name": "Editor"}, ""},
		{object{"name": "editor"}, "There is a role of that name already"},
		{object{"name": "Public"}, "There is a role of that name already"},
		{object{"name": ""}, "name is a required field"},
		{object{"description": "no name"}, "name is a required field"},
		{object{"name": 5}, "name must be a `string` type, but the final value was: `5`."},
		{object{"name": "!?"}, "name must contain a letter or a digit"},
		{object{"name": "Other", "description": 5},
			"description must be a `string` type, but the final value was: `5`."},
		{object{"name": "Other", "permissions": 5},
			"permissions must be a `object` type, but the final value was: `5`."},
		{object{"name": "Other",
			"permissions": object{"api::article": object{"controllers": object{"article": object{"find": object{"enabled": 1}}}}}},
			"permissions.api::article.controllers.article.find.enabled must be a `boolean` type, but the final value was: `1`."},
		{object{"name": "Other",
			"permissions": object{"api::article": object{"controllers": object{"article": object{"fnd": object{"enabled": true}}}}}},
			`api::article.article has no action "fnd"; its actions are find, findOne, create, update, delete, history, restore, stream`},
		{[]int{1}, "Request body cannot be empty"},
		{object{}, "Request body cannot be empty"},
	} {
		if r := a.do("POST", roles, "full", c.body); (r.status == 200) != (c.message == "") ||
			r.message() != c.message {
			t.Errorf("%v: %d %s", c.body, r.status, r.text)
		}
	}
	editor := fmt.Sprint(roles, "/", a.roleID("editor"))
	if r := a.do("PUT", editor, "full", object{"name": "Public"}); r.status != 400 {
		t.Errorf("the name of another: %d %s", r.status, r.text)
	}
	jwt, id := a.register("ann")
	a.want(200, "PUT", userPath(id), "full", object{"role": a.roleID("editor")})
	a.want(403, "GET", "/api/articles", jwt, nil)
	a.want(200, "PUT", editor, "full", grant("find"))
	a.want(200, "GET", "/api/articles", jwt, nil)
	tree := a.want(200, "GET", editor, "full", nil).at("role.permissions.api::article.controllers.article").(object)
	if tree["find"].(object)["enabled"] != true || tree["create"].(object)["enabled"] != false {
		t.Errorf("%v", tree)
	}
	for kind, message := range map[string]string{"public": "Cannot delete public role",
		"authenticated": "Cannot delete authenticated role"} {
		if r := a.do("DELETE", fmt.Sprint(roles, "/", a.roleID(kind)), "full", nil); r.status != 400 ||
			r.message() != message {
			t.Errorf("%s: %d %s", kind, r.status, r.text)
		}
	}
	a.want(200, "DELETE", editor, "full", nil)
	if r := a.want(200, "GET", userPath(id)+"?populate=role", "full", nil); r.at("role.type") != "public" {
		t.Errorf("%s", r.text)
	}
	for _, id := range []string{"0", "01", "-1", "abc", "1.0", "99999999999999999999", "%20", "1%00"} {
		if r := a.do("DELETE", roles+"/"+id, "full", nil); r.status != 404 && id != "1%00" || r.status >= 500 {
			t.Errorf("%s: %d %s", id, r.status, r.text)
		}
	}
}
