package webhooks_test

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// TestSlowReceiver has a receiver answer after the deadline, and later in time. Writes go on meanwhile although nothing
// is delivered, each document waits with its second event until the first one was answered in time, and in the end all
// events are delivered in order.
func TestSlowReceiver(t *testing.T) {
	const documents, times = 20, 4
	r := newReceiver(t)
	var slow atomic.Bool
	slow.Store(true)
	r.answers(func(_ http.ResponseWriter, q *request) {
		if slow.Load() {
			<-q.gone
		}
	})
	s := newSite(t, hookTo(r))
	s.timeout = 200 * time.Millisecond
	s.start()
	s.writeTags(documents, times)
	until(t, "so many requests had no answer in time that the receiver counts as down", func() bool {
		list, err := s.dispatcher.List(t.Context())
		return err == nil && list[0].Down
	})
	list, err := s.dispatcher.List(t.Context())
	if err != nil || list[0].Counters.Delivered != 0 || list[0].Counters.Failed < documents {
		t.Errorf("while it is slow, the hook is %+v (%v)", list, err)
	}
	for _, q := range r.requests() {
		if q.title() != "000" {
			t.Errorf("%s: event %s was sent before the first one was answered in time", q.data("documentId"), q.title())
		}
	}
	l, err := s.dispatcher.Log(t.Context(), "all")
	if err != nil || len(l.Waiting) == 0 || !strings.Contains(l.Waiting[0].Reason, "no answer within 200ms") {
		t.Errorf("the log is %+v (%v)", l, err)
	}
	slow.Store(false)
	s.delivered(r, documents, times)
}
