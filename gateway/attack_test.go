package gateway_test

import (
	"fmt"
	"strings"
	"testing"

	"lectern/gateway"
)

// The tests in this file, attack_tokens_test.go and attack_passwords_test.go attack the server: they try to get access
// without permission, or more access than was granted. docs/security.md lists the attacks with their tests.

func changed(o object, key string, v any) object {
	c := object{}
	for k, old := range o {
		c[k] = old
	}
	if c[key] = v; v == nil {
		delete(c, key)
	}
	return c
}

// authRoutes are the routes of /api/auth, each with a body that it accepts, apart from users and codes that do not
// exist.
var authRoutes = map[string]object{
	"/api/auth/local":                   {"identifier": "ann", "password": "secret-ann"},
	"/api/auth/local/register":          {"username": "new", "email": "new@people.test", "password": "secret"},
	"/api/auth/forgot-password":         {"email": "ann@people.test"},
	"/api/auth/reset-password":          {"code": "x", "password": "secret", "passwordConfirmation": "secret"},
	"/api/auth/send-email-confirmation": {"email": "ann@people.test"},
	"/api/auth/change-password": {"currentPassword": "secret-ann", "password": "secret",
		"passwordConfirmation": "secret"},
}

// TestWrongShapesAreNotUsedAsTexts sends objects, lists and other values in place of strings to every route of
// /api/auth and of users. The server must not use any of them as a query condition, and must not answer with an
// internal error.
func TestWrongShapesAreNotUsedAsTexts(t *testing.T) {
	a := serve(t, nil)
	jwt, id := a.register("ann")
	routes := map[string]object{userPath(id): {"username": "anna", "email": "anna@people.test", "password": "secret2"}}
	for path, body := range authRoutes {
		routes[path] = body
	}
	routes["/api/users"] = object{"username": "bob", "email": "bob@people.test", "password": "secret",
		"role": a.roleID("public")}
	for path, good := range routes {
		method, as := "POST", "full"
		if path == userPath(id) {
			method = "PUT"
		}
		if strings.HasSuffix(path, "change-password") {
			a.want(200, "PUT", fmt.Sprint("/api/users-permissions/roles/", a.roleID("authenticated")), "full",
				object{"permissions": object{
					"plugin::users-permissions": object{"controllers": object{"auth": object{"changePassword": object{"enabled": true}}}}}})
			as = jwt
		}
		for key := range good {
			for _, wrong := range []any{
				object{"$ne": nil}, object{"$gt": ""}, object{"$regex": ".*"}, object{"toString": "x"}, object{},
				[]any{}, []any{"ann"},
				[]any{object{"$ne": "x"}}, 0, 1.5, true, false, []any{[]any{[]any{}}},
			} {
				if key == "role" && wrong == 0 {
					continue
				}
				body := changed(good, key, wrong)
				if r := a.do(method, path, as, body); r.status != 400 || !strings.Contains(r.text, `"path":["`+key) {
					t.Errorf("%s %s %v: %d %s", method, path, body, r.status, r.text)
				}
			}
		}
		for _, body := range []any{nil, "", "null", "[]", "[[]]", `["x"]`, `"x"`, "1", "{",
			`{"__proto__":{"identifier":"ann"}}`, "{}"} {
			if r := a.do(method, path, as, body); r.status != 400 && !(method == "PUT" && r.status == 200) {
				t.Errorf("%s %s %v: %d %s", method, path, body, r.status, r.text)
			}
		}
		if method == "POST" {
			for _, form := range []string{"identifier[$ne]=x&password[$ne]=x", "email[]=ann@people.test",
				"code[$ne]=x&password=secret&passwordConfirmation=secret"} {
				if r := a.do(method, path, as, form, "Content-Type",
					"application/x-www-form-urlencoded"); r.status != 400 {
					t.Errorf("%s %s %s: %d %s", method, path, form, r.status, r.text)
				}
			}
		}
	}
	for _, query := range []string{"", "?confirmation", "?confirmation=", "?confirmation[$ne]=x", "?confirmation[]=x",
		"?confirmation=x&confirmation=y", "?confirmation[$null]=true"} {
		if r := a.do("GET", "/api/auth/email-confirmation"+query, "", nil); r.status != 400 {
			t.Errorf("%s: %d %s", query, r.status, r.text)
		}
	}
	if users, _ := a.want(200, "GET", "/api/users", "full", nil).body.([]any); len(users) != 1 {
		t.Errorf("%d users are left, want 1", len(users))
	}
}

