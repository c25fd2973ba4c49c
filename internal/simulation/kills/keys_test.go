package kills

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"lectern/internal/simulation/program"
)

// A keyedWrite is the creation of a note, or of a user, with an idempotency key. It is sent until it is answered.
type keyedWrite struct {
	number  int // of the note or user, and of the key
	graphql bool
	user    bool
	answer  string // the first one; "" until there is one
	sent    int    // how often
}

// request returns the request of a write.
func (w *keyedWrite) request(server *program.Server) *http.Request {
	path, body := "/api/notes?status=draft", fmt.Sprintf(`{"data":{"number":%d}}`, w.number)
	if w.graphql {
		path, body = "/graphql",
			fmt.Sprintf(`{"query":"mutation{createNote(status:DRAFT,data:{number:%d}){documentId number updatedAt}}"}`,
				w.number)
	}
	if w.user { // a repeated creation would be refused, since the address is taken
		path, body = "/api/users",
			fmt.Sprintf(`{"username":"u%d","email":"u%d@people.test","password":"secret","role":1}`, w.number, w.number)
	}
	r, err := http.NewRequest("POST", server.Base+path, strings.NewReader(body))
	if err != nil {
		panic(err) // the address is one that the server has named
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer "+server.Token)
	r.Header.Set("Idempotency-Key", fmt.Sprintf(`"note %d"`, w.number))
	return r
}

// keyedWriters are clients that write with idempotency keys.
type keyedWriters struct {
	t      *testing.T
	server *program.Server
	mu     sync.Mutex
	writes []*keyedWrite

	replayed  int // answers that were given before, to the same client
	recovered int // answers to writes whose first answer was lost
}

// run sends writes, new ones and some that were answered, until the server is killed. It begins with those that were
// not answered.
func (k *keyedWriters) run() {
	k.mu.Lock()
	var lost []*keyedWrite
	for _, w := range k.writes {
		if w.answer == "" {
			lost = append(lost, w)
		}
	}
	k.mu.Unlock()
	var all sync.WaitGroup
	for client := range program.Writers {
		all.Go(func() {
			for i := client; i < len(lost); i += program.Writers {
				if !k.send(lost[i]) {
					return
				}
			}
			rnd := rand.New(rand.NewPCG(uint64(client), 13))
			for w := k.next(rnd); k.send(w); w = k.next(rnd) {
			}
		})
	}
	all.Wait()
}

// next returns a new write or, now and then, one that was answered.
func (k *keyedWriters) next(rnd *rand.Rand) *keyedWrite {
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.writes) > 0 && rnd.IntN(4) == 0 {
		if w := k.writes[rnd.IntN(len(k.writes))]; w.answer != "" {
			return w
		}
	}
	w := &keyedWrite{number: len(k.writes), graphql: rnd.IntN(3) == 0, user: rnd.IntN(30) == 0}
	k.writes = append(k.writes, w)
	return w
}

// send sends a write and returns false if the server is gone. The first answer is that of every later one.
func (k *keyedWriters) send(w *keyedWrite) bool {
	k.mu.Lock()
	w.sent++
	k.mu.Unlock()
	answer, err := program.Client.Do(w.request(k.server))
	if err != nil {
		return false
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return false
	}
	replayed := answer.Header.Get("Idempotency-Replayed") != ""
	k.mu.Lock()
	defer k.mu.Unlock()
	switch {
	case answer.StatusCode == http.StatusConflict: // the same write of another client is at work
	case answer.StatusCode != http.StatusCreated && answer.StatusCode != http.StatusOK ||
		strings.Contains(string(text), `"errors"`):
		k.t.Errorf("note %d: %d %s", w.number, answer.StatusCode, text)
	case w.answer != "":
		if k.replayed++; string(text) != w.answer || !replayed {
			k.t.Errorf("note %d was answered\n%s\nand then\n%s", w.number, w.answer, text)
		}
	default:
		w.answer = string(text)
		if replayed {
			k.recovered++
		}
	}
	return true
}

// verify compares the notes that a server has with the answers: no note is there twice, and each that was answered is
// there.
func (k *keyedWriters) verify() {
	k.t.Helper()
	found := map[int][]string{}
	for page := 1; ; page++ {
		status, answer, err := k.server.Do(
			"GET", fmt.Sprintf("/api/notes?status=draft&fields=number&sort=id&pagination[pageSize]=100&pagination[page]=%d", page), nil)
		if err != nil || status != 200 {
			k.t.Fatalf("list the notes: %d %v %v", status, answer, err)
		}
		rows := answer.(map[string]any)["data"].([]any)
		for _, x := range rows {
			row := x.(map[string]any)
			number := 0
			fmt.Sscan(fmt.Sprint(row["number"]), &number)
			found[number] = append(found[number], row["documentId"].(string))
		}
		if len(rows) < 100 {
			break
		}
	}
	status, users, err := k.server.Do("GET", "/api/users", nil)
	if err != nil || status != 200 {
		k.t.Fatalf("list the users: %d %v %v", status, users, err)
	}
	for _, x := range users.([]any) {
		row, number := x.(map[string]any), 0
		fmt.Sscanf(fmt.Sprint(row["username"]), "u%d", &number)
		found[number] = append(found[number], row["documentId"].(string))
	}
	for _, w := range k.writes {
		var shown struct {
			DocumentID string // of a user
			Data       struct {
				DocumentID string
				CreateNote struct{ DocumentID string }
			}
		}
		if w.answer != "" {
			if err := json.Unmarshal([]byte(w.answer), &shown); err != nil {
				k.t.Errorf("note %d: %v", w.number, err)
			}
		}
		ids := found[w.number]
		switch id := shown.DocumentID + shown.Data.DocumentID + shown.Data.CreateNote.DocumentID; {
		case len(ids) > 1:
			k.t.Errorf("note %d is there %d times", w.number, len(ids))
		case w.answer == "":
		case len(ids) == 0 || ids[0] != id:
			k.t.Errorf("note %d was answered as %q, and there is %v", w.number, id, ids)
		}
	}
}

// TestRepeatedWritesAreMadeOnce kills the server at random moments while clients write with idempotency keys, and send
// each write again until it is answered. No note may be there twice, none that was answered may be gone, and each key
// must have one answer.
func TestRepeatedWritesAreMadeOnce(t *testing.T) {
	s := program.NewNotes(t, program.Released)
	rnd := rand.New(rand.NewPCG(*program.Seed, 13))
	k := &keyedWriters{t: t}
	notes, replayed, recovered := 0, 0, 0
	for round := range *kills + 1 {
		k.server = s.Serve(t)
		if k.verify(); t.Failed() {
			t.Fatalf("round %d", round)
		}
		if round > 0 && (round%20 == 0 || round == *kills) { // answer what is left, and begin with an empty store
			for _, w := range k.writes {
				if w.answer == "" {
					k.send(w)
				}
			}
			k.verify()
			if err := k.server.Stop(); err != nil {
				t.Error(err)
			}
			notes, replayed, recovered = notes+len(k.writes), replayed+k.replayed, recovered+k.recovered
			s.Check(t)
			if round == *kills {
				break
			}
			s.NewData(t)
			k = &keyedWriters{t: t, server: s.Serve(t)}
		}
		k.server.KillAfter(time.Duration(5+rnd.IntN(150)) * time.Millisecond)
		k.run()
		<-k.server.Ended()
		s.Check(t)
	}
	t.Logf("%d kills, %d notes; %d answers were repeated, and %d given to clients whose first answer was lost", *kills,
		notes, replayed, recovered)
}
