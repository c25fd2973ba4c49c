package accounts_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"lectern/gateway"
	"lectern/internal/servertest"
)

// serve serves a project that anybody may register at, and whose tokens may do some of what administrators do.
func serve(t *testing.T, plugins string) gateway.Ready {
	t.Helper()
	const users = "plugin::users-permissions."
	return servertest.Serve(t, servertest.WriteProject(t, map[string]string{
		"content-types/note.yaml": "kind: collectionType\ninfo: {singularName: note, pluralName: notes, displayName: N}\n" +
			"attributes: {title: {type: string}}\n",
		"config/plugins.yaml": "users-permissions: {config: {" + plugins + "}}\n",
		"config/permissions.yaml": `
roles:
  public:
    plugin::users-permissions.auth: [callback, connect, register, logout, emailConfirmation]
  authenticated:
    plugin::users-permissions.auth: [changePassword]
    plugin::users-permissions.user: [me]
tokens:
  - name: desk
    type: custom
    permissions: [` + users + `user.find, ` + users + `user.findOne, ` + users + `user.count]
  - {name: clerk, type: custom, permissions: [` + users + `user.create, ` + users + `role.find]}
`,
	}), nil)
}

const unlimited = "ratelimit: {enabled: false}"

// register registers a user and returns the id and a JWT.
func register(t *testing.T, s gateway.Ready, name string) (id int, jwt string) {
	t.Helper()
	body := servertest.Exchange{Method: "POST", Path: "/api/auth/local/register", Status: 200, Want: `"user":{"id":`,
		Body: fmt.Sprintf(`{"username":%q,"email":"%s@people.test","password":"secret-%s"}`, name, name, name)}.Send(t, s)
	var session struct {
		JWT  string
		User struct{ ID int }
	}
	if err := json.Unmarshal([]byte(body), &session); err != nil || session.JWT == "" || session.User.ID == 0 {
		t.Fatalf("%s (%v)", body, err)
	}
	return session.User.ID, session.JWT
}

// TestUsersLogIn logs in and changes a password. No answer shows a password, not even its hash.
func TestUsersLogIn(t *testing.T) {
	s := serve(t, unlimited)
	_, jwt := register(t, s, "ann")
	const password = `{"currentPassword":"secret-ann","password":"another","passwordConfirmation":"another"}`
	for _, e := range []servertest.Exchange{
		{Method: "POST", Path: "/auth/local", Body: `{"identifier":"ann","password":"secret-ann"}`, Status: 200,
			Want: `{"jwt":"`},
		{Method: "POST", Path: "/auth/local", Body: `{"identifier":"ANN@people.test","password":"secret-ann"}`,
			Status: 200, Want: `"username":"ann"`},
		{Method: "POST", Path: "/auth/local", Body: `{"identifier":"ann","password":"wrong"}`, Status: 400,
			Want: "Invalid identifier or password"},
		{Method: "POST", Path: "/auth/local", Body: `[]`, Status: 400, Want: "ValidationError"},
		{Method: "POST", Path: "/auth/local", Body: `{"identifier":"ann","password":"secret-ann"}`, Status: 400,
			Header: http.Header{"Idempotency-Key": {"k"}}, Want: "Idempotency-Key"},
		{Method: "GET", Path: "/users/me", As: jwt, Status: 200, Want: `"email":"ann@people.test"`},
		{Method: "GET", Path: "/users/me", Status: 403, Want: "Forbidden"},
		{Method: "GET", Path: "/users/me", As: "full", Status: 401, Want: "Unauthorized"},
		{Method: "POST", Path: "/auth/change-password", Body: password, Status: 403, Want: "Forbidden"},
		{Method: "POST", Path: "/auth/change-password", As: jwt, Body: password, Status: 200, Want: `{"jwt":"`},
		{Method: "POST", Path: "/auth/local", Body: `{"identifier":"ann","password":"secret-ann"}`, Status: 400,
			Want: "Invalid identifier or password"},
		{Method: "POST", Path: "/auth/local", Body: `{"identifier":"ann","password":"another"}`, Status: 200,
			Want: `"username":"ann"`},
	} {
		e.Path = "/api" + e.Path
		if body := e.Send(t, s); containsAny(body, "another", "secret-ann", "$2", `"password"`) {
			t.Errorf("%s %s shows a password: %s", e.Method, e.Path, body)
		}
	}
}

