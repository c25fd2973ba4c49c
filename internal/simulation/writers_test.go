package simulation

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"
)

// writers is the number of concurrent clients.
const writers = 16

// An entry records a note that a writer has made, and the responses to its writes.
type entry struct {
	key        string
	documentID string // "" until the creation is acknowledged
	acked      int    // number of the last acknowledged write
	tried      int    // number of the last write sent
	writes     []ack  // by number, from 1; received is zero if the write was not acknowledged
	restored   int    // number of the last write that a backup has
}

// An ack is a write that the server has acknowledged.
type ack struct{ sent, received time.Time }

// A load is a number of concurrent clients that create and change notes. Each ends after limit acknowledgements, after a
// failed request, or when stop is closed.
type load struct {
	server *Server
	board  string
	prefix string
	limit  int
	stop   chan struct{}
	onAck  func(n int) // called with the number of acknowledged writes, never concurrently; may be nil

	mu       sync.Mutex
	entries  []*entry
	acks     []ack
	refusals []time.Time // when requests were sent that got an error
}

// run runs the clients and returns when all have ended.
func (l *load) run() {
	var all sync.WaitGroup
	for i := range writers {
		all.Go(func() { l.write(i) })
	}
	all.Wait()
}

func (l *load) write(writer int) {
	rng := rand.New(rand.NewPCG(uint64(writer), 3))
	var mine []*entry
	for n := 0; l.limit == 0 || n < l.limit; n++ {
		select {
		case <-l.stop:
			return
		default:
		}
		var e *entry
		if len(mine) > 0 && rng.IntN(5) < 2 {
			e = mine[rng.IntN(len(mine))]
		} else {
			e = &entry{key: fmt.Sprintf("%s-%d-%d", l.prefix, writer, n)}
			l.mu.Lock()
			l.entries = append(l.entries, e)
			l.mu.Unlock()
		}
		if !l.save(e) {
			return
		}
		if e.acked == 1 {
			mine = append(mine, e)
		}
	}
}

// save sends the next write of an entry and reports whether it was acknowledged.
func (l *load) save(e *entry) bool {
	e.tried++
	method, path := "POST", "/api/notes"
	data := map[string]any{"number": e.tried}
	if e.documentID != "" {
		method, path = "PUT", path+"/"+e.documentID
	} else {
		data["key"], data["board"] = e.key, l.board
	}
	sent := time.Now()
	e.writes = append(e.writes, ack{sent: sent})
	status, answer, err := l.server.Do(method, path, map[string]any{"data": data})
	received := time.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	if err != nil {
		return false
	}
	if status != 200 && status != 201 {
		l.refusals = append(l.refusals, sent)
		return false
	}
	e.documentID = answer.(map[string]any)["data"].(map[string]any)["documentId"].(string)
	e.acked, e.writes[e.tried-1].received = e.tried, received
	l.acks = append(l.acks, ack{sent, received})
	if l.onAck != nil {
		l.onAck(len(l.acks))
	}
	return true
}

// verify checks that every acknowledged write is present exactly once, in both versions.
func (l *load) verify(t *testing.T, server *Server) {
	t.Helper()
	for _, status := range []string{published, draft} {
		found := stored(t, server, status)
		for _, e := range l.entries {
			rows := found[e.key]
			switch {
			case len(rows) > 1:
				t.Errorf("%s is there %d times as %s", e.key, len(rows), status)
			case e.acked == 0:
			case len(rows) == 0:
				t.Errorf("%s was acknowledged and is gone as %s", e.key, status)
			case rows[0].documentID != e.documentID || rows[0].number < e.acked || rows[0].number > e.tried || !rows[0].onBoard:
				t.Errorf("%s is %+v as %s; acknowledged was %+v", e.key, rows[0], status, *e)
			}
		}
	}
}

// newBoard creates the board that all notes of a load belong to.
func newBoard(t *testing.T, server *Server) string {
	t.Helper()
	status, answer, err := server.Do("POST", "/api/boards", map[string]any{"data": map[string]any{"name": "board"}})
	if err != nil || status != 201 {
		t.Fatalf("make a board: %d %v %v", status, answer, err)
	}
	return answer.(map[string]any)["data"].(map[string]any)["documentId"].(string)
}
