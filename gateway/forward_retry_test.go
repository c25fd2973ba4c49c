package gateway

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
	"testing/synctest"

	"lectern/documents/permission"
	"lectern/store"
)

// ownUpstream is the upstream of a server that takes its writes itself.
type ownUpstream struct {
	fixedUpstream
	gate writeGate
}

func (u *ownUpstream) begin(context.Context) (func(), *url.URL, error) {
	u.gate.begin()
	return u.gate.end, nil, nil
}

// TestRetryIsNoWrite sends a write while the definitions change. Until it is retried, it is not under way: a leader that hands the lead over need not wait
// for the new definitions.
func TestRetryIsNoWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u, tries := &ownUpstream{}, 0
		rt := Runtime{forward: &forwarder{to: u}, Routes: []Route{{Method: http.MethodPost, Path: "/notes", Open: true,
			Handle: func(w http.ResponseWriter, _ *http.Request, _ *permission.Access) error {
				if tries++; tries == 1 {
					return store.ErrRedefined
				}
				w.WriteHeader(http.StatusCreated)
				return nil
			}}}}
		s, err := NewServer(Config{}, rt)
		if err != nil {
			t.Fatal(err)
		}
		w, answered := httptest.NewRecorder(), make(chan struct{})
		go func() {
			defer close(answered)
			s.Handler().ServeHTTP(w, httptest.NewRequest("POST", "/notes", nil))
		}()
		synctest.Wait()
		select {
		case <-u.gate.shut():
		default:
			t.Error("the write is under way while it waits for the new definitions")
		}
		u.gate.reopen()
		if err := s.Swap(rt); err != nil {
			t.Fatal(err)
		}
		<-answered
		if w.Code != http.StatusCreated || tries != 2 {
			t.Errorf("%d after %d tries", w.Code, tries)
		}
	})
}