// TestMassAssignmentIsRefused sends attributes that the sender may not set, such as a role or an id, in every kind of
// write. The server refuses or ignores them.
func TestMassAssignmentIsRefused(t *testing.T) {
	a := serve(t, nil)
	good := object{"username": "eve", "email": "eve@people.test", "password": "secret"}
	for key, v := range map[string]any{
		"role": a.roleID("keeper"), "confirmed": true, "blocked": false, "provider": "github", "id": 1,
		"documentId":         "abcdefghijklmnopqrstuvwx",
		"resetPasswordToken": "mine", "confirmationToken": "mine", "createdAt": "2020-01-01T00:00:00.000Z",
		"createdBy": 1, "__proto__": object{"role": 1},
		"constructor": object{"prototype": object{"role": 1}}, "Role": 1, "role.id": 1, "data": object{"role": 1},
	} {
		if r := a.do("POST", "/api/auth/local/register", "", changed(good, key, v)); r.status != 400 {
			t.Errorf("register with %s: %d %s", key, r.status, r.text)
		}
	}
	for _, form := range []string{"role=1", "role[connect][0][id]=1", "confirmed=true"} {
		if r := a.do("POST", "/api/auth/local/register", "", "username=eve&email=eve@people.test&password=secret&"+form,
			"Content-Type", "application/x-www-form-urlencoded"); r.status != 400 {
			t.Errorf("register with %s: %d %s", form, r.status, r.text)
		}
	}
	r := a.want(201, "POST", "/api/users", "full", object{
		"username": "bob", "email": "bob@people.test", "password": "secret", "role": a.roleID("public"),
		"provider": "github",
		"id":       999, "documentId": "abcdefghijklmnopqrstuvwx", "createdAt": "2020-01-01T00:00:00.000Z",
		"updatedAt": "2020-01-01T00:00:00.000Z",
		"createdBy": 1, "localizations": []any{1}, "locale": "fr", "publishedAt": nil, "nope": 1,
	})
	bob := int(r.at("id").(float64))
	if bob == 999 || r.at("documentId") == "abcdefghijklmnopqrstuvwx" || r.at("provider") != "local" ||
		strings.HasPrefix(r.at("createdAt").(string), "2020") || r.at("publishedAt") == nil {
		t.Errorf("created: %s", r.text)
	}
	r = a.want(200, "PUT", userPath(bob), "full", object{
		"id": 999, "documentId": "abcdefghijklmnopqrstuvwx", "createdAt": "2020-01-01T00:00:00.000Z", "nope": 1,
		"localizations": []any{1},
	})
	if int(r.at("id").(float64)) != bob || r.at("documentId") == "abcdefghijklmnopqrstuvwx" ||
		strings.HasPrefix(r.at("createdAt").(string), "2020") {
		t.Errorf("updated: %s", r.text)
	}
	// A user who may write articles cannot link users to them or change users through them.
	jwt, id := a.register("ann")
	for _, data := range []object{
		{"author": id}, {"author": object{"connect": []any{id}}},
		{"author": object{"id": id, "role": a.roleID("keeper")}},
		{"parts": []any{object{"label": "x", "reader": id}}},
		{"zone": []any{object{"__component": "page.part", "reader": id}}},
		{"related": []any{object{"id": 1, "author": id}}},
		{"parts": []any{object{"label": "x", "reader": object{"connect": []any{object{"id": id, "blocked": true}}}}}},
		{"id": 5}, {"documentId": "abcdefghijklmnopqrstuvwx"}, {"createdBy": 1}, {"updatedBy": 1},
		{"createdAt": "2020-01-01T00:00:00.000Z"},
	} {
		if r := a.do("POST", "/api/articles", jwt, object{"data": data}); r.status != 400 {
			t.Errorf("an article with %v: %d %s", data, r.status, r.text)
		}
	}
	if r := a.want(200, "GET", "/api/users/"+fmt.Sprint(id)+"?populate=role", "full", nil); r.at(
		"role.type") != "authenticated" || r.at("blocked") != false {
		t.Errorf("ann has become %s", r.text)
	}
}

