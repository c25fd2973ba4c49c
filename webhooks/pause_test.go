package webhooks_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"
)

// TestPause has another dispatcher go on with a hook that was paused and flushed while one request was not answered: it
// must send that event and those that were not sent yet, and no other.
func TestPause(t *testing.T) {
	r := newReceiver(t)
	hold, held := make(chan struct{}), make(chan struct{}, 1)
	r.answers(func(_ http.ResponseWriter, q *request) {
		if q.data("documentId") == "tag0" && q.title() == "000" {
			held <- struct{}{}
			<-hold
		}
	})
	t.Cleanup(func() {
		select {
		case <-hold:
		default:
			close(hold)
		}
	})
	s := newSite(t, hookTo(r))
	s.start()
	s.writeTags(4, 3)
	<-held
	until(t, "all but those of one document are delivered", func() bool {
		list, err := s.dispatcher.List(t.Context())
		return err == nil && list[0].Counters.Delivered == 9 && list[0].Waiting == 3
	})
	until(t, "the hook is paused", func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		err := s.dispatcher.Pause(ctx)
		return err != nil && strings.Contains(err.Error(), "has no answer")
	})
	if err := s.dispatcher.Flush(t.Context()); err != nil {
		t.Error(err)
	}
	s.write(s.docs.Create, tag, "tag9", 0, map[string]any{"name": "000"})
	former := s.stop
	r.answers(nil)
	s.start()
	until(t, "the others are delivered", func() bool { return len(r.accepted()) == 9+4 })
	s.settled()
	former()
	sequences(t, r)
	times := map[string]int{}
	for _, q := range r.requests() {
		times[q.data("documentId")+q.title()]++
	}
	for event, n := range times {
		if want := map[bool]int{true: 2, false: 1}[event == "tag0000"]; n != want || len(times) != 13 {
			t.Errorf("%s was sent %d times, want %d; %d events", event, n, want, len(times))
		}
	}
}

// TestPauseWaits pauses a hook while a request is under way: Pause returns once that is answered, nothing is sent until
// Resume, and all of it afterwards.
func TestPauseWaits(t *testing.T) {
	r := newReceiver(t)
	hold, held := make(chan struct{}), make(chan struct{}, 1)
	r.answers(func(http.ResponseWriter, *request) {
		held <- struct{}{}
		<-hold
	})
	s := newSite(t, hookTo(r))
	s.start()
	s.writeTags(1, 3)
	<-held
	paused := make(chan error)
	go func() { paused <- s.dispatcher.Pause(t.Context()) }()
	select {
	case <-paused:
		t.Error("Pause returned before the answer")
	default:
	}
	r.answers(nil)
	close(hold)
	if err := <-paused; err != nil {
		t.Error(err)
	}
	until(t, "the others wait", func() bool {
		list, err := s.dispatcher.List(t.Context())
		return err == nil && list[0].Waiting <= 2 && list[0].Counters.Delivered >= 1
	})
	before := len(r.requests())
	s.write(s.docs.Create, tag, "other", 0, map[string]any{"name": "000"})
	until(t, "it is read", func() bool {
		list, err := s.dispatcher.List(t.Context())
		return err == nil && list[0].Unread == 0
	})
	if n := len(r.requests()); n != before {
		t.Errorf("%d requests, and %d before", n, before)
	}
	s.dispatcher.Resume()
	until(t, "all are delivered, each once", func() bool { return len(r.accepted()) == 4 })
}
