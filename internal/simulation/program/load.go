package program

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"
)

// Writers is the number of concurrent clients.
const Writers = 16

// An Entry records a note that a writer has made, and the responses to its writes.
type Entry struct {
	Key        string
	DocumentID string // "" until the creation is acknowledged
	Acked      int    // number of the last acknowledged write
	Tried      int    // number of the last write sent
	Writes     []Ack  // by number, from 1; Received is zero if the write was not acknowledged
}

// An Ack is a write that the server has acknowledged.
type Ack struct{ Sent, Received time.Time }

// A Load is a number of concurrent clients that create and change notes. Each ends after Limit acknowledgements, after
// a failed request, or when Stop is closed.
type Load struct {
	Server *Server
	Board  string
	Prefix string
	Limit  int
	Stop   chan struct{}
	OnAck  func(n int) // called with the number of acknowledged writes, never concurrently; may be nil

	mu       sync.Mutex
	Entries  []*Entry
	Acks     []Ack
	Refusals []time.Time // when requests were sent that got an error
}

// Run runs the clients and returns when all have ended.
func (l *Load) Run() {
	var all sync.WaitGroup
	for i := range Writers {
		all.Go(func() { l.write(i) })
	}
	all.Wait()
}

func (l *Load) write(writer int) {
	rng := rand.New(rand.NewPCG(uint64(writer), 3))
	var mine []*Entry
	for n := 0; l.Limit == 0 || n < l.Limit; n++ {
		select {
		case <-l.Stop:
			return
		default:
		}
		var e *Entry
		if len(mine) > 0 && rng.IntN(5) < 2 {
			e = mine[rng.IntN(len(mine))]
		} else {
			e = &Entry{Key: fmt.Sprintf("%s-%d-%d", l.Prefix, writer, n)}
			l.mu.Lock()
			l.Entries = append(l.Entries, e)
			l.mu.Unlock()
		}
		if !l.save(e) {
			return
		}
		if e.Acked == 1 {
			mine = append(mine, e)
		}
	}
}

// save sends the next write of an Entry and reports whether it was acknowledged.
func (l *Load) save(e *Entry) bool {
	e.Tried++
	method, path := "POST", "/api/notes"
	data := map[string]any{"number": e.Tried}
	if e.DocumentID != "" {
		method, path = "PUT", path+"/"+e.DocumentID
	} else {
		data["key"], data["board"] = e.Key, l.Board
	}
	sent := time.Now()
	e.Writes = append(e.Writes, Ack{Sent: sent})
	status, answer, err := l.Server.Do(method, path, map[string]any{"data": data})
	received := time.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	if err != nil {
		return false
	}
	if status != 200 && status != 201 {
		l.Refusals = append(l.Refusals, sent)
		return false
	}
	e.DocumentID = answer.(map[string]any)["data"].(map[string]any)["documentId"].(string)
	e.Acked, e.Writes[e.Tried-1].Received = e.Tried, received
	l.Acks = append(l.Acks, Ack{sent, received})
	if l.OnAck != nil {
		l.OnAck(len(l.Acks))
	}
	return true
}

// Verify checks that every acknowledged write is present exactly once, in both versions.
func (l *Load) Verify(t *testing.T, server *Server) {
	t.Helper()
	for _, status := range []string{"published", "draft"} {
		found := Stored(t, server, status)
		for _, e := range l.Entries {
			rows := found[e.Key]
			switch {
			case len(rows) > 1:
				t.Errorf("%s is there %d times as %s", e.Key, len(rows), status)
			case e.Acked == 0:
			case len(rows) == 0:
				t.Errorf("%s was acknowledged and is gone as %s", e.Key, status)
			case rows[0].DocumentID != e.DocumentID || rows[0].Number < e.Acked || rows[0].Number > e.Tried,
				!rows[0].OnBoard:
				t.Errorf("%s is %+v as %s; acknowledged was %+v", e.Key, rows[0], status, *e)
			}
		}
	}
}

// NewBoard creates the board that all notes of a Load belong to.
func NewBoard(t *testing.T, server *Server) string {
	t.Helper()
	status, answer, err := server.Do("POST", "/api/boards", map[string]any{"data": map[string]any{"name": "board"}})
	if err != nil || status != 201 {
		t.Fatalf("make a board: %d %v %v", status, answer, err)
	}
	return answer.(map[string]any)["data"].(map[string]any)["documentId"].(string)
}
