package gateway_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"lectern/gateway"
)

// A steppedClock is the clock of the system, set forward or back.
type steppedClock struct{ by atomic.Int64 }

func (c *steppedClock) Now() time.Time                         { return time.Now().Add(time.Duration(c.by.Load())) }
func (c *steppedClock) After(d time.Duration) <-chan time.Time { return time.After(d) }

// A counterClient reads and writes a counter at any node of a cluster. Where a node does not tell the outcome, it asks
// the next one.
type counterClient struct {
	bases []*atomic.Pointer[string] // of the nodes; "" while they are stopped
	next  int
	token string
	path  string
}

// ask sends a request until a node answers what came of it.
func (c *counterClient) ask(method, body string, header ...string) (*http.Response, string, error) {
	for late := time.Now().Add(clusterPatience); ; c.next++ {
		if time.Now().After(late) {
			return nil, "", fmt.Errorf("%s: no node says what came of it", method)
		}
		base := *c.bases[c.next%len(c.bases)].Load()
		if base == "" {
			continue
		}
		r, err := http.NewRequest(method, base+c.path, strings.NewReader(body))
		if err != nil {
			return nil, "", err
		}
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Authorization", "Bearer "+c.token)
		for i := 0; i < len(header); i += 2 {
			r.Header.Set(header[i], header[i+1])
		}
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			continue // the node stops
		}
		text, err := io.ReadAll(answer.Body)
		answer.Body.Close()
		if err != nil || answer.StatusCode == http.StatusServiceUnavailable ||
			answer.StatusCode == http.StatusConflict {
			continue
		}
		return answer, string(text), nil
	}
}

// read returns the counter and its ETag.
func (c *counterClient) read() (n int, tag string, err error) {
	answer, text, err := c.ask("GET", "", "Lectern-Consistency", "linearizable")
	if err != nil {
		return 0, "", err
	}
	var is struct{ Data struct{ Title string } }
	if err = json.Unmarshal([]byte(text), &is); err == nil {
		n, err = strconv.Atoi(is.Data.Title)
	}
	if err != nil || answer.StatusCode != http.StatusOK {
		return 0, "", fmt.Errorf("GET: %d %s", answer.StatusCode, text)
	}
	return n, answer.Header.Get("ETag"), nil
}

// write sets the counter if it has not changed since it had this ETag, and reports whether it did.
func (c *counterClient) write(n int, tag, key string) (bool, error) {
	answer, text, err := c.ask("PUT", fmt.Sprintf(`{"data":{"title":"%d"}}`, n), "If-Match", tag, "Idempotency-Key",
		key)
	if err == nil && answer.StatusCode != http.StatusOK && answer.StatusCode != http.StatusPreconditionFailed {
		err = fmt.Errorf("PUT: %d %s", answer.StatusCode, text)
	}
	return err == nil && answer.StatusCode == http.StatusOK, err
}

// TestClusterHistoryIsThatOfACounter has clients of three nodes read a counter and write it plus one if it has not
// changed, while nodes stop and start, another one gets the lead, and clocks are set forward and back. The history must
// be that of a counter. Clocks differ by less than the day for which the answers to writes are kept.
func TestClusterHistoryIsThatOfACounter(t *testing.T) {
	nodes := newStoppedCluster(t, 3)
	clocks := make([]*steppedClock, len(nodes))
	bases := make([]*atomic.Pointer[string], len(nodes))
	for i, n := range nodes {
		clocks[i], bases[i] = &steppedClock{}, &atomic.Pointer[string]{}
		n.options.Clock = clocks[i]
		n.start()
		base := n.base
		bases[i].Store(&base)
	}
	token := nodes[0].token("counter")
	_, _, text := nodes[0].ask("POST", "/api/articles", token, `{"data":{"title":"0","slug":"counter"}}`)
	var made struct{ Data struct{ DocumentID string } }
	if err := json.Unmarshal([]byte(text), &made); err != nil || made.Data.DocumentID == "" {
		t.Fatal(text)
	}
	var (
		mu      sync.Mutex
		history []porcupine.Operation
		working sync.WaitGroup
		ended   atomic.Bool
	)
	wrote := make(chan struct{}, 1) // has a value if there was a write since the last look
	began := time.Now()
	record := func(client int, op swap, do func() (any, error)) any {
		call := time.Since(began)
		output, err := do()
		end := time.Since(began)
		mu.Lock()
		defer mu.Unlock()
		if err != nil {
			t.Error(err)
			ended.Store(true)
			return output
		}
		history = append(history, porcupine.Operation{ClientId: client, Input: op, Call: int64(call), Output: output,
			Return: int64(end)})
		return output
	}
	for id := range 4 {
		working.Go(func() {
			c := &counterClient{bases: bases, next: id, token: token, path: "/api/articles/" + made.Data.DocumentID}
			for turn := 0; !ended.Load(); turn++ {
				var tag string
				n := record(id, swap{reads: true}, func() (any, error) {
					n, is, err := c.read()
					tag = is
					return n, err
				}).(int)
				if record(id, swap{from: n, to: n + 1},
					func() (any, error) { return c.write(n+1, tag, fmt.Sprintf(`"%d-%d"`, id, turn)) }) == true {
					select {
					case wrote <- struct{}{}:
					default:
					}
				}
				c.next += turn % 2
			}
		})
	}
	rnd := rand.New(rand.NewPCG(3, 5))
	faults := 6
	if testing.Short() {
		faults = 3
	}
	stopped := ""
	for i := range faults {
		select {
		case <-wrote:
		case <-time.After(clusterPatience):
			t.Error("there are no writes any more")
		}
		for _, c := range clocks {
			c.by.Store(int64(time.Duration(rnd.IntN(22)-11) * time.Hour))
		}
		at := rnd.IntN(len(nodes))
		if n := nodes[at]; i%3 == 2 {
			operator := gateway.Directory(n.dir, gateway.Options{})
			if err := operator.TransferLead(context.Background(), ""); err != nil {
				t.Log(err) // there may be no leader
			}
		} else {
			bases[at].Store(&stopped)
			if err := n.stop(); err != nil {
				t.Error(err)
			}
			n.start()
			base := n.base
			bases[at].Store(&base)
		}
	}
	ended.Store(true)
	working.Wait()
	swapped, differed := 0, 0
	for _, op := range history {
		switch op.Output {
		case true:
			swapped++
		case false:
			differed++
		}
	}
	t.Logf("%d writes, and %d of a counter that had changed", swapped, differed)
	for i := range nodes {
		c := &counterClient{bases: bases[i : i+1], token: token, path: "/api/articles/" + made.Data.DocumentID}
		if n, _, err := c.read(); err != nil || n != swapped {
			t.Errorf("the counter is %d at node %d after %d writes (%v)", n, i+1, swapped, err)
		}
	}
	if result := porcupine.CheckOperationsTimeout(counterModel, history, 20*time.Second); result != porcupine.Ok {
		t.Errorf("the history is not that of a counter: %s", result)
	}
}
