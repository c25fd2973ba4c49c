package accounts_test

import (
	"net/http"
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
