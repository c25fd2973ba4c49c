package gateway_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestPasswordGuessesAreLimited guesses passwords from one address, with different spellings of the path and with
// forged headers about the address. The rate limit counts all of these requests together.
func TestPasswordGuessesAreLimited(t *testing.T) {
	limits := plugins("    ratelimit: {interval: 1h, max: 5}\n")
	a := serve(t, limits)
	a.register("ann")
	variants := []string{"/api/auth/local", "/API/auth/local", "/api/AUTH/Local/", "/api/auth/local/",
		"/Api/Auth/LOCAL", "/api/auth/local?x=1", "/api/auth/local?x=2",
		"/api/auth/local#x", "/api//auth/local", "//api/auth/local", "/api/auth//local", "/api/./auth/local",
		"/api/auth/../auth/local", "/api/auth/%6Cocal", "/api/auth/local%2F", "/api/auth/local;x=1"}
	forged := []string{"X-Forwarded-For", "X-Real-Ip", "Forwarded", "X-Client-Ip", "X-Cluster-Client-Ip",
		"True-Client-Ip", "Cf-Connecting-Ip", "X-Forwarded", "Via"}
	compared := 0
	for i := range 60 {
		// The rate limit ignores the identifier and the password: each request sends others.
		body := object{"identifier": fmt.Sprintf("ann%d", i), "password": fmt.Sprint("guess", i)}
		r := a.do("POST", variants[i%len(variants)], "", body, forged[i%len(forged)], fmt.Sprintf("10.1.2.%d", i),
			"User-Agent", fmt.Sprint(i))
		switch {
		case r.status == 400 && r.message() == "Invalid identifier or password":
			compared++
		case r.status == 429:
			if r.message() != "Too many requests, please try again later." || r.at("error.name") != "RateLimitError" ||
				r.header.Get("Retry-After") == "" {
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
	if r := a.do("POST", "/api/auth/local", "",
		object{"identifier": "ann", "password": "secret-ann"}); r.status != 429 {
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

// TestPasswordGuessesOverGraphQLAreLimited guesses many passwords over GraphQL: in one operation, in a batch, and
// alone. All guesses count, together with logins over REST.
func TestPasswordGuessesOverGraphQLAreLimited(t *testing.T) {
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
	for _, body := range []any{object{"query": query.String()},
		[]any{object{"query": query.String()}, object{"query": query.String()}},
		object{"query": `mutation {login(input: {identifier: "ann", password: "guess"}) {jwt}}`}} {
		answer := a.do("POST", "/graphql", "", body).text
		compared += strings.Count(answer, "Invalid identifier or password") / 2 // each error says it twice
	}
	compared += strings.Count(
		a.do("POST", "/api/auth/local", "", object{"identifier": "ann", "password": "secret-ann"}).text, `"jwt"`)
	if compared > 3 {
		t.Errorf("%d more passwords were compared, want 3", compared)
	}
}

// TestRateLimitUsesAddressOfTrustedProxy expects the rate limit to use the address that a trusted proxy reports, and to
// ignore the addresses before it in the header.
func TestRateLimitUsesAddressOfTrustedProxy(t *testing.T) {
	limits := plugins("    ratelimit: {interval: {hour: 1}, max: 2}\n")
	limits["config/server.yaml"] = "trustedProxies: [127.0.0.1, 10.0.0.0/8]"
	a := serve(t, limits)
	guess := func(forwarded ...string) int {
		return a.do("POST", "/api/auth/local", "", object{"identifier": "ann", "password": "x"}, "X-Forwarded-For",
			strings.Join(forwarded, ",")).status
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

// TestTextAfterLongestPasswordCounts appends text to a password of the maximum length. bcrypt alone would ignore that
// text.
func TestTextAfterLongestPasswordCounts(t *testing.T) {
	a := serve(t, nil)
	long := strings.Repeat("x", 72)
	a.want(200, "POST", "/api/auth/local/register", "",
		object{"username": "ann", "email": "ann@people.test", "password": long})
	a.login("ann", long)
	for _, password := range []string{long + "x", long + "\x00", long[:71], long[:71] + "y"} {
		a.want(400, "POST", "/api/auth/local", "", object{"identifier": "ann", "password": password})
	}
}

// TestAnswersDoNotTellWhoIsAUser expects the same answers for users who exist and users who do not. TestSameWork of
// package auth expects the same amount of work.
func TestAnswersDoNotTellWhoIsAUser(t *testing.T) {
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
		{"/api/auth/local", func(n string) object {
			return object{"identifier": n + "@people.test",
				"password": "wrong-password"}
		}},
		{"/api/auth/local", func(n string) object {
			return object{"identifier": n,
				"password": strings.Repeat("x", 100)}
		}},
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