func containsAny(text string, parts ...string) bool {
	return slices.ContainsFunc(parts, func(part string) bool { return strings.Contains(text, part) })
}

// TestOtherServicesAreRefused asks for what a server has only if it is configured: login by other services, and
// sessions.
func TestOtherServicesAreRefused(t *testing.T) {
	s := serve(t, unlimited)
	for _, e := range []servertest.Exchange{
		{Method: "GET", Path: "/auth/github/callback", Status: 400, Want: "provider"},
		{Method: "GET", Path: "/auth/local/callback", Status: 400, Want: "identifier"},
		{Method: "GET", Path: "/connect/github/x", Status: 400, Want: "provider"},
		{Method: "POST", Path: "/auth/logout", Status: 404, Want: "NotFoundError"},
		{Method: "POST", Path: "/auth/refresh", Status: 404, Want: "NotFoundError"},
	} {
		e.Path = "/api" + e.Path
		e.Send(t, s)
	}
}

// TestEmailIsConfirmedByGet expects HEAD to confirm nothing, since mail programs send it to check links.
func TestEmailIsConfirmedByGet(t *testing.T) {
	s := serve(t, unlimited)
	for _, e := range []servertest.Exchange{
		{Method: "HEAD", Status: 204, Want: "-"},
		{Method: "GET", Status: 400, Want: "Invalid token"},
	} {
		e.Path = "/api/auth/email-confirmation?confirmation=unknown"
		e.Send(t, s)
	}
}

// TestLoginsAreLimited expects an address to be refused after it has logged in too often.
func TestLoginsAreLimited(t *testing.T) {
	s := serve(t, "ratelimit: {interval: {min: 5}, max: 2}")
	login := servertest.Exchange{Method: "POST", Path: "/api/auth/local", Body: `{"identifier":"x","password":"yyyyyy"}`,
		Status: 400}
	login.Send(t, s)
	login.Send(t, s)
	login.Status, login.Want = 429, "RateLimitError"
	login.Send(t, s)
}

// TestUsersAreAdministered creates, reads, changes and deletes users.
func TestUsersAreAdministered(t *testing.T) {
	s := serve(t, unlimited)
	id, _ := register(t, s, "ann")
	path := fmt.Sprintf("/users/%d", id)
	for _, e := range []servertest.Exchange{
		{Method: "GET", Path: "/users", As: "desk", Status: 200, Want: `[{"id":`},
		{Method: "GET", Path: "/users?filters[username]=bob", As: "desk", Status: 200, Want: `[]`},
		{Method: "GET", Path: "/users?sort=nothing", As: "desk", Status: 400, Want: "Invalid key nothing"},
		{Method: "GET", Path: "/users", Status: 403, Want: "Forbidden"},
		{Method: "GET", Path: "/users/count", As: "desk", Status: 200, Want: `1`},
		{Method: "GET", Path: path, As: "desk", Status: 200, Want: `"username":"ann"`},
		{Method: "GET", Path: path, As: "clerk", Status: 403, Want: "Forbidden"},
		{Method: "GET", Path: "/users/999", As: "desk", Status: 204, Want: "-"},
		{Method: "GET", Path: "/users/x", As: "desk", Status: 204, Want: "-"},
		{Method: "POST", Path: "/users", As: "clerk", Status: 400, Want: "username",
			Body: `{"email":"bob@people.test","password":"secret-bob","role":1}`},
		{Method: "POST", Path: "/users", As: "full", Status: 201, Want: `"role":{"id":1,`,
			Body: `{"username":"bob","email":"bob@people.test","password":"secret-bob","role":1}`},
		{Method: "POST", Path: "/users", As: "full", Status: 400, Want: "already taken",
			Body: `{"username":"eve","email":"bob@people.test","password":"secret-bob","role":1}`},
		{Method: "PUT", Path: path, As: "full", Body: `{"username":"anna"}`, Status: 200, Want: `"username":"anna"`},
		{Method: "PUT", Path: path, As: "desk", Body: `{"username":"eve"}`, Status: 403, Want: "Forbidden"},
		{Method: "PUT", Path: "/users/me", As: "full", Body: `{"username":"eve"}`, Status: 404, Want: "NotFoundError"},
		{Method: "PUT", Path: "/users/999", As: "full", Body: `{"username":"eve"}`, Status: 404, Want: "NotFoundError"},
		{Method: "DELETE", Path: path, As: "desk", Status: 403, Want: "Forbidden"},
		{Method: "DELETE", Path: path, As: "full", Status: 200, Want: `"username":"anna"`},
		{Method: "GET", Path: path, As: "desk", Status: 204, Want: "-"},
		{Method: "GET", Path: "/users/count", As: "desk", Status: 200, Want: `1`},
	} {
		e.Path = "/api" + e.Path
		e.Send(t, s)
	}
}

