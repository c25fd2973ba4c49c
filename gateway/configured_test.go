package gateway_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"strings"
	"testing"
	"time"

	"lectern/gateway"
	"lectern/shadowcrud/graphql/schema"
)

// The tests in this file configure the routes of users, files and locales, which are not generated from content types.

// fileForm returns a multipart form with one file.
func fileForm(name string, content []byte) *form { return formWith(name, string(content)) }

// formWith returns a multipart form with one file, or none if it has no name, and with fields, which are pairs of name
// and value.
func formWith(name, content string, fields ...string) *form {
	var body bytes.Buffer
	parts := multipart.NewWriter(&body)
	var errs []error
	if name != "" {
		file, err := parts.CreateFormFile("files", name)
		if err == nil {
			_, err = io.WriteString(file, content)
		}
		errs = append(errs, err)
	}
	for i := 0; i < len(fields); i += 2 {
		errs = append(errs, parts.WriteField(fields[i], fields[i+1]))
	}
	if err := errors.Join(append(errs, parts.Close())...); err != nil {
		panic(err)
	}
	return &form{Reader: &body, kind: parts.FormDataContentType()}
}

// upload sends a form to POST /api/upload. It returns the answer and the address of the first file in it.
func (a *api) upload(as string, f *form) (r reply, url string) {
	a.t.Helper()
	text, err := io.ReadAll(f)
	if err != nil {
		a.t.Fatal(err)
	}
	r = a.do("POST", "/api/upload", as, string(text), "Content-Type", f.kind)
	var files []struct{ URL string }
	if json.Unmarshal([]byte(r.text), &files) == nil && len(files) == 1 {
		url = files[0].URL
	}
	return r, url
}

// ofExample is a policy that allows registration only with an address at example.org. Like the handler after it, it
// reads the body.
func ofExample(c *gateway.PolicyContext, _ gateway.Host) (bool, error) {
	var body struct{ Email string }
	err := json.NewDecoder(gateway.CallerOf(c.Context).HTTP.Body).Decode(&body)
	return err == nil && strings.HasSuffix(body.Email, "@example.org"), nil
}

// isSomebody is a policy that admits users and callers with full access.
func isSomebody(c *gateway.PolicyContext, _ gateway.Host) (bool, error) {
	caller := gateway.CallerOf(c.Context)
	return caller.User.ID != 0 || caller.Access.AllowsAction("api::article.article.delete"), nil
}

