//go:build linux

package clusters

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"lectern/internal/servertest"

	"github.com/anishathalye/porcupine"
)

// A load is clients that write to the nodes of a cluster and read from them, and what they were told.
type load struct {
	*world
	history
	clients sync.WaitGroup
	stopped chan struct{}
	acked   atomic.Int64 // writes that were acknowledged
	claim   atomic.Int64 // the number of the value that clients race for
	errors  sync.Map     // answers that no client should get, with an example

	mu        sync.Mutex
	registers []*register
	appended  map[string]bool   // titles of entries that were acknowledged
	files     map[string]string // contents of files that were acknowledged, by URL
}

// A register is a document.
type register struct {
	id   string
	uses atomic.Int64
}

// maxUses is after how many operations a register is replaced: the time to check a history grows fast with its length.
const maxUses = 150

func newLoad(w *world) *load {
	l := &load{world: w, stopped: make(chan struct{}), appended: map[string]bool{}, files: map[string]string{},
		registers: make([]*register, 3)}
	l.began, l.counts = time.Now(), map[outcome]int{}
	for i := range l.registers {
		id := l.createOnce(w.rnd, "registers", fmt.Sprintf(`register-%d-0`, i), `{"data":{"value":""}}`)
		l.registers[i] = &register{id: id}
	}
	return l
}

// start starts clients.
func (l *load) start(n int, seed uint64) {
	for i := range n {
		l.clients.Go(func() { l.run(&client{load: l, number: i, rnd: rand.New(rand.NewPCG(seed, uint64(i)+2))}) })
	}
}

// stop ends the clients, each after its present operation.
func (l *load) stop() {
	close(l.stopped)
	l.clients.Wait()
}

func (l *load) ended() bool {
	select {
	case <-l.stopped:
		return true
	default:
		return false
	}
}

// progress waits until some more writes were acknowledged that began after the call.
func (l *load) progress() {
	l.Helper()
	from := l.acked.Load() + int64(2**clients) // those under way, and more
	servertest.Await(l, "writes go on", func() error {
		if l.acked.Load() < from {
			return errors.New(l.logs())
		}
		return nil
	})
}

// A client makes one request after the other.
type client struct {
	*load
	number, made int
	rnd          *rand.Rand
}

func (l *load) run(c *client) {
	for !l.ended() {
		c.made++
		switch turn := c.rnd.IntN(20); {
		case turn < 7:
			c.read()
		case turn < 11:
			c.write()
		case turn < 15:
			c.swap()
		case turn < 18:
			c.append()
		case turn < 19:
			c.race()
		default:
			c.upload()
		}
	}
}

// node returns the URL of a random node.
func (l *load) node(rnd *rand.Rand) string { return l.nodes[rnd.IntN(len(l.nodes))].base }

// pick returns a register.
func (c *client) pick() (name, path string) {
	i := c.rnd.IntN(len(c.registers))
	c.mu.Lock()
	r := c.registers[i]
	c.mu.Unlock()
	if r.uses.Add(1) == maxUses {
		next := &register{id: c.createOnce(c.rnd, "registers", fmt.Sprintf("register-%d-%d-%d", i, c.number, c.made),
			`{"data":{"value":""}}`)}
		c.mu.Lock()
		c.registers[i] = next
		c.mu.Unlock()
	}
	return r.id, "/api/registers/" + r.id
}

func (c *client) value() string { return fmt.Sprintf("%d.%d", c.number, c.made) }

// read reads a register as it is now.
func (c *client) read() {
	name, path := c.pick()
	c.record(c.number, operation{register: name, kind: reads}, func() result {
		a, err := c.ask("GET", c.node(c.rnd)+path, "", "Lectern-Consistency", "linearizable")
		return result{c.outcome("read", a, err, 200), a.text("value")}
	})
}

// readAged reads a register without asking for a recent state. The history has it as a read that began as long before
// the request as Lectern-Replica-Age allows, and a second more, since that counts full seconds.
func (c *client) readAged(name, path string) (a answer, read bool) {
	call := time.Now()
	a, err := c.ask("GET", c.node(c.rnd)+path, "")
	if err != nil || a.status != 200 {
		return a, false
	}
	if age, err := strconv.Atoi(a.header.Get("Lectern-Replica-Age")); err == nil {
		c.add(c.number, operation{register: name, kind: reads}, call.Add(-time.Duration(age+1)*time.Second),
			result{done, a.text("value")})
	} else if a.header["Lectern-Replica-Age"] != nil {
		c.errors.LoadOrStore("Lectern-Replica-Age", a.header)
	}
	return a, true
}

// write writes a register.
func (c *client) write() {
	name, path := c.pick()
	op := operation{register: name, kind: writes, to: c.value()}
	c.wrote(c.record(c.number, op, func() result {
		a, err := c.ask("PUT", c.node(c.rnd)+path, fmt.Sprintf(`{"data":{"value":%q}}`, op.to))
		return result{outcome: c.outcome("write", a, err, 200)}
	}))
}

// swap writes a register if it has not changed since it was read, which may have been from a node that was behind.
func (c *client) swap() {
	name, path := c.pick()
	before, read := c.readAged(name, path)
	if !read {
		return
	}
	op := operation{register: name, kind: swaps, from: before.text("value"), to: c.value()}
	c.wrote(c.record(c.number, op, func() result {
		a, err := c.ask("PUT", c.node(c.rnd)+path, fmt.Sprintf(`{"data":{"value":%q}}`, op.to), "If-Match",
			before.header.Get("ETag"))
		if err == nil && a.status == http.StatusPreconditionFailed {
			if c.deployed.Load() > 0 { // changed definitions are a reason too
				return result{outcome: refused}
			}
			return result{outcome: differs}
		}
		return result{outcome: c.outcome("swap", a, err, 200)}
	}))
}