// TestRequestsWithKeysAreCarriedOutOnce repeats requests that write with the same key.
func TestRequestsWithKeysAreCarriedOutOnce(t *testing.T) {
	s := serve(t, unlimited)
	for i, e := range []servertest.Exchange{
		{Method: "POST", Path: "/api/users", Status: 201,
			Body: `{"username":"bob","email":"bob@people.test","password":"secret-bob","role":1}`},
		{Method: "POST", Path: "/api/users-permissions/roles", Body: `{"name":"Editor","description":"d","permissions":{}}`,
			Status: 200},
	} {
		e.As, e.Header = "full", http.Header{"Idempotency-Key": {fmt.Sprint("key", i)}}
		first := e.Send(t, s)
		if again := e.Send(t, s); again != first {
			t.Errorf("%s: %s, first %s", e.Path, again, first)
		}
	}
	for path, want := range map[string]string{"/api/users/count": "1", "/api/users-permissions/roles": `"name":"Editor"`} {
		servertest.Exchange{Method: "GET", Path: path, As: "full", Status: 200, Want: want}.Send(t, s)
	}
}

// TestRolesAreAdministered creates, reads, changes and deletes roles.
func TestRolesAreAdministered(t *testing.T) {
	s := serve(t, unlimited)
	register(t, s, "ann")
	const may = `"permissions":{"api::note":{"controllers":{"note":{"find":{"enabled":true}}}}}`
	for _, e := range []servertest.Exchange{
		{Method: "GET", As: "clerk", Status: 200, Want: `"nb_users":1`},
		{Method: "GET", As: "desk", Status: 403, Want: "Forbidden"},
		{Method: "POST", As: "clerk", Status: 403, Want: "Forbidden", Body: `{}`},
		{Method: "POST", As: "full", Status: 400, Want: "Error", Body: `{}`},
		{Method: "POST", As: "full", Status: 200, Want: `{"ok":true}`,
			Body: `{"name":"Editor","description":"d",` + may + `}`},
		{Method: "GET", Path: "/3", As: "full", Status: 200, Want: `"find":{"enabled":true`},
		{Method: "GET", Path: "/3", As: "full", Status: 200, Want: `"create":{"enabled":false`},
		{Method: "PUT", Path: "/3", As: "full", Status: 200, Want: `{"ok":true}`, Body: `{"name":"Chief","description":"d"}`},
		{Method: "GET", Path: "/3", As: "full", Status: 200, Want: `{"role":{"id":3,`},
		{Method: "GET", As: "clerk", Status: 200, Want: `"name":"Chief"`},
		{Method: "DELETE", Path: "/3", As: "full", Status: 200, Want: `{"ok":true}`},
		{Method: "GET", Path: "/3", As: "full", Status: 404, Want: "Error"},
		{Method: "DELETE", Path: "/x", As: "full", Status: 404, Want: "Error"},
	} {
		e.Path = "/api/users-permissions/roles" + e.Path
		e.Send(t, s)
	}
	servertest.Exchange{Method: "GET", Path: "/api/users-permissions/permissions", As: "full", Status: 200,
		Want: `{"permissions":{"api::note":{"controllers":{"note":{"find":`}.Send(t, s)
}

// TestUsersSeeTheirRole expects a caller to see the role of a user if the caller may read roles.
func TestUsersSeeTheirRole(t *testing.T) {
	s := serve(t, unlimited)
	id, jwt := register(t, s, "ann")
	for as, sees := range map[string]bool{"full": true, "desk": false, jwt: false} {
		path := fmt.Sprintf("/api/users/%d?populate=*", id)
		if as == jwt {
			path = "/api/users/me?populate=*"
		}
		body := servertest.Exchange{Method: "GET", Path: path, As: as, Status: 200}.Send(t, s)
		if strings.Contains(body, `"role":{`) != sees {
			t.Errorf("%.10s: %s", as, body)
		}
	}
}