// TestServerRoutesObeyTheProgram adds policies and middlewares to the server's own routes, by action and by method and
// path.
func TestServerRoutesObeyTheProgram(t *testing.T) {
	tr := &trace{}
	x := &gateway.Extensions{}
	x.Policy("pass", tr.policy("pass", true, nil))
	x.Policy("fail", tr.policy("fail", false, nil))
	x.Policy("of-example", ofExample)
	x.Policy("is-somebody", isSomebody)
	x.Middleware("one", tr.middleware("one"))
	x.Middleware("two", tr.middleware("two"))
	policies := func(names ...string) (c gateway.RouteConfig) {
		for _, name := range names {
			c.Policies = append(c.Policies, gateway.PolicyUse{Name: name})
		}
		return c
	}
	around := func(names ...string) (c gateway.RouteConfig) {
		for _, name := range names {
			c.Middlewares = append(c.Middlewares, gateway.MiddlewareUse{Name: name})
		}
		return c
	}
	x.Route("POST /api/auth/local/register", policies("of-example", "pass"))
	x.Route("plugin::users-permissions.auth.register", around("one", "two"))
	x.Route("plugin::users-permissions.role.find", policies("fail"))
	x.Route("GET /api/users/{id}", around("one"))
	x.Route("plugin::users-permissions.user.me", around("two"))
	x.Route("plugin::upload.content-api.upload", policies("pass"))
	x.Route("POST /API/upload/", around("one"))
	x.Route("plugin::upload.content-api.destroy", policies("fail"))
	x.Route("GET /uploads/{path:.*}", policies("is-somebody", "pass"))
	x.Route("GET /uploads/{path:.*}", around("one"))
	x.Route("plugin::i18n.locales.listLocales", policies("pass"))
	ready, _ := run(t, writeProject(t, with(nil)), gateway.Options{Ephemeral: true, Extensions: x}, nil)
	a := newAPI(t, ready)
	ann := func(name, address string) object {
		return object{"username": name, "email": name + "@" + address, "password": "secret-" + name}
	}
	jwt, _ := a.want(200, "POST", "/api/auth/local/register", "", ann("ann", "example.org")).at("jwt").(string)
	_, file := a.upload("full", fileForm("a.txt", []byte("a text")))
	if jwt == "" || file == "" {
		t.Fatalf("jwt %q, file %q", jwt, file)
	}
	const passed = "pass(<nil>), one(<nil>), "
	for _, c := range []struct {
		what             string
		method, path, as string
		body             any
		status           int
		message, calls   string
	}{
		{"a policy that reads the body lets pass", "POST", "/api/auth/local/register", "", ann("tom", "example.org"),
			200, "", passed + "two(<nil>), two saw 200, one saw 200"},
		{"it refuses", "POST", "/api/auth/local/register", "", ann("tim", "example.com"), 403, "Policy Failed", ""},
		{"however the path is written", "POST", "/API/Auth/local/Register/", "", ann("tim", "example.com"), 403,
			"Policy Failed", ""},
		{"middlewares see what the route refuses", "POST", "/api/auth/local/register", "", ann("tom", "example.org"),
			400, "Email or Username are already taken", passed + "two(<nil>), two saw 400, one saw 400"},
		{"the permission of a route stands before its policies", "GET", "/api/users-permissions/roles", jwt, nil, 403,
			"Forbidden", ""},
		{"and lets them decide", "GET", "/api/users-permissions/roles", "full", nil, 403, "Policy Failed",
			"fail(<nil>)"},
		{"a user", "GET", "/api/users/1", "full", nil, 200, "", "one(<nil>), one saw 200"},
		{"who is asked for by name, not as one of those", "GET", "/api/users/me", jwt, nil, 200, "",
			"two(<nil>), two saw 200"},
		{"a route beside is as it was", "GET", "/api/users/count", "full", nil, 200, "", ""},
		{"no permission to upload", "POST", "/api/upload", jwt, fileForm("b.txt", nil), 403, "Forbidden", ""},
		{"a file", "POST", "/api/upload", "full", fileForm("b.txt", []byte("b")), 201, "", passed + "one saw 201"},
		{"a file is not removed", "DELETE", "/api/upload/files/1", "full", nil, 403, "Policy Failed", "fail(<nil>)"},
		{"a file for a user", "GET", file, jwt, nil, 200, "", passed + "one saw 200"},
		{"a file for a token", "GET", file, "full", nil, 200, "", passed + "one saw 200"},
		{"its head", "HEAD", file, "full", nil, 200, "", passed + "one saw 200"},
		{"a file that is not there", "GET", "/uploads/nope.txt", jwt, nil, 404, "Not Found", passed + "one saw 404"},
		{"a file for nobody", "GET", file, "", nil, 403, "Policy Failed", ""},
		{"a file for who says who he is, and is not", "GET", file, "wrong", nil, 401, "Missing or invalid credentials",
			""},
		{"locales", "GET", "/api/i18n/locales", "full", nil, 200, "", "pass(<nil>)"},
		{"locales for who may not", "GET", "/api/i18n/locales", "", nil, 403, "Forbidden", ""},
	} {
		t.Run(c.what, func(t *testing.T) {
			tr.calls = nil
			var r reply
			if f, ok := c.body.(*form); ok {
				r, _ = a.upload(c.as, f)
			} else {
				r = a.do(c.method, c.path, c.as, c.body)
			}
			if r.status != c.status || r.message() != c.message {
				t.Errorf("%d %s\nwant %d %s", r.status, r.text, c.status, c.message)
			}
			if got := strings.Join(tr.calls, ", "); got != c.calls {
				t.Errorf("called %s\nwant   %s", got, c.calls)
			}
			if got, want := r.header.Get("X-one") != "", strings.Contains(c.calls, "one("); got != want {
				t.Errorf("the middleware has set its header: %v", got)
			}
		})
	}
}

