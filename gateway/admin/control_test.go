package admin

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"lectern/store/evolve"
)

// TestControlBodyLimits posts bodies at and above the limit of each route of the control socket.
func TestControlBodyLimits(t *testing.T) {
	settled := 0
	c := &Control{Project: &Local{}, Settle: func(context.Context, evolve.Migrations) (evolve.Removed, error) {
		settled++
		return evolve.Removed{}, nil
	}}
	routes := c.Handler()
	post := func(path string, body io.Reader) (status int, message string) {
		w := httptest.NewRecorder()
		routes.ServeHTTP(w, httptest.NewRequest(http.MethodPost, path, body))
		var e controlError
		json.Unmarshal(w.Body.Bytes(), &e)
		return w.Code, e.Error
	}
	blanks := func(n int64) io.Reader { return io.LimitReader(blank{}, n) }
	for path, limit := range map[string]int64{"/tokens": 1 << 20, "/migrate": 1 << 20, "/fill": 16 << 20,
		"/foresee": 64 << 20} {
		if status, message := post(path, blanks(limit+1)); status != http.StatusBadRequest ||
			!strings.Contains(message, "too large") {
			t.Errorf("%s of %d bytes: %d %q, want 400 and that it is too large", path, limit+1, status, message)
		}
		if status, message := post(path, blanks(limit)); status != http.StatusBadRequest ||
			strings.Contains(message, "too large") {
			t.Errorf("%s of %d blanks: %d %q, want 400 for other reasons than its length", path, limit, status, message)
		}
	}
	if settled > 0 {
		t.Errorf("%d requests without migrations were carried out", settled)
	}
	if status, message := post(
		"/migrate", io.MultiReader(blanks(1<<20-2), strings.NewReader("[]"))); status != http.StatusOK || settled != 1 {
		t.Errorf("migrations in as many bytes as the limit: %d %q, carried out %d times, want 200 and once", status,
			message, settled)
	}
}

// A blank is an endless reader of blanks.
type blank struct{}

func (blank) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	return len(p), nil
}
