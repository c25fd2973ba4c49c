package certificates_test

import (
	"net/http/httptest"
	"testing"

	"lectern/gateway/internal/certificates"
)

func TestRedirectTo(t *testing.T) {
	for _, c := range []struct{ port, host, want string }{
		{"", "cms.example.com", "https://cms.example.com/api/articles?page=2"},
		{"", "cms.example.com:80", "https://cms.example.com/api/articles?page=2"},
		{"", "[::1]:80", "https://[::1]/api/articles?page=2"},
		{"8443", "cms.example.com", "https://cms.example.com:8443/api/articles?page=2"},
		{"8443", "cms.example.com:8080", "https://cms.example.com:8443/api/articles?page=2"},
		{"8443", "[::1]", "https://[::1]:8443/api/articles?page=2"},
	} {
		r := httptest.NewRequest("GET", "/api/articles?page=2", nil)
		r.Host = c.host
		w := httptest.NewRecorder()
		certificates.RedirectTo(c.port).ServeHTTP(w, r)
		if got := w.Header().Get("Location"); w.Code != 308 || got != c.want {
			t.Errorf("%s at port %q: %d to %s, want %s", c.host, c.port, w.Code, got, c.want)
		}
	}
}
