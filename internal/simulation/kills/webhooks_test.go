package kills

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"lectern/internal/simulation/program"
)

// hookedNotes is how many notes TestChangesAreSentInOrder changes.
const hookedNotes = 8

// A hookReceiver collects which numbers of notes it was told, in the order in which they first came. It refuses a third
// of all requests, until it is healthy.
type hookReceiver struct {
	*httptest.Server
	mu       sync.Mutex
	rng      *rand.Rand
	healthy  bool
	requests int
	seen     map[string]bool // ids of events
	numbers  map[string][]int
	told     chan struct{} // gets a value when a request has come
}

func newHookReceiver(t *testing.T, seed uint64) *hookReceiver {
	h := &hookReceiver{rng: rand.New(rand.NewPCG(seed, 8)), seen: map[string]bool{}, numbers: map[string][]int{},
		told: make(chan struct{}, 1)}
	h.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body struct {
			Data struct {
				DocumentID string
				Document   struct{ Number int }
			}
		}
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			return // the sender was killed
		}
		h.mu.Lock()
		defer h.mu.Unlock()
		h.requests++
		select {
		case h.told <- struct{}{}:
		default:
		}
		if !h.healthy && h.rng.IntN(3) == 0 {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		if id := r.Header.Get("webhook-id"); !h.seen[id] {
			h.seen[id] = true
			h.numbers[body.Data.DocumentID] = append(h.numbers[body.Data.DocumentID], body.Data.Document.Number)
		}
	}))
	t.Cleanup(h.Close)
	return h
}

// heal has the receiver refuse nothing any more.
func (h *hookReceiver) heal() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.healthy = true
}

// await waits until the receiver was told a number of a note.
func (h *hookReceiver) await(t *testing.T, id string, number int) {
	t.Helper()
	late := time.After(time.Minute)
	for {
		h.mu.Lock()
		has := slices.Contains(h.numbers[id], number)
		h.mu.Unlock()
		if has {
			return
		}
		select {
		case <-h.told:
		case <-late:
			t.Fatalf("note %s: the change to %d was not told", id, number)
		}
	}
}

// TestChangesAreSentInOrder kills the server at random moments while notes are changed. Each change that was
// acknowledged must be told at least once, and the changes of each note in their order.
func TestChangesAreSentInOrder(t *testing.T) {
	s := program.NewNotes(t, program.Released)
	receiver := newHookReceiver(t, *program.Seed)
	hooks := fmt.Sprintf(
		"webhooks: [{name: a, url: %q, allowPrivate: [127.0.0.1], events: [entry.create, entry.update]}]", receiver.URL)
	if err := os.WriteFile(filepath.Join(s.Dir, "config", "webhooks.yaml"), []byte(hooks), 0o644); err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(*program.Seed, 7))
	server := s.Serve(t)
	var notes []string
	for i := range hookedNotes {
		notes = append(notes, newDraft(t, server, fmt.Sprint(i)))
	}
	acknowledged, number := map[string][]int{}, 0
	for range *kills {
		server.KillAfter(time.Duration(rng.IntN(60_000)) * time.Microsecond)
		for {
			number++
			id := notes[rng.IntN(len(notes))]
			status, _, err := server.Do("PUT", "/api/notes/"+id+"?status=draft",
				map[string]any{"data": map[string]any{"number": number}})
			if err != nil || status != http.StatusOK {
				break
			}
			acknowledged[id] = append(acknowledged[id], number)
		}
		<-server.Ended()
		s.Check(t)
		server = s.Serve(t)
	}
	receiver.heal()
	if err := server.Stop(); err != nil { // a sender that begins tries at once what has failed before
		t.Error(err)
	}
	server = s.Serve(t)
	total := 0
	for id, numbers := range acknowledged {
		total += len(numbers)
		for _, n := range numbers {
			receiver.await(t, id, n)
		}
	}
	if err := server.Stop(); err != nil {
		t.Error(err)
	}
	for id, numbers := range receiver.numbers {
		if !slices.IsSorted(numbers) {
			t.Errorf("note %s: the changes were told in the order %v", id, numbers)
		}
	}
	t.Logf("%d changes were acknowledged, and told in %d requests", total, receiver.requests)
}