// TestDeliveryOfFilesObeysTheProgram adds a middleware that sets how long caches may keep files. Without a policy,
// files are public and credentials are ignored. The server still sends ranges and its protective headers.
func TestDeliveryOfFilesObeysTheProgram(t *testing.T) {
	x := &gateway.Extensions{}
	x.Route("GET /uploads/{path:.*}",
		gateway.RouteConfig{Middlewares: []gateway.MiddlewareUse{{Func: func(next http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Cache-Control", "public, max-age=3600")
				next.ServeHTTP(w, r)
			})
		}}}})
	ready, _ := run(t, writeProject(t, with(nil)), gateway.Options{Ephemeral: true, Extensions: x}, nil)
	a := newAPI(t, ready)
	_, file := a.upload("full", fileForm("page.html", []byte("<p>0123456789</p>")))
	r := a.do("GET", file, "wrong", nil, "Range", "bytes=3-6")
	if r.status != 206 || r.text != "0123" {
		t.Errorf("%d %s", r.status, r.text)
	}
	for name, want := range map[string]string{"Cache-Control": "public, max-age=3600",
		"Content-Disposition": "attachment", "X-Content-Type-Options": "nosniff"} {
		if got := r.header.Get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

// TestRateLimitComesBeforeCodeOfPrograms expects the rate limit to be checked before any code of a program runs.
func TestRateLimitComesBeforeCodeOfPrograms(t *testing.T) {
	tr := &trace{}
	x := &gateway.Extensions{}
	x.Middleware("one", tr.middleware("one"))
	x.Route("POST /api/auth/local",
		gateway.RouteConfig{Policies: []gateway.PolicyUse{{Func: tr.policy("fail", false, nil)}}})
	x.Route("plugin::users-permissions.auth.register",
		gateway.RouteConfig{Middlewares: []gateway.MiddlewareUse{{Name: "one"}}})
	ready, _ := run(t, writeProject(t, with(plugins("    ratelimit: {max: 2}\n"))),
		gateway.Options{Ephemeral: true, Extensions: x}, nil)
	a := newAPI(t, ready)
	for _, c := range []struct{ path, calls string }{
		{"/api/auth/local", "fail(<nil>), fail(<nil>)"},
		{"/api/auth/local/register", "one(<nil>), one saw 400, one(<nil>), one saw 400"},
	} {
		tr.calls = nil
		for range 2 {
			if r := a.do("POST", c.path, "", object{}); r.status == 429 {
				t.Errorf("%s: %s", c.path, r.text)
			}
		}
		if r := a.do("POST", c.path, "", object{}); r.status != 429 || r.header.Get("Retry-After") == "" {
			t.Errorf("%s: %d %s", c.path, r.status, r.text)
		}
		if got := strings.Join(tr.calls, ", "); got != c.calls {
			t.Errorf("%s: called %s, want %s", c.path, got, c.calls)
		}
	}
}

// TestSlowUploadOutlastsTheTimeLimit sends a file for longer than the time limit of a request, but faster than
// limits.bodyRate. The server accepts it, although a middleware wraps the response writer and so hides the connection.
func TestSlowUploadOutlastsTheTimeLimit(t *testing.T) {
	tr := &trace{}
	x := &gateway.Extensions{}
	x.Middleware("one", tr.middleware("one"))
	x.Route("POST /api/upload", gateway.RouteConfig{Middlewares: []gateway.MiddlewareUse{{Name: "one"}}})
	const most = 2500 * time.Millisecond
	files := with(map[string]string{"config/server.yaml": fmt.Sprintf("timeouts: {read: %v, header: %v, request: %v, write: 10s}\n", most, most, most)})
	ready, _ := run(t, writeProject(t, files), gateway.Options{Ephemeral: true, Extensions: x}, nil)
	body, send := io.Pipe()
	parts := multipart.NewWriter(send)
	began := time.Now()
	go func() {
		file, err := parts.CreateFormFile("files", "a.bin")
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for err == nil && time.Since(began) < most+most/4 {
			<-tick.C
			_, err = file.Write(make([]byte, 32<<10))
		}
		send.CloseWithError(errors.Join(err, parts.Close()))
	}()
	req, err := http.NewRequest("POST", ready.Base+"/api/upload", body)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", parts.FormDataContentType())
	req.Header.Set("Authorization", "Bearer "+ready.Tokens["full"])
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if res.StatusCode != 201 {
		t.Errorf("%d after %v", res.StatusCode, time.Since(began))
	}
	if got := strings.Join(tr.calls, ", "); got != "one(<nil>), one saw 201" {
		t.Error(got)
	}
}

// TestPolicyRunsAgainUnderChangedDefinitions changes the definitions while a policy runs. The new generation answers
// the request: the policy runs again, and headers that a middleware sets are in the answer once. If the policy has read
// a body that is too large to be kept, the request is refused.
func TestPolicyRunsAgainUnderChangedDefinitions(t *testing.T) {
	for _, c := range []struct {
		name, path string
		body       func() any
		reads      int64 // the body as the policy read it
		want       int
		calls      int
	}{
		{"register", "/api/auth/local/register", func() any {
			return object{"username": "ann", "email": "ann@example.org", "password": "Secret-123"}
		}, 1000, 200, 2},
		{"upload", "/api/upload", func() any { return fileForm("a.bin", make([]byte, 3<<20)) }, 0, 201, 2},
		{"upload that a policy looks at", "/api/upload", func() any { return fileForm("a.txt", make([]byte, 1<<19)) },
			1000, 201, 2},
		{"a large one, which is not kept", "/api/upload", func() any { return fileForm("a.bin", make([]byte, 3<<20)) },
			1000, 503, 1},
		{"one of which the policy reads more than is kept", "/api/upload",
			func() any { return fileForm("a.bin", make([]byte, 3<<20)) }, 2 << 20, 413, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			var e *editing
			calls := 0
			x := &gateway.Extensions{}
			x.Route("POST "+c.path, gateway.RouteConfig{
				Policies: []gateway.PolicyUse{{Func: func(p *gateway.PolicyContext, _ gateway.Host) (bool, error) {
					calls++
					if _, err := io.CopyN(io.Discard, gateway.CallerOf(p.Context).HTTP.Body, c.reads); err != nil &&
						err != io.EOF {
						return false, err
					}
					if calls == 1 {
						e.write("content-types/note.yaml", noteFile("one: {type: string}"))
						e.must(e.awaitReload())
					}
					return true, nil
				}}},
				Middlewares: []gateway.MiddlewareUse{{Func: func(next http.Handler) http.Handler {
					return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
						w.Header().Add("X-Around", "once")
						next.ServeHTTP(w, r)
					})
				}}},
			})
			e = newEditingWith(t, x)
			header := e.watchHeader("X-Around")
			status, body := e.do(t.Context(), "POST", c.path, c.body())
			if status != c.want || calls != c.calls {
				t.Errorf("%d %s after %d calls, want %d after %d", status, body, calls, c.want, c.calls)
			}
			if got := fmt.Sprint(*header); status < 300 && got != "[once]" {
				t.Errorf("X-Around: %s", got)
			}
		})
	}
}

