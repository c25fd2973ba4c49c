package accounts_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"lectern/internal/servertest"
)

// TestCookiesOfOtherSites has pages of other sites log a browser in to an account of their own, by a link or a form,
// where logins begin sessions in a cookie. Clients that are no browsers send nothing of where a request comes from.
func TestCookiesOfOtherSites(t *testing.T) {
	dir := servertest.WriteProject(t, map[string]string{
		"content-types/note.yaml": "kind: collectionType\ninfo: {singularName: note, pluralName: notes, displayName: N}\n" +
			"attributes: {title: {type: string}}\n",
		"config/server.yaml": "cors: {origin: https://www.people.test}\n",
		"config/plugins.yaml": "users-permissions: {config: {jwtManagement: refresh, " + unlimited +
			", sessions: {httpOnly: true, cookie: {sameSite: none, maxAge: 1h}}}}\n",
	})
	s := servertest.Serve(t, dir, nil)
	const form = "application/x-www-form-urlencoded"
	register(t, s, "ann")
	for _, c := range []struct {
		mode, site, origin string
		status             int
	}{
		{"", "", "", 200},
		{"cors", "same-origin", "", 200},
		{"same-origin", "same-origin", "", 200},
		{"cors", "cross-site", "https://www.people.test", 200},
		{"cors", "cross-site", "https://evil.test", 403},
		{"no-cors", "cross-site", "https://evil.test", 403},
		{"navigate", "cross-site", "https://evil.test", 403},
		{"navigate", "same-site", "https://evil.people.test", 403},
		{"navigate", "none", "", 403},
	} {
		h := http.Header{"Content-Type": {form}}
		for name, value := range map[string]string{"Sec-Fetch-Mode": c.mode, "Sec-Fetch-Site": c.site, "Origin": c.origin} {
			if value != "" {
				h[name] = []string{value}
			}
		}
		servertest.Exchange{Method: "POST", Path: "/api/auth/local", Body: "identifier=ann&password=secret-ann", Header: h,
			Status: c.status}.Send(t, s)
	}
}

// TestRefreshByCookieAnswersByCookie refreshes by a cookie alone, as a script of the page could: it does not get to see
// the next token.
func TestRefreshByCookieAnswersByCookie(t *testing.T) {
	s := serve(t, "jwtManagement: refresh, "+unlimited)
	register(t, s, "ann")
	const login = `{"identifier":"ann","password":"secret-ann"}`
	ask := func(path, body string, h http.Header, status int) (cookie, answer string) {
		t.Helper()
		h.Set("Content-Type", "application/json")
		r, err := http.NewRequestWithContext(t.Context(), "POST", s.Base+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header = h
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		if err != nil || resp.StatusCode != status {
			t.Fatalf("%s: %d %s (%v)", path, resp.StatusCode, text, err)
		}
		cookie, _, _ = strings.Cut(resp.Header.Get("Set-Cookie"), ";")
		return cookie, string(text)
	}
	cookie, _ := ask("/api/auth/local", login, http.Header{"X-Strapi-Refresh-Cookie": {"httpOnly"}}, 200)
	next, answer := ask("/api/auth/refresh", "{}", http.Header{"Cookie": {cookie}}, 200)
	if strings.Contains(answer, "refreshToken") || !strings.Contains(answer, `"jwt":`) ||
		!strings.HasPrefix(next, "strapi_up_refresh=") || next == cookie {
		t.Errorf("answers %s with the cookie %q", answer, next)
	}
	_, token, _ := strings.Cut(next, "=")
	ask("/api/auth/refresh", "{}", http.Header{"Cookie": {"refresh=" + token}}, 400) // no cookie of this name is read
	ask("/api/auth/refresh", `{"refreshToken":"`+token+`"}`, http.Header{"Cookie": {"strapi_up_refresh=nonsense"}}, 401)
	last, _ := ask("/api/auth/refresh", `{"refreshToken":"nonsense"}`, http.Header{"Cookie": {"a=b; " + next + "; c=d"}}, 200)
	if last == "" || last == next {
		t.Errorf("the next cookie is followed by %q", last)
	}
}

// TestRefreshesAreLimited expects an address to be refused after it has refreshed twenty times as often as it may log
// in.
func TestRefreshesAreLimited(t *testing.T) {
	s := serve(t, "jwtManagement: refresh, ratelimit: {interval: {min: 5}, max: 2}")
	refresh := servertest.Exchange{Method: "POST", Path: "/api/auth/refresh", Body: `{"refreshToken":"x"}`, Status: 401}
	for range 40 {
		refresh.Send(t, s)
	}
	refresh.Status, refresh.Want = 429, "RateLimitError"
	refresh.Send(t, s)
}

// TestConnectIsLimited expects an address to be refused after it has begun a login by providers too often, whichever it
// names and however it spells the path. The way back is counted by itself.
func TestConnectIsLimited(t *testing.T) {
	s := serve(t, "ratelimit: {interval: {min: 5}, max: 2}")
	for _, c := range []struct {
		path   string
		status int
	}{
		{"/api/connect/github", 400},
		{"/api/connect/google", 400},
		{"/api/connect/github/", 429},
		{"/api/connect/other", 429},
		{"/api/connect/github/callback", 400},
		{"/api/connect/google/callback", 400},
		{"/api/connect/github/callback", 429},
	} {
		servertest.Exchange{Method: "GET", Path: c.path, Status: c.status}.Send(t, s)
	}
}
