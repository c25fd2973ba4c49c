package kills

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	"lectern/gateway"
	"lectern/internal/simulation/program"
	"lectern/store"
)

// scheduledNotes is how many notes TestSchedulesAreCarriedOutOnce publishes and unpublishes.
const scheduledNotes = 40

// TestSchedulesAreCarriedOutOnce kills the server at random moments while schedules come due. Each must be carried out
// exactly once.
func TestSchedulesAreCarriedOutOnce(t *testing.T) {
	s := program.NewNotes(t, program.Released)
	rng := rand.New(rand.NewPCG(*program.Seed, 5))
	server := s.Serve(t)
	first := time.Now().UTC().Add(time.Second)
	for i := range scheduledNotes {
		id := newDraft(t, server, fmt.Sprint(i))
		at := first.Add(time.Duration(i) * 10 * time.Millisecond)
		status, answer, err := server.Do("POST", "/api/notes/"+id+"/actions/publish",
			map[string]any{"data": map[string]any{
				"publishAt": at.Format(time.RFC3339Nano), "unpublishAt": at.Add(100 * time.Millisecond).Format(
					time.RFC3339Nano),
			}})
		if err != nil || status != 202 {
			t.Fatalf("schedule: %d %v %v", status, answer, err)
		}
	}
	var left []int
	for range *kills {
		n := pendingSchedules(t, server)
		left = append(left, n)
		awaitPending(t, server, n-rng.IntN(max(n/2, 1)))
		server.KillAfter(time.Duration(rng.IntN(5000)) * time.Microsecond)
		<-server.Ended()
		s.Check(t)
		server = s.Serve(t)
	}
	awaitPending(t, server, 0)
	if err := server.Stop(); err != nil {
		t.Error(err)
	}
	counts := publications(t, s)
	if len(counts) != scheduledNotes {
		t.Errorf("%d of %d notes were published", len(counts), scheduledNotes)
	}
	for id, n := range counts {
		if n != [2]int{1, 1} {
			t.Errorf("note %s was published %d times and unpublished %d times", id, n[0], n[1])
		}
	}
	t.Logf("%d schedules; before each kill there were %v", 2*scheduledNotes, left)
}

// newDraft creates a note that is not published, and returns its documentId.
func newDraft(t *testing.T, server *program.Server, key string) string {
	t.Helper()
	status, answer, err := server.Do("POST", "/api/notes?status=draft",
		map[string]any{"data": map[string]any{"key": key}})
	if err != nil || status != 201 {
		t.Fatalf("make a draft: %d %v %v", status, answer, err)
	}
	return answer.(map[string]any)["data"].(map[string]any)["documentId"].(string)
}

// pendingSchedules returns how many schedules the server has.
func pendingSchedules(t *testing.T, server *program.Server) (total int) {
	t.Helper()
	status, answer, err := server.Do("GET", "/api/_schedules?pagination[pageSize]=1", nil)
	if err != nil || status != 200 {
		t.Fatalf("list schedules: %d %v %v", status, answer, err)
	}
	meta := answer.(map[string]any)["meta"].(map[string]any)["pagination"].(map[string]any)
	if _, err := fmt.Sscan(fmt.Sprint(meta["total"]), &total); err != nil {
		t.Fatal(err)
	}
	return total
}

// awaitPending waits until the server has at most this many schedules.
func awaitPending(t *testing.T, server *program.Server, most int) {
	t.Helper()
	for end := time.Now().Add(time.Minute); pendingSchedules(t, server) > most; {
		if time.Now().After(end) {
			t.Fatalf("%d schedules are still pending, want %d", pendingSchedules(t, server), most)
		}
	}
}

// publications counts in the log how often each note was published and unpublished.
func publications(t *testing.T, s *program.Notes) map[string][2]int {
	t.Helper()
	d, err := gateway.Load(s.Dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	st, err := store.Open(filepath.Join(s.Dir, "data", "content.db"), d.Model, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	counts := map[string][2]int{}
	err = st.View(func(snap *store.Snapshot) error {
		entries, err := program.WholeLog(snap)
		if err != nil {
			return err
		}
		for _, e := range entries {
			for _, c := range snap.Changes(e) {
				n := counts[c.DocumentID]
				switch {
				case c.Type != "api::note.note":
					continue
				case c.Action == store.PublishedAction:
					n[0]++
				case c.Action == store.Unpublished:
					n[1]++
				}
				counts[c.DocumentID] = n
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return counts
}
