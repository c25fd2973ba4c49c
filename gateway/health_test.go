package gateway

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"lectern/documents/permission"
	"lectern/store"
)

// TestHealth requests /_health, and a route whose write fails, in each state of a store.
func TestHealth(t *testing.T) {
	for _, tt := range []struct {
		state  store.State
		health int
		err    error
		write  int
		name   string
	}{
		{store.Sound, http.StatusNoContent, nil, http.StatusOK, ""},
		{store.Full, http.StatusServiceUnavailable, store.ErrFull, http.StatusInsufficientStorage, "InsufficientStorageError"},
		{store.Lost, http.StatusServiceUnavailable, store.ErrLost, http.StatusServiceUnavailable, "ServiceUnavailableError"},
		{store.Damaged, http.StatusServiceUnavailable, store.ErrDamaged, http.StatusServiceUnavailable, "ServiceUnavailableError"},
	} {
		t.Run(tt.state.String(), func(t *testing.T) {
			var failed error
			if tt.err != nil {
				failed = fmt.Errorf("write /secret/path: %w", errors.Join(tt.err, errors.New("cause")))
			}
			rt := Runtime{
				Routes: []Route{{Method: "POST", Path: "/api/write", Open: true,
					Handle: func(http.ResponseWriter, *http.Request, *permission.Access) error { return failed }}},
				health: func() *healthProblem { return problemOf(store.Health{State: tt.state, Err: failed}) },
			}
			s, err := NewServer(Config{}, rt)
			if err != nil {
				t.Fatal(err)
			}
			ask := func(method, path string) (int, string) {
				w := httptest.NewRecorder()
				s.Handler().ServeHTTP(w, httptest.NewRequest(method, path, nil))
				return w.Code, w.Body.String()
			}
			code, body := ask("GET", "/_health")
			if code != tt.health {
				t.Errorf("/_health: %d, want %d", code, tt.health)
			}
			if code != http.StatusNoContent && (!strings.Contains(body, `"state":"`+tt.state.String()+`"`) || !strings.Contains(body, `"action":"`) || strings.Contains(body, "secret")) {
				t.Errorf("/_health: %s", body)
			}
			code, body = ask("POST", "/api/write")
			if code != tt.write || tt.name != "" && !strings.HasPrefix(body, fmt.Sprintf(`{"data":null,"error":{"status":%d,"name":%q,"message":`, tt.write, tt.name)) || strings.Contains(body, "secret") {
				t.Errorf("write: %d %s", code, body)
			}
		})
	}
}