// watchHeader lets a test read the values of a header in the last answer.
func (e *editing) watchHeader(name string) *[]string {
	seen, transport := new([]string), e.client.Transport
	e.client.Transport = roundTripper(func(r *http.Request) (*http.Response, error) {
		res, err := transport.RoundTrip(r)
		if err == nil {
			*seen = res.Header.Values(name)
		}
		return res, err
	})
	return seen
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// TestRetriedRequestCountsOnce expects the rate limit to count a retried request once.
func TestRetriedRequestCountsOnce(t *testing.T) {
	var e *editing
	calls := 0
	x := &gateway.Extensions{}
	x.Route("plugin::users-permissions.auth.register",
		gateway.RouteConfig{Policies: []gateway.PolicyUse{{Func: func(*gateway.PolicyContext, gateway.Host) (bool,
			error) {
			if calls++; calls == 1 {
				e.write("content-types/note.yaml", noteFile("one: {type: string}"))
				e.must(e.awaitReload())
			}
			return true, nil
		}}}})
	e = newEditingWith(t, x)
	e.write("config/plugins.yaml", "users-permissions: {config: {ratelimit: {max: 2}}}\n")
	e.must(e.awaitReload())
	for i, want := range []int{200, 400, 429} {
		status, body := e.do(t.Context(), "POST", "/api/auth/local/register",
			object{"username": "ann", "email": "ann@example.org", "password": "Secret-123"})
		if status != want {
			t.Errorf("%d: %d %s, want %d", i, status, body, want)
		}
	}
	if calls != 3 {
		t.Errorf("the policy was called %d times, want 3: twice for the first request, and not for the last", calls)
	}
}

// TestWrongConfigurationsOfRoutesAreNamed loads configurations for routes that do not exist or that cannot have them,
// and expects the problems to be named.
func TestWrongConfigurationsOfRoutesAreNamed(t *testing.T) {
	off := map[string]string{"config/plugins.yaml": "upload: {enabled: false}\nusers-permissions: {enabled: false}\ni18n: {enabled: false}\ngraphql: {enabled: false}\n"}
	moved := map[string]string{
		"config/plugins.yaml": "graphql: {config: {endpoint: /query}}\n",
		"config/api.yaml":     "rest: {prefix: /content}\n",
	}
	scoped := gateway.RouteConfig{Scopes: []string{"plugin::upload.content-api.upload"}}
	const (
		none     = ": there is no generated route of that name, and none of users, files or locales; name it as "
		keeps    = ": a route of users, files or locales keeps the permission that it asks for"
		endpoint = ": what is asked at the GraphQL endpoint is up to each operation: give its fields policies and middlewares, by ResolversConfig"
		own      = ": the program has put a route of its own in that place; say it there"
	)
	for _, c := range []struct {
		name   string
		config gateway.RouteConfig
		files  map[string]string
		own    *gateway.Route
		want   string // "" means no problem
	}{
		{name: "POST /api/auth/local/register"},
		{name: "plugin::users-permissions.auth.callback"},
		{name: "DELETE /api/upload/files/{any}"},
		{name: "GET /api/i18n/locales"},
		{name: "GET /api/connect/{path:.*}"},
		{name: "POST /content/upload", files: moved},
		{name: "POST /api/upload", files: moved, want: none},
		{name: "POST /api/auth/register", want: none},
		{name: "PUT /api/upload", want: none},
		{name: "POST /uploads/{path:.*}", want: none},
		{name: "GET /uploads/{name}", want: none},
		{name: "plugin::upload.content-api.uplaod", want: none},
		{name: "", want: none},
		{name: "POST /api/upload", files: off, want: none},
		{name: "GET /uploads/{path:.*}", files: off, want: none},
		{name: "plugin::users-permissions.user.me", files: off, want: none},
		{name: "plugin::i18n.locales.listLocales", files: off, want: none},
		{name: "POST /graphql", files: off, want: none},
		{name: "POST /graphql", want: endpoint},
		{name: "GET /graphql/", want: endpoint},
		{name: "POST /query", files: moved, want: endpoint},
		{name: "POST /graphql", files: moved, want: none},
		{name: "POST /api/auth/local", config: gateway.RouteConfig{Open: true}, want: keeps},
		{name: "plugin::users-permissions.user.create", config: gateway.RouteConfig{Open: true}, want: keeps},
		{name: "plugin::upload.content-api.upload", config: scoped, want: keeps},
		{name: "GET /uploads/{path:.*}", config: scoped, want: keeps},
		{name: "POST /api/upload", own: &gateway.Route{Method: "POST", Path: "/api/upload", Handle: say("")},
			want: own},
		{name: "plugin::upload.content-api.findOne",
			own: &gateway.Route{Method: "GET", Path: "/api/upload/files/{file}", Handle: say("")}, want: own},
		{name: "api::article.article.find", own: &gateway.Route{Method: "GET", Path: "/api/articles", Handle: say("")},
			want: own},
		{name: "POST /api/upload", config: gateway.RouteConfig{Policies: []gateway.PolicyUse{{Name: "nope"}}},
			want: `: there is no policy "nope"; none are registered`},
	} {
		x := &gateway.Extensions{}
		x.Route(c.name, c.config)
		if c.own != nil {
			x.Handle(*c.own)
		}
		files := map[string]string{"content-types/article.yaml": typeFile("article")}
		for name, text := range c.files {
			files[name] = text
		}
		_, err := gateway.Load(writeProject(t, files), x)
		if c.want == "" {
			if err != nil {
				t.Errorf("%s: %v", c.name, err)
			}
			continue
		}
		if want := "extensions: route " + c.name + c.want; err == nil || !strings.HasPrefix(err.Error(), want) ||
			strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v\nwant %s", c.name, err, want)
		}
	}
}

// TestFieldsObeyTheirPolicies configures a policy on a GraphQL field that does the same work as a route, and expects
// the policy to refuse it.
func TestFieldsObeyTheirPolicies(t *testing.T) {
	x := &gateway.Extensions{}
	use := []gateway.PolicyUse{{Func: func(c *gateway.PolicyContext, _ gateway.Host) (bool,
		error) {
		return false, nil
	}}}
	x.Route("plugin::users-permissions.auth.register", gateway.RouteConfig{Policies: use})
	x.GraphQL().Use(schema.Extension{ResolversConfig: map[string]schema.FieldConfig{"Mutation.register": {Auth: schema.NoAuth, Policies: use}}})
	ready, _ := run(t, writeProject(t, with(nil)), gateway.Options{Ephemeral: true, Extensions: x}, nil)
	a := newAPI(t, ready)
	query := `mutation { register(input: {username: "ann", email: "ann@example.org", password: "Secret-123"}) { jwt } }`
	if r := a.do("POST", "/graphql", "", object{"query": query}); !strings.Contains(
		r.text, `"message":"Policy Failed"`) {
		t.Error(r.status, r.text)
	}
}
