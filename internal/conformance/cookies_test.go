package conformance

import (
	"net/http"
	"reflect"
	"strings"
	"testing"
)

// cookiesOf returns those cookies with these names that an answer sets, by name; nil for one that it does not set. Each
// has its value and its attributes.
func cookiesOf(res *http.Response, names []string) map[string]any {
	cookies := map[string]any{}
	for _, name := range names {
		cookies[name] = nil
	}
	for _, c := range res.Cookies() {
		if _, wanted := cookies[c.Name]; wanted {
			cookies[c.Name] = describeCookie(c)
		}
	}
	return cookies
}

func describeCookie(c *http.Cookie) map[string]any {
	m := map[string]any{"value": c.Value}
	for key, text := range map[string]string{
		"path": c.Path, "domain": c.Domain, "expires": c.RawExpires, "sameSite": sameSite[c.SameSite],
		"others": strings.Join(c.Unparsed, "; "),
	} {
		if text != "" {
			m[key] = text
		}
	}
	for key, is := range map[string]bool{"secure": c.Secure, "httpOnly": c.HttpOnly, "maxAge": c.MaxAge != 0} {
		if is {
			m[key] = true
		}
	}
	return m
}

var sameSite = map[http.SameSite]string{http.SameSiteLaxMode: "lax", http.SameSiteStrictMode: "strict",
	http.SameSiteNoneMode: "none"}

func TestCookiesOf(t *testing.T) {
	res := &http.Response{Header: http.Header{"Set-Cookie": {
		"a=1; path=/x; samesite=strict; httponly", "b=2; Domain=example.org; Secure; Expires=Thu, 01 Jan 1970 00:00:00 GMT",
		"c=3",
	}}}
	want := map[string]any{
		"a": map[string]any{"value": "1", "path": "/x", "sameSite": "strict", "httpOnly": true},
		"b": map[string]any{"value": "2", "domain": "example.org", "secure": true,
			"expires": "Thu, 01 Jan 1970 00:00:00 GMT"},
		"d": nil,
	}
	if got := cookiesOf(res, []string{"a", "b", "d"}); !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