// append creates an entry.
func (c *client) append() {
	title := fmt.Sprintf("entry %s", c.value())
	body := fmt.Sprintf(`{"data":{"title":%q}}`, title)
	c.createOnce(c.rnd, "entries", title, body)
	c.mu.Lock()
	c.appended[title] = true
	c.mu.Unlock()
}

// race makes the claim for which all clients race.
func (c *client) race() {
	number := c.claim.Load()
	op := operation{register: fmt.Sprintf("claim %d", number), kind: swaps, to: c.value()}
	r := c.record(c.number, op, func() result {
		a, err := c.ask("POST", c.node(c.rnd)+"/api/claims",
			fmt.Sprintf(`{"data":{"name":%q,"owner":%q}}`, op.register, op.to))
		if err == nil && a.status == http.StatusBadRequest && strings.Contains(a.body, "unique") {
			return result{outcome: differs}
		}
		return result{outcome: c.outcome("claim", a, err, 201)}
	})
	if c.wrote(r); r.outcome == differs {
		c.claim.CompareAndSwap(number, number+1)
	}
}

func (l *load) wrote(r result) {
	if r.outcome == done {
		l.acked.Add(1)
	}
}

// createOnce creates a document with an Idempotency-Key, and tries until it is known to be created. It returns the
// document's id. A read that asks for the revision of the answer must then find it.
func (l *load) createOnce(rnd *rand.Rand, plural, key, body string) (id string) {
	for late := time.Now().Add(2 * time.Minute); ; {
		a, err := l.ask("POST", l.node(rnd)+"/api/"+plural, body, "Idempotency-Key", `"`+key+`"`)
		if err == nil && a.status == http.StatusCreated {
			l.acked.Add(1)
			id = a.text("documentId")
			l.readSession(rnd, plural, id, a.header.Get("Lectern-Revision"))
			return id
		}
		if err == nil && a.status != http.StatusConflict { // 409: the first request is still at work
			l.outcome("create", a, err, 201)
		}
		if time.Now().After(late) {
			l.Errorf("%s was not created: %v %v", key, a, err)
			return ""
		}
		time.Sleep(time.Duration(1+rnd.IntN(20)) * time.Millisecond) // a client that tries again, at an arbitrary time
	}
}

// readSession reads a document that was written with a revision from another node.
func (l *load) readSession(rnd *rand.Rand, plural, id, revision string) {
	a, err := l.ask("GET", l.node(rnd)+"/api/"+plural+"/"+id, "", "Lectern-Revision", revision)
	if err == nil && a.status == http.StatusNotFound {
		l.Errorf("%s/%s, written with revision %s, is not found by a read that asks for it: %v", plural, id, revision,
			a.header)
	}
	l.outcome("session read", a, err, 200)
}

// outcome returns what an answer tells of a request whose success has a status, and notes answers that no client should
// get.
func (l *load) outcome(what string, a answer, err error, success int) outcome {
	var op *net.OpError
	switch {
	case errors.As(err, &op) && op.Op == "dial":
		return refused
	case err != nil:
		return unknown
	case a.status == success:
		return done
	case a.status == http.StatusInsufficientStorage && *disks > 0:
		return refused
	case a.status == http.StatusServiceUnavailable && strings.Contains(a.body, `"outcome":"refused"`):
		return refused
	case a.status == http.StatusServiceUnavailable:
		return unknown
	}
	l.errors.LoadOrStore(fmt.Sprintf("%s: %d", what, a.status), a.body)
	return unknown
}

// An answer is one of a node.
type answer struct {
	status int
	header http.Header
	body   string
}

// text returns an attribute of the document in an answer; "" if it is null.
func (a answer) text(name string) string {
	var parsed struct{ Data map[string]any }
	_ = json.Unmarshal([]byte(a.body), &parsed) // answers without a document have no attributes
	text, _ := parsed.Data[name].(string)
	return text
}

var httpClient = &http.Client{Timeout: 6 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: 64}}

// ask sends a request with a body of JSON, if it is not "", and headers.
func (w *world) ask(method, url, body string, headers ...string) (answer, error) {
	r, err := http.NewRequest(method, url, strings.NewReader(body))
	if err != nil {
		return answer{}, err
	}
	r.Header.Set("Authorization", "Bearer "+w.key)
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	got, err := httpClient.Do(r)
	if err != nil {
		return answer{}, err
	}
	defer got.Body.Close()
	text, err := io.ReadAll(got.Body)
	return answer{got.StatusCode, got.Header, string(text)}, err
}

func writeOperation(b *strings.Builder, op porcupine.Operation) {
	in, out := op.Input.(operation), op.Output.(result)
	end := "never"
	if op.Return != math.MaxInt64 {
		end = time.Duration(op.Return).String()
	}
	fmt.Fprintf(b, "%v - %s: client %d %s %q → %q: %s %q\n", time.Duration(op.Call), end, op.ClientId,
		[]string{"reads", "writes", "swaps"}[in.kind], in.from, in.to,
		[]string{"done", "differs", "refused", "unknown"}[out.outcome], out.value)
}
