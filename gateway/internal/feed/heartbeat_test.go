package feed

import (
	"context"
	"strings"
	"testing"
	"time"

	"lectern/documents/changes"
)

// A pageDelivery delivers pages of text. It stands for any delivery, since heartbeats do not depend on it.
type pageDelivery struct {
	pages []string // "" is a page with changes that do not concern the client
	next  changes.Position
}

func (d *pageDelivery) Deliver(_ context.Context, _ *Feed, s *Subscriber, send func([]byte) error) (bool, error) {
	if len(d.pages) == 0 {
		return false, nil
	}
	text := d.pages[0]
	d.pages, s.Since = d.pages[1:], d.next
	if text == "" {
		return len(d.pages) > 0, nil
	}
	s.Sent = s.Since
	return len(d.pages) > 0, send([]byte(text))
}

// TestHeartbeats checks when a silent client is sent something, and what.
func TestHeartbeats(t *testing.T) {
	feed := &Feed{Options: Options{Positions: NewPositions([]byte("secret"))}}
	moved := changes.Unknown
	id := "id: " + feed.Positions.Text(moved) + "\n\n"
	for _, c := range []struct {
		name  string
		pages []string
		due   bool // the time for a heartbeat has come
		want  string
		then  string // what follows when the time has come again
	}{
		{name: "nothing happens", then: ":\n\n"},
		{name: "nothing happens for long", due: true, want: ":\n\n", then: ":\n\n"},
		{name: "an event", pages: []string{"event\n\n"}, due: true, want: "event\n\n", then: ":\n\n"},
		{name: "changes of others", pages: []string{""}, then: id},
		{name: "changes of others for long", pages: []string{"", ""}, due: true, want: id, then: ":\n\n"},
		{name: "more pages than one turn has", pages: strings.Split(strings.Repeat("x", pagesAtOnce+1), ""), due: true,
			want: strings.Repeat("x", pagesAtOnce), then: "x"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := NewSubscriber(nil, &pageDelivery{pages: c.pages, next: moved}, changes.Position{}, time.Hour)
			sent := func(due bool) string {
				if due {
					s.beatAt = time.Now()
				}
				var all strings.Builder
				if _, err := s.deliver(t.Context(), feed,
					func(text []byte) error { all.Write(text); return nil }); err != nil {
					t.Fatal(err)
				}
				return all.String()
			}
			if got := sent(c.due); got != c.want {
				t.Errorf("sent %q, want %q", got, c.want)
			}
			if c.want != "" && time.Until(s.beatAt) < time.Minute {
				t.Errorf("the next heartbeat is due in %v", time.Until(s.beatAt))
			}
			if got := sent(true); got != c.then {
				t.Errorf("then sent %q, want %q", got, c.then)
			}
		})
	}
}
