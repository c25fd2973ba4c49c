package gateway

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"lectern/auth"
	"lectern/gateway/admin"
	"lectern/gateway/internal/server"
	"lectern/store"
)

// TestHealthSaysWhatIsWrong requests /_health, /_ready, and a route whose write fails, in each state of a store.
func TestHealthSaysWhatIsWrong(t *testing.T) {
	for _, tt := range []struct {
		state store.State
		err   error
		write int
		name  string
	}{
		{store.Sound, nil, http.StatusOK, ""},
		{store.Full, store.ErrFull, http.StatusInsufficientStorage, "InsufficientStorageError"},
		{store.Lost, store.ErrLost, http.StatusServiceUnavailable, "ServiceUnavailableError"},
		{store.Damaged, store.ErrDamaged, http.StatusServiceUnavailable, "ServiceUnavailableError"},
	} {
		t.Run(tt.state.String(), func(t *testing.T) {
			var failed error
			if tt.err != nil {
				failed = fmt.Errorf("write /secret/path: %w", errors.Join(tt.err, errors.New("cause")))
			}
			rt := server.API{
				Routes: []server.Route{{Method: "POST", Path: "/api/write", Open: true,
					Handle: func(http.ResponseWriter, *http.Request, auth.Principal) error { return failed }}},
			}
			condition := func() *admin.Condition { return conditionOf(store.Health{State: tt.state, Err: failed}) }
			rt.Probes = conditionProbes(condition, condition, nil)
			s, err := server.New(server.Config{}, rt)
			if err != nil {
				t.Fatal(err)
			}
			ask := func(method, path string) (int, string) {
				w := httptest.NewRecorder()
				s.Handler().ServeHTTP(w, httptest.NewRequest(method, path, nil))
				return w.Code, w.Body.String()
			}
			for path, fine := range map[string]int{"/_health": http.StatusNoContent, "/_ready": http.StatusOK} {
				code, body := ask("GET", path)
				if tt.state == store.Sound {
					if want := map[string]string{"/_ready": `{"state":"ready"}` + "\n"}[path]; code != fine ||
						body != want {
						t.Errorf("%s: %d %q, want %d %q", path, code, body, fine, want)
					}
					continue
				}
				if code != http.StatusServiceUnavailable ||
					!strings.Contains(body, `"state":"`+tt.state.String()+`"`) ||
					!strings.Contains(body, `"action":"`) || strings.Contains(body, "secret") {
					t.Errorf("%s: %d %s", path, code, body)
				}
			}
			code, body := ask("POST", "/api/write")
			if code != tt.write || tt.name != "" &&
				!strings.HasPrefix(body, fmt.Sprintf(`{"data":null,"error":{"status":%d,"name":%q,"message":`, tt.write,
					tt.name)) || strings.Contains(body, "secret") {
				t.Errorf("write: %d %s", code, body)
			}
		})
	}
}
