package gateway_test

import (
	"crypto"
	"crypto/hmac"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"hash"
	"slices"
	"strings"
	"testing"
	"time"

	"lectern/gateway"
)

// The tests in this file attack the server: they try to get access without permission, or more access than was granted. docs/security.md
// lists the attacks with their tests.

func encode(v any) string {
	text, _ := json.Marshal(v)
	return base64.RawURLEncoding.EncodeToString(text)
}

// signed builds and signs a JWT without the server.
func signed(header, payload object, newHash func() hash.Hash, key []byte) string {
	text := encode(header) + "." + encode(payload)
	mac := hmac.New(newHash, key)
	mac.Write([]byte(text))
	return text + "." + base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// payloadOf returns the decoded header and payload of a JWT.
func payloadOf(t *testing.T, jwt string) (header, payload object) {
	t.Helper()
	parts := strings.Split(jwt, ".")
	for i, into := range []*object{&header, &payload} {
		text, err := base64.RawURLEncoding.DecodeString(parts[i])
		if err == nil {
			err = json.Unmarshal(text, into)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return header, payload
}

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

// TestForgedTokens sends JWTs that the server did not create. The server refuses even those that are signed with its own secret, unless the
// algorithm and all claims are right.
func TestForgedTokens(t *testing.T) {
	a := serve(t, nil)
	jwt, id := a.register("ann")
	header, payload := payloadOf(t, jwt)
	if header["alg"] != "HS256" || payload["id"] != float64(id) || payload["exp"].(float64)-payload["iat"].(float64) != 30*24*60*60 {
		t.Errorf("%v %v", header, payload)
	}
	key, now := []byte(testSecret), float64(time.Now().Unix())
	again := signed(header, payload, sha256.New, key)
	if again != jwt {
		t.Fatalf("signed by hand: %s, want %s", again, jwt)
	}
	a.want(200, "GET", "/api/users/me", again, nil)
	parts := strings.Split(jwt, ".")

	private, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	rs256 := func(header object) string {
		text := encode(header) + "." + encode(payload)
		sum := sha256.Sum256([]byte(text))
		signature, err := rsa.SignPKCS1v15(rand.Reader, private, crypto.SHA256, sum[:])
		if err != nil {
			t.Fatal(err)
		}
		return text + "." + base64.RawURLEncoding.EncodeToString(signature)
	}
	jwk := object{"kty": "oct", "k": base64.RawURLEncoding.EncodeToString([]byte("mine"))}
	rsaJWK := object{"kty": "RSA", "e": "AQAB", "n": base64.RawURLEncoding.EncodeToString(private.N.Bytes())}
	hs := func(key []byte) string { return signed(header, payload, sha256.New, key) }

	for name, token := range map[string]string{
		"alg none":                  encode(object{"alg": "none"}) + "." + parts[1] + ".",
		"alg none, signed":          encode(object{"alg": "none"}) + "." + parts[1] + "." + parts[2],
		"alg NONE":                  encode(object{"alg": "NONE"}) + "." + parts[1] + ".",
		"alg empty":                 encode(object{"alg": ""}) + "." + parts[1] + ".",
		"no alg":                    encode(object{"typ": "JWT"}) + "." + parts[1] + "." + parts[2],
		"no alg, signed":            signed(object{"typ": "JWT"}, payload, sha256.New, key),
		"alg none, signed as HS256": signed(object{"alg": "none"}, payload, sha256.New, key),
		"alg HS512":                 signed(object{"alg": "HS512"}, payload, sha512.New, key),
		"alg HS384":                 signed(object{"alg": "HS384"}, payload, sha512.New384, key),
		"alg HS512, says HS256":     signed(header, payload, sha512.New, key),
		"alg RS256":                 rs256(object{"alg": "RS256"}),
		"alg RS256, says HS256":     rs256(object{"alg": "HS256"}),
		"alg RS256 with its key":    rs256(object{"alg": "RS256", "jwk": rsaJWK}),
		"HS256 by the public key":   hs(private.N.Bytes()),
		"HS256 by no key":           hs(nil),
		"HS256 by another key":      hs([]byte("another")),
		"a key of its own":          signed(object{"alg": "HS256", "jwk": jwk}, payload, sha256.New, []byte("mine")),
		"kid of a file":             signed(object{"alg": "HS256", "kid": "/dev/null"}, payload, sha256.New, nil),
		"kid of a file above":       signed(object{"alg": "HS256", "kid": "../../../../dev/null"}, payload, sha256.New, nil),
		"kid of SQL":                signed(object{"alg": "HS256", "kid": "x' UNION SELECT 'mine"}, payload, sha256.New, []byte("mine")),
		"jku":                       signed(object{"alg": "HS256", "jku": a.Base + "/keys", "kid": "1"}, payload, sha256.New, []byte("mine")),
		"x5u":                       rs256(object{"alg": "RS256", "x5u": a.Base + "/keys"}),
		"JWE dir":                   encode(object{"alg": "dir", "enc": "A256GCM"}) + "..AAAAAAAAAAAAAAAA." + parts[1] + ".AAAAAAAAAAAAAAAAAAAAAA",
		"JWE, signed":               signed(object{"alg": "HS256", "enc": "A256GCM"}, payload, sha256.New, key) + ".x.y",
		"JSON form":                 `{"protected":"` + parts[0] + `","payload":"` + parts[1] + `","signature":"` + parts[2] + `"}`,
		"JSON form of several":      `{"payload":"` + parts[1] + `","signatures":[{"protected":"` + parts[0] + `","signature":"` + parts[2] + `"}]}`,
		"a part more":               jwt + ".x",
		"a part less":               parts[0] + "." + parts[1],
		"no signature":              parts[0] + "." + parts[1] + ".",
		"half a signature":          jwt[:len(jwt)-20],
		"another payload":           parts[0] + "." + encode(changed(payload, "id", id+1)) + "." + parts[2],
		"expired":                   signed(header, changed(payload, "exp", now-1), sha256.New, key),
		"expires now":               signed(header, changed(payload, "exp", now), sha256.New, key),
		"without an end":            signed(header, changed(payload, "exp", nil), sha256.New, key),
		"an end that is no number":  signed(header, changed(payload, "exp", "later"), sha256.New, key),
		"not yet":                   signed(header, changed(payload, "nbf", now+600), sha256.New, key),
		"without a user":            signed(header, changed(payload, "id", nil), sha256.New, key),
		"a user by name":            signed(header, changed(payload, "id", "ann"), sha256.New, key),
		"a user by text":            signed(header, changed(payload, "id", fmt.Sprint(id)), sha256.New, key),
		"half a user":               signed(header, changed(payload, "id", float64(id)+0.5), sha256.New, key),
		"a list of users":           signed(header, changed(payload, "id", []any{id}), sha256.New, key),
		"user 0":                    signed(header, changed(payload, "id", 0), sha256.New, key),
		"user -1":                   signed(header, changed(payload, "id", -1), sha256.New, key),
		"a payload that is a list":  signedText(header, `[1]`, key),
		"a payload that is no JSON": signedText(header, `{`, key),
		"far too long":              jwt + strings.Repeat("A", 8000),
		"no base64":                 parts[0] + ".!\"§$." + parts[2],
	} {
		for _, path := range []string{"/api/users/me", "/api/articles"} {
			if r := a.do("GET", path, token, nil); r.status != 401 || r.message() != "Missing or invalid credentials" {
				t.Errorf("%s: GET %s: %d %s", name, path, r.status, r.text)
			}
		}
	}
	// All claims are right, but the token was not created for the user's current password.
	for name, token := range map[string]string{
		"no stamp":       signed(header, changed(payload, "stamp", nil), sha256.New, key),
		"an empty stamp": signed(header, changed(payload, "stamp", ""), sha256.New, key),
		"another stamp":  signed(header, changed(payload, "stamp", "AAAAAAAAAAAAAAAAAAAAAA"), sha256.New, key),
		"a list":         signed(header, changed(payload, "stamp", []any{payload["stamp"]}), sha256.New, key),
		"another user":   signed(header, changed(payload, "id", 987654), sha256.New, key),
	} {
		if r := a.do("GET", "/api/articles", token, nil); r.status != 401 || r.message() != "Invalid credentials" {
			t.Errorf("%s: %d %s", name, r.status, r.text)
		}
	}
}

func signedText(header object, payload string, key []byte) string {
	text := encode(header) + "." + base64.RawURLEncoding.EncodeToString([]byte(payload))
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(text))
	return text + "." + base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// TestTokensEnd revokes the tokens of users in every possible way, and expects each token to be refused at once.
func TestTokensEnd(t *testing.T) {
	a := serve(t, nil)
	for name, end := range map[string]func(jwt string, id int){
		"blocked": func(_ string, id int) { a.want(200, "PUT", userPath(id), "full", object{"blocked": true}) },
		"deleted": func(_ string, id int) { a.want(200, "DELETE", userPath(id), "full", nil) },
		"changed": func(jwt string, _ int) {
			fresh, _ := a.want(200, "POST", "/api/auth/change-password", jwt, object{
				"currentPassword": "secret-changed", "password": "another", "passwordConfirmation": "another"}).at("jwt").(string)
			a.want(200, "GET", "/api/users/me", fresh, nil)
		},
		"reset": func(_ string, id int) {
			a.want(200, "PUT", userPath(id), "full", object{"resetPasswordToken": "a-code"})
			a.want(200, "POST", "/api/auth/reset-password", "", object{"code": "a-code", "password": "another", "passwordConfirmation": "another"})
		},
		"anew": func(_ string, id int) {
			a.want(200, "PUT", userPath(id), "full", object{"password": "another"})
		},
	} {
		jwt, id := a.register(name)
		second := a.login(name, "secret-"+name) // within the same second
		a.want(200, "GET", "/api/users/me", jwt, nil)
		end(jwt, id)
		for _, token := range []string{jwt, second} {
			for _, path := range []string{"/api/users/me", "/api/articles"} {
				if r := a.do("GET", path, token, nil); r.status != 401 || r.message() != "Invalid credentials" {
					t.Errorf("%s: GET %s: %d %s", name, path, r.status, r.text)
				}
			}
		}
	}
	jwt, id := a.register("moved")
	a.want(200, "GET", "/api/users/me", jwt, nil)
	a.want(200, "PUT", userPath(id), "full", object{"role": a.roleID("public")})
	a.want(403, "GET", "/api/users/me", jwt, nil) // the token is still valid, but its user has lost the permission
}

// authRoutes are the routes of /api/auth, each with a body that it accepts, apart from users and codes that do not exist.
var authRoutes = map[string]object{
	"/api/auth/local":                   {"identifier": "ann", "password": "secret-ann"},
	"/api/auth/local/register":          {"username": "new", "email": "new@people.test", "password": "secret"},
	"/api/auth/forgot-password":         {"email": "ann@people.test"},
	"/api/auth/reset-password":          {"code": "x", "password": "secret", "passwordConfirmation": "secret"},
	"/api/auth/send-email-confirmation": {"email": "ann@people.test"},
	"/api/auth/change-password":         {"currentPassword": "secret-ann", "password": "secret", "passwordConfirmation": "secret"},
}

// TestWrongShapes sends objects, lists and other values in place of strings to every route of /api/auth and of users. The server must not
// use any of them as a query condition, and must not answer with an internal error.
func TestWrongShapes(t *testing.T) {
	a := serve(t, nil)
	jwt, id := a.register("ann")
	routes := map[string]object{userPath(id): {"username": "anna", "email": "anna@people.test", "password": "secret2"}}
	for path, body := range authRoutes {
		routes[path] = body
	}
	routes["/api/users"] = object{"username": "bob", "email": "bob@people.test", "password": "secret", "role": a.roleID("public")}
	for path, good := range routes {
		method, as := "POST", "full"
		if path == userPath(id) {
			method = "PUT"
		}
		if strings.HasSuffix(path, "change-password") {
			a.want(200, "PUT", fmt.Sprint("/api/users-permissions/roles/", a.roleID("authenticated")), "full", object{"permissions": object{
				"plugin::users-permissions": object{"controllers": object{"auth": object{"changePassword": object{"enabled": true}}}}}})
			as = jwt
		}
		for key := range good {
			for _, wrong := range []any{
				object{"$ne": nil}, object{"$gt": ""}, object{"$regex": ".*"}, object{"toString": "x"}, object{}, []any{}, []any{"ann"},
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
		for _, body := range []any{nil, "", "null", "[]", "[[]]", `["x"]`, `"x"`, "1", "{", `{"__proto__":{"identifier":"ann"}}`, "{}"} {
			if r := a.do(method, path, as, body); r.status != 400 && !(method == "PUT" && r.status == 200) {
				t.Errorf("%s %s %v: %d %s", method, path, body, r.status, r.text)
			}
		}
		if method == "POST" {
			for _, form := range []string{"identifier[$ne]=x&password[$ne]=x", "email[]=ann@people.test", "code[$ne]=x&password=secret&passwordConfirmation=secret"} {
				if r := a.do(method, path, as, form, "Content-Type", "application/x-www-form-urlencoded"); r.status != 400 {
					t.Errorf("%s %s %s: %d %s", method, path, form, r.status, r.text)
				}
			}
		}
	}
	for _, query := range []string{"", "?confirmation", "?confirmation=", "?confirmation[$ne]=x", "?confirmation[]=x", "?confirmation=x&confirmation=y", "?confirmation[$null]=true"} {
		if r := a.do("GET", "/api/auth/email-confirmation"+query, "", nil); r.status != 400 {
			t.Errorf("%s: %d %s", query, r.status, r.text)
		}
	}
	if users, _ := a.want(200, "GET", "/api/users", "full", nil).body.([]any); len(users) != 1 {
		t.Errorf("%d users are left, want 1", len(users))
	}
}

// TestMassAssignment sends attributes that the sender may not set, such as a role or an id, in every kind of write. The server refuses or
// ignores them.
func TestMassAssignment(t *testing.T) {
	a := serve(t, nil)
	good := object{"username": "eve", "email": "eve@people.test", "password": "secret"}
	for key, v := range map[string]any{
		"role": a.roleID("keeper"), "confirmed": true, "blocked": false, "provider": "github", "id": 1, "documentId": "abcdefghijklmnopqrstuvwx",
		"resetPasswordToken": "mine", "confirmationToken": "mine", "createdAt": "2020-01-01T00:00:00.000Z", "createdBy": 1, "__proto__": object{"role": 1},
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
		"username": "bob", "email": "bob@people.test", "password": "secret", "role": a.roleID("public"), "provider": "github",
		"id": 999, "documentId": "abcdefghijklmnopqrstuvwx", "createdAt": "2020-01-01T00:00:00.000Z", "updatedAt": "2020-01-01T00:00:00.000Z",
		"createdBy": 1, "localizations": []any{1}, "locale": "fr", "publishedAt": nil, "nope": 1,
	})
	bob := int(r.at("id").(float64))
	if bob == 999 || r.at("documentId") == "abcdefghijklmnopqrstuvwx" || r.at("provider") != "local" || strings.HasPrefix(r.at("createdAt").(string), "2020") || r.at("publishedAt") == nil {
		t.Errorf("created: %s", r.text)
	}
	r = a.want(200, "PUT", userPath(bob), "full", object{
		"id": 999, "documentId": "abcdefghijklmnopqrstuvwx", "createdAt": "2020-01-01T00:00:00.000Z", "nope": 1, "localizations": []any{1},
	})
	if int(r.at("id").(float64)) != bob || r.at("documentId") == "abcdefghijklmnopqrstuvwx" || strings.HasPrefix(r.at("createdAt").(string), "2020") {
		t.Errorf("updated: %s", r.text)
	}
	// A user who may write articles cannot link users to them or change users through them.
	jwt, id := a.register("ann")
	for _, data := range []object{
		{"author": id}, {"author": object{"connect": []any{id}}}, {"author": object{"id": id, "role": a.roleID("keeper")}},
		{"parts": []any{object{"label": "x", "reader": id}}}, {"zone": []any{object{"__component": "page.part", "reader": id}}},
		{"related": []any{object{"id": 1, "author": id}}}, {"parts": []any{object{"label": "x", "reader": object{"connect": []any{object{"id": id, "blocked": true}}}}}},
		{"id": 5}, {"documentId": "abcdefghijklmnopqrstuvwx"}, {"createdBy": 1}, {"updatedBy": 1}, {"createdAt": "2020-01-01T00:00:00.000Z"},
	} {
		if r := a.do("POST", "/api/articles", jwt, object{"data": data}); r.status != 400 {
			t.Errorf("an article with %v: %d %s", data, r.status, r.text)
		}
	}
	if r := a.want(200, "GET", "/api/users/"+fmt.Sprint(id)+"?populate=role", "full", nil); r.at("role.type") != "authenticated" || r.at("blocked") != false {
		t.Errorf("ann has become %s", r.text)
	}
}

// TestBruteForce guesses passwords from one address, with different spellings of the path and with forged headers about the address. The
// rate limit counts all of these requests together.
func TestBruteForce(t *testing.T) {
	limits := plugins("    ratelimit: {interval: 1h, max: 5}\n")
	a := serve(t, limits)
	a.register("ann")
	variants := []string{"/api/auth/local", "/API/auth/local", "/api/AUTH/Local/", "/api/auth/local/", "/Api/Auth/LOCAL", "/api/auth/local?x=1", "/api/auth/local?x=2",
		"/api/auth/local#x", "/api//auth/local", "//api/auth/local", "/api/auth//local", "/api/./auth/local", "/api/auth/../auth/local", "/api/auth/%6Cocal", "/api/auth/local%2F", "/api/auth/local;x=1"}
	forged := []string{"X-Forwarded-For", "X-Real-Ip", "Forwarded", "X-Client-Ip", "X-Cluster-Client-Ip", "True-Client-Ip", "Cf-Connecting-Ip", "X-Forwarded", "Via"}
	compared := 0
	for i := range 60 {
		// The rate limit ignores the identifier and the password: each request sends others.
		body := object{"identifier": fmt.Sprintf("ann%d", i), "password": fmt.Sprint("guess", i)}
		r := a.do("POST", variants[i%len(variants)], "", body, forged[i%len(forged)], fmt.Sprintf("10.1.2.%d", i), "User-Agent", fmt.Sprint(i))
		switch {
		case r.status == 400 && r.message() == "Invalid identifier or password":
			compared++
		case r.status == 429:
			if r.message() != "Too many requests, please try again later." || r.at("error.name") != "RateLimitError" || r.header.Get("Retry-After") == "" {
				t.Errorf("%v %s", r.header, r.text)
			}
		case r.status != 405: // a path that no route has
			t.Errorf("%s: %d %s", variants[i%len(variants)], r.status, r.text)
		}
	}
	if compared != 5 {
		t.Errorf("%d passwords were compared, want 5", compared)
	}
	// The rate limit now refuses right passwords, too. Each route has a limit of its own.
	if r := a.do("POST", "/api/auth/local", "", object{"identifier": "ann", "password": "secret-ann"}); r.status != 429 {
		t.Errorf("the right password: %d", r.status)
	}
	for path, body := range authRoutes {
		last := 0
		for i := range 7 {
			body := changed(body, "email", fmt.Sprintf("x%d@people.test", i))
			last = a.do("POST", path, "full", body).status
		}
		if last != 429 {
			t.Errorf("%s: the seventh request: %d", path, last)
		}
	}
}

// TestBruteForceGraphQL guesses many passwords over GraphQL: in one operation, in a batch, and alone. All guesses count, together with
// logins over REST.
func TestBruteForceGraphQL(t *testing.T) {
	a := serve(t, plugins("    ratelimit: {interval: 1h, max: 5}\n"))
	a.register("ann")
	for range 2 {
		a.want(400, "POST", "/api/auth/local", "", object{"identifier": "ann", "password": "wrong"})
	}
	var query strings.Builder
	query.WriteString("mutation {")
	for i := range 20 {
		fmt.Fprintf(&query, `a%d: login(input: {identifier: "ann", password: "guess%d"}) { jwt } `, i, i)
	}
	query.WriteString("}")
	compared := 0
	for _, body := range []any{object{"query": query.String()}, []any{object{"query": query.String()}, object{"query": query.String()}},
		object{"query": `mutation {login(input: {identifier: "ann", password: "guess"}) {jwt}}`}} {
		answer := a.do("POST", "/graphql", "", body).text
		compared += strings.Count(answer, "Invalid identifier or password") / 2 // each error says it twice
	}
	compared += strings.Count(a.do("POST", "/api/auth/local", "", object{"identifier": "ann", "password": "secret-ann"}).text, `"jwt"`)
	if compared > 3 {
		t.Errorf("%d more passwords were compared, want 3", compared)
	}
}

// TestTrustedProxy expects the rate limit to use the address that a trusted proxy reports, and to ignore the addresses before it in the
// header.
func TestTrustedProxy(t *testing.T) {
	limits := plugins("    ratelimit: {interval: {hour: 1}, max: 2}\n")
	limits["config/server.yaml"] = "trustedProxies: [127.0.0.1, 10.0.0.0/8]"
	a := serve(t, limits)
	guess := func(forwarded ...string) int {
		return a.do("POST", "/api/auth/local", "", object{"identifier": "ann", "password": "x"}, "X-Forwarded-For", strings.Join(forwarded, ",")).status
	}
	for _, c := range []struct {
		forwarded []string
		want      int
	}{
		{[]string{"203.0.113.1"}, 400},
		{[]string{"203.0.113.1"}, 400},
		{[]string{"203.0.113.1"}, 429},
		{[]string{"198.51.100.7", "203.0.113.1"}, 429},             // the client forged the first address
		{[]string{"198.51.100.7", "203.0.113.1", "10.1.2.3"}, 429}, // through two proxies
		{[]string{"nonsense", "203.0.113.1", " 10.1.2.3 "}, 429},
		{[]string{"::ffff:203.0.113.1"}, 429},
		{[]string{"203.0.113.1:5678", "[::ffff:10.1.2.3]:80"}, 429},
		{[]string{"203.0.113.2"}, 400}, // another client
		{[]string{"2001:db8::1"}, 400},
		{[]string{"2001:db8::2"}, 400},
		{[]string{"2001:db8::ffff:3"}, 429}, // of one network
		{[]string{"2001:db8:0:1::1"}, 400},
	} {
		if got := guess(c.forwarded...); got != c.want {
			t.Errorf("%q: %d, want %d", c.forwarded, got, c.want)
		}
	}
}

// TestLongPassword appends text to a password of the maximum length. bcrypt alone would ignore that text.
func TestLongPassword(t *testing.T) {
	a := serve(t, nil)
	long := strings.Repeat("x", 72)
	a.want(200, "POST", "/api/auth/local/register", "", object{"username": "ann", "email": "ann@people.test", "password": long})
	a.login("ann", long)
	for _, password := range []string{long + "x", long + "\x00", long[:71], long[:71] + "y"} {
		a.want(400, "POST", "/api/auth/local", "", object{"identifier": "ann", "password": password})
	}
}

// TestEnumeration expects the same answers for users who exist and users who do not. TestSameWork of package auth expects the same amount
// of work.
func TestEnumeration(t *testing.T) {
	box := newMailbox(t)
	a := serve(t, plugins(noRateLimit+"    email:\n      "+box.config()+"\n"))
	a.register("known")
	_, other := a.register("other")
	a.want(200, "PUT", userPath(other), "full", object{"provider": "github"})
	_, blocked := a.register("blocked")
	a.want(200, "PUT", userPath(blocked), "full", object{"blocked": true})

	for _, c := range []struct {
		path string
		body func(name string) object
	}{
		{"/api/auth/local", func(n string) object { return object{"identifier": n, "password": "wrong-password"} }},
		{"/api/auth/local", func(n string) object { return object{"identifier": n + "@people.test", "password": "wrong-password"} }},
		{"/api/auth/local", func(n string) object { return object{"identifier": n, "password": strings.Repeat("x", 100)} }},
		{"/api/auth/forgot-password", func(n string) object { return object{"email": n + "@people.test"} }},
		{"/api/auth/reset-password", func(n string) object {
			return object{"code": n, "password": "wrong-password", "passwordConfirmation": "wrong-password"}
		}},
	} {
		want := ""
		for _, name := range []string{"nobody", "known", "other", "blocked"} {
			r := a.do("POST", c.path, "", c.body(name))
			got := fmt.Sprint(r.status, r.text, sortedHeader(r))
			if want == "" {
				want = got
			} else if got != want {
				t.Errorf("%s for %s:\n%s\nfor nobody:\n%s", c.path, name, got, want)
			}
		}
	}
	to := []string{box.next().to, box.next().to}
	if slices.Sort(to); to[0] != "<known@people.test>" || to[1] != "<other@people.test>" {
		t.Errorf("mails to %v", to)
	}
}

// sortedHeader returns the headers of an answer, sorted, without its date and its request id.
func sortedHeader(r reply) (list []string) {
	for key, values := range r.header {
		if key != "Date" && key != "X-Request-Id" {
			list = append(list, fmt.Sprint(key, values))
		}
	}
	slices.Sort(list)
	return list
}

// TestHostIsNotBelieved requests a mail with forged headers about the server's address, such as Host and X-Forwarded-Host, and expects the
// link in the mail to lead to the configured address.
func TestHostIsNotBelieved(t *testing.T) {
	box := newMailbox(t)
	files := plugins(noRateLimit + "    email:\n      " + box.config() + "\n")
	files["config/server.yaml"] = "url: https://www.people.test"
	a := serve(t, files)
	a.register("ann")
	a.want(200, "POST", "/api/auth/forgot-password", "", object{"email": "ann@people.test"}, "Host", "evil.test", "X-Forwarded-Host", "evil.test", "Forwarded", "host=evil.test", "Origin", "https://evil.test", "Referer", "https://evil.test/")
	if mail := box.next(); !strings.Contains(mail.body, "https://www.people.test?code=") || strings.Contains(mail.body, "evil.test") {
		t.Errorf("%s", mail.body)
	}
}

// TestMailHeaders tries to inject mail headers through names and addresses.
func TestMailHeaders(t *testing.T) {
	box := newMailbox(t)
	a := serve(t, plugins(noRateLimit+"    email:\n      "+box.config()+`
      templates:
        reset_password: {object: "For <%= USER.username %>", message: "<%= USER.username %>: <%= TOKEN %>"}
`))
	for _, address := range []string{"ann@people.test\r\nBcc: eve@people.test", "ann@people.test,eve@people.test", "<ann@people.test>", "ann@people.test\n", "Ann <ann@people.test>", "\"a\r\nBcc: x\"@people.test", "ann@people.test\x00"} {
		for _, path := range []string{"/api/auth/forgot-password", "/api/auth/send-email-confirmation"} {
			if r := a.do("POST", path, "", object{"email": address}); r.status != 400 {
				t.Errorf("%s %q: %d %s", path, address, r.status, r.text)
			}
		}
		if r := a.do("POST", "/api/auth/local/register", "", object{"username": "xxx", "email": address, "password": "secret"}); r.status != 400 {
			t.Errorf("register %q: %d %s", address, r.status, r.text)
		}
	}
	name := "ann\r\nBcc: eve@people.test\r\n\r\n<%= TOKEN %>"
	a.want(200, "POST", "/api/auth/local/register", "", object{"username": name, "email": "ann@people.test", "password": "secret"})
	a.want(200, "POST", "/api/auth/forgot-password", "", object{"email": "ann@people.test"})
	mail := box.next()
	if mail.to != "<ann@people.test>" || mail.header.Get("Bcc") != "" || mail.header.Get("Subject") != "For annBcc: eve@people.test<%= TOKEN %>" {
		t.Errorf("to %s: %q", mail.to, mail.header)
	}
	if strings.Count(mail.body, "<%= TOKEN %>: ") != 1 {
		t.Errorf("a name was taken for a template: %s", mail.body)
	}
}

// TestRedirects confirms an address with every parameter that could name a page to redirect to, and expects the server to ignore them. It
// also expects settings that name an unsafe page to be refused.
func TestRedirects(t *testing.T) {
	a := serve(t, nil)
	_, id := a.register("ann")
	for _, query := range []string{"redirect=https://evil.test", "redirectUrl=//evil.test", "url=https://evil.test", "callback=https://evil.test", "next=https://evil.test", "confirmation_redirection=https://evil.test"} {
		a.want(200, "PUT", userPath(id), "full", object{"confirmationToken": "a-code"})
		r := a.do("GET", "/api/auth/email-confirmation?confirmation=a-code&"+query, "", nil, "Referer", "https://evil.test", "X-Forwarded-Host", "evil.test")
		if r.status != 302 || r.header.Get("Location") != "/" || strings.Contains(r.text, "evil") {
			t.Errorf("%s: %d %v %s", query, r.status, r.header, r.text)
		}
	}
	for _, setting := range []string{"//evil.test", `/\evil.test`, "javascript:alert(1)", "javascript://x/%0aalert(1)", "data://x/,x", "evil.test", "", "https://user:pw@evil.test", "/a b"} {
		for _, key := range []string{"email_confirmation_redirection", "email_reset_password"} {
			if key == "email_reset_password" && setting == "" {
				continue
			}
			dir := writeProject(t, with(plugins(fmt.Sprintf("    %s: %q\n", key, setting))))
			if _, err := gateway.Load(dir, nil); err == nil || !strings.Contains(err.Error(), "config/plugins.yaml:4: "+key+" must be") {
				t.Errorf("%s: %q: %v", key, setting, err)
			}
		}
	}
	a.want(400, "GET", "/api/connect/github?callback=https://evil.test", "", nil)
	a.want(400, "GET", "/api/auth/github/callback?access_token=x&redirect=https://evil.test", "", nil)
}