// TestHostIsNotBelieved requests a mail with forged headers about the server's address, such as Host and
// X-Forwarded-Host, and expects the link in the mail to lead to the configured address.
func TestHostIsNotBelieved(t *testing.T) {
	box := newMailbox(t)
	files := plugins(noRateLimit + "    email:\n      " + box.config() + "\n")
	files["config/server.yaml"] = "url: https://www.people.test"
	a := serve(t, files)
	a.register("ann")
	a.want(200, "POST", "/api/auth/forgot-password", "", object{"email": "ann@people.test"}, "Host", "evil.test",
		"X-Forwarded-Host", "evil.test", "Forwarded", "host=evil.test", "Origin", "https://evil.test", "Referer",
		"https://evil.test/")
	if mail := box.next(); !strings.Contains(mail.body, "https://www.people.test?code=") ||
		strings.Contains(mail.body, "evil.test") {
		t.Errorf("%s", mail.body)
	}
}

// TestMailHeadersCannotBeInjected tries to inject mail headers through names and addresses.
func TestMailHeadersCannotBeInjected(t *testing.T) {
	box := newMailbox(t)
	a := serve(t, plugins(noRateLimit+"    email:\n      "+box.config()+`
      templates:
        reset_password: {object: "For <%= USER.username %>", message: "<%= USER.username %>: <%= TOKEN %>"}
`))
	for _, address := range []string{"ann@people.test\r\nBcc: eve@people.test", "ann@people.test,eve@people.test",
		"<ann@people.test>", "ann@people.test\n", "Ann <ann@people.test>", "\"a\r\nBcc: x\"@people.test",
		"ann@people.test\x00"} {
		for _, path := range []string{"/api/auth/forgot-password", "/api/auth/send-email-confirmation"} {
			if r := a.do("POST", path, "", object{"email": address}); r.status != 400 {
				t.Errorf("%s %q: %d %s", path, address, r.status, r.text)
			}
		}
		if r := a.do("POST", "/api/auth/local/register", "",
			object{"username": "xxx", "email": address, "password": "secret"}); r.status != 400 {
			t.Errorf("register %q: %d %s", address, r.status, r.text)
		}
	}
	name := "ann\r\nBcc: eve@people.test\r\n\r\n<%= TOKEN %>"
	a.want(200, "POST", "/api/auth/local/register", "",
		object{"username": name, "email": "ann@people.test", "password": "secret"})
	a.want(200, "POST", "/api/auth/forgot-password", "", object{"email": "ann@people.test"})
	mail := box.next()
	if mail.to != "<ann@people.test>" || mail.header.Get("Bcc") != "" ||
		mail.header.Get("Subject") != "For annBcc: eve@people.test<%= TOKEN %>" {
		t.Errorf("to %s: %q", mail.to, mail.header)
	}
	if strings.Count(mail.body, "<%= TOKEN %>: ") != 1 {
		t.Errorf("a name was taken for a template: %s", mail.body)
	}
}

// TestRedirectsGoToTheConfiguredPage confirms an address with every parameter that could name a page to redirect to,
// and expects the server to ignore them. It also expects settings that name an unsafe page to be refused.
func TestRedirectsGoToTheConfiguredPage(t *testing.T) {
	a := serve(t, nil)
	_, id := a.register("ann")
	for _, query := range []string{"redirect=https://evil.test", "redirectUrl=//evil.test", "url=https://evil.test",
		"callback=https://evil.test", "next=https://evil.test", "confirmation_redirection=https://evil.test"} {
		a.want(200, "PUT", userPath(id), "full", object{"confirmationToken": "a-code"})
		r := a.do("GET", "/api/auth/email-confirmation?confirmation=a-code&"+query, "", nil, "Referer",
			"https://evil.test", "X-Forwarded-Host", "evil.test")
		if r.status != 302 || r.header.Get("Location") != "/" || strings.Contains(r.text, "evil") {
			t.Errorf("%s: %d %v %s", query, r.status, r.header, r.text)
		}
	}
	for _, setting := range []string{"//evil.test", `/\evil.test`, "javascript:alert(1)", "javascript://x/%0aalert(1)",
		"data://x/,x", "evil.test", "", "https://user:pw@evil.test", "/a b"} {
		for _, key := range []string{"email_confirmation_redirection", "email_reset_password"} {
			if key == "email_reset_password" && setting == "" {
				continue
			}
			dir := writeProject(t, with(plugins(fmt.Sprintf("    %s: %q\n", key, setting))))
			if _, err := gateway.Load(dir, nil); err == nil ||
				!strings.Contains(err.Error(), "config/plugins.yaml:4: "+key+" must be") {
				t.Errorf("%s: %q: %v", key, setting, err)
			}
		}
	}
	a.want(400, "GET", "/api/connect/github?callback=https://evil.test", "", nil)
	a.want(400, "GET", "/api/auth/github/callback?access_token=x&redirect=https://evil.test", "", nil)
}
