package gateway

import (
	"context"
	"crypto/sha256"
	"strings"
	"sync"
	"testing"
	"time"

	"lectern/documents/changes"
)

// A pageDelivery delivers pages of text. It stands for any delivery, since heartbeats do not depend on it.
type pageDelivery struct {
	pages []string // "" is a page with changes that do not concern the client
	next  changes.Position
}

func (d *pageDelivery) deliver(_ context.Context, _ *changeFeed, l *changeListener, send func([]byte) error) (bool, error) {
	if len(d.pages) == 0 {
		return false, nil
	}
	text := d.pages[0]
	d.pages, l.since = d.pages[1:], d.next
	if text == "" {
		return len(d.pages) > 0, nil
	}
	l.told = l.since
	return len(d.pages) > 0, send([]byte(text))
}

// TestHeartbeats checks when a silent client is sent something, and what.
func TestHeartbeats(t *testing.T) {
	key := sha256.Sum256([]byte("secret"))
	feed := &changeFeed{positions: &positions{sync.Pool{New: func() any { return changes.NewCodec(key[:]) }}}}
	moved := changes.Unknown
	id := "id: " + feed.positions.text(moved) + "\n\n"
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
		{name: "more pages than one turn has", pages: strings.Split(strings.Repeat("x", pagesAtOnce+1), ""), due: true, want: strings.Repeat("x", pagesAtOnce), then: "x"},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := newChangeListener(nil, &pageDelivery{pages: c.pages, next: moved}, changes.Position{}, time.Hour)
			tell := func(due bool) string {
				if due {
					l.beatAt = time.Now()
				}
				var sent strings.Builder
				if _, err := l.tell(t.Context(), feed, func(text []byte) error { sent.Write(text); return nil }); err != nil {
					t.Fatal(err)
				}
				return sent.String()
			}
			if got := tell(c.due); got != c.want {
				t.Errorf("sent %q, want %q", got, c.want)
			}
			if c.want != "" && time.Until(l.beatAt) < time.Minute {
				t.Errorf("the next heartbeat is due in %v", time.Until(l.beatAt))
			}
			if got := tell(true); got != c.then {
				t.Errorf("then sent %q, want %q", got, c.then)
			}
		})
	}
}
