package gateway_test

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"runtime"
	"strings"
	"testing"

	"lectern/internal/budget"
)

// A waiting is a client that waits for changes.
type waiting struct {
	net.Conn
	status int
	header http.Header
}

// wait sends a request that is answered with a stream of events, and reads the head of the answer.
func (c *circle) wait(method, path, body string) *waiting {
	c.t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(c.Base, "http://"))
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() { conn.Close() })
	fmt.Fprintf(conn, "%s %s HTTP/1.1\r\nHost: x\r\nAccept: text/event-stream\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", method, path, len(body), body)
	answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		c.t.Fatal(err)
	}
	return &waiting{conn, answer.StatusCode, answer.Header}
}

// subscribe waits for changes of posts that have a title, with more variables in the request.
func (c *circle) subscribe(title, more string) *waiting {
	c.t.Helper()
	return c.wait("POST", "/graphql",
		fmt.Sprintf(`{"query":"subscription($t:String){postChanged(filters:{title:{eq:$t}}){document{title}}}","variables":{"t":%q%s}}`, title, more))
}

// TestListenersKeepLittle expects a listener to keep what it needs of its request, and to reserve that until it leaves.
func TestListenersKeepLittle(t *testing.T) {
	unused := `,"unused":` + listOf(`{"":0}`, 20<<10)
	for name, test := range map[string]struct {
		wait        func(*circle) *waiting
		least, most int64 // bytes that a listener reserves
	}{
		"changes": {func(c *circle) *waiting { return c.wait("GET", "/api/_changes?feed=eventsource", "") }, 1 << 10,
			8 << 10},
		"one locale, very many times": {func(c *circle) *waiting {
			return c.wait("GET", "/api/_changes?feed=eventsource&locale="+strings.Repeat("en,", 20_000), "")
		}, 1 << 10, 8 << 10},
		"a type, very many times": {func(c *circle) *waiting {
			return c.wait("GET", "/api/_changes?feed=eventsource&types="+strings.Repeat("posts,", 9_000), "")
		}, 1 << 10, 8 << 10},
		"a long locale": {func(c *circle) *waiting {
			return c.wait("GET", "/api/_changes?feed=eventsource&locale="+strings.Repeat("e", 50<<10), "")
		}, 50 << 10, 64 << 10},
		"a selection": {func(c *circle) *waiting {
			return c.wait("GET", "/api/_changes?feed=eventsource&include=document&"+
				strings.Repeat("fields[]=title&", 90)+"types=posts", "")
		}, 1 << 10, 8 << 10},
		"a subscription": {func(c *circle) *waiting { return c.subscribe("a", "") }, 1 << 10,
			8 << 10},
		"variables that are not used": {func(c *circle) *waiting { return c.subscribe("a", unused) }, 1 << 10,
			8 << 10},
		"a long variable that is used": {func(c *circle) *waiting {
			return c.subscribe(strings.Repeat("x", 60<<10),
				unused)
		}, 60 << 10, 72 << 10},
		"a long path and very many headers": {func(c *circle) *waiting { return c.subscribeLong() }, 1 << 10, 8 << 10},
	} {
		t.Run(name, func(t *testing.T) {
			c := newParsed(t, "{memory: 128mb}")
			const listeners = 25
			var all []*waiting
			before := heap()
			for range listeners {
				w := test.wait(c)
				if all = append(all, w); w.status != 200 {
					t.Fatalf("%d", w.status)
				}
			}
			c.until("the requests to end", func(m budget.Stats) bool {
				return m.Reserved >= listeners*test.least && m.Reserved <= listeners*test.most
			})
			// Beside what is reserved, a listener has a connection with its buffers, here at both ends.
			if each := (heap() - before) / listeners; each > test.most+16<<10 {
				t.Errorf("a listener takes %d bytes", each)
			}
			for _, w := range all {
				w.Close()
			}
			c.until("all to be given back", func(m budget.Stats) bool { return m.Reserved == 0 })
		})
	}
}

// subscribeLong subscribes with a request whose head is long.
func (c *circle) subscribeLong() *waiting {
	c.t.Helper()
	var headers strings.Builder
	for i := range 200 {
		fmt.Fprintf(&headers, "\r\nX-%d: %s", i, strings.Repeat("x", 50))
	}
	return c.wait("POST", "/graphql?"+strings.Repeat("x", 45<<10)+" HTTP/1.1"+headers.String()+"\r\nX:",
		`{"query":"subscription{postChanged{seq}}"}`)
}

// heap returns how many bytes of the heap are in use.
func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC() // also what pools have kept
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// TestListenersWithoutMemoryAreRefused subscribes with long variables until the memory of listeners, a quarter of
// limits.memory, is used up. Further ones are refused with 503, everything else is answered, and listeners are taken
// again when others have left.
func TestListenersWithoutMemoryAreRefused(t *testing.T) {
	c := newParsed(t, "{memory: 32mb, answer: 16mb}")
	long := strings.Repeat("x", 900<<10)
	var all []*waiting
	for len(all) < 20 {
		w := c.subscribe(long, "")
		if w.status != 200 {
			if w.status != 503 || w.header.Get("Retry-After") == "" {
				t.Errorf("%d %v", w.status, w.header)
			}
			break
		}
		all = append(all, w)
	}
	if len(all) < 4 || len(all) > 9 {
		t.Fatalf("%d subscriptions of 900 KiB have room in 8 MiB", len(all))
	}
	if m := c.memory(); m.Reserved > 10<<20 {
		t.Errorf("%+v", m)
	}
	if got := c.do("POST", "/graphql", "", `{"query":"{__typename}","variables":{"x":`+listOf(`{"":0}`, 100<<10)+
		`}}`); got.status != 200 {
		t.Errorf("a request beside them: %d %.300s", got.status, got.text)
	}
	for _, w := range all {
		w.Close()
	}
	c.until("all to be given back", func(m budget.Stats) bool { return m.Reserved == 0 })
	if w := c.subscribe(long, ""); w.status != 200 {
		t.Errorf("after that: %d", w.status)
	}
}

// TestSubscriptionKeepsItsVariables expects a subscription to go by its variables for as long as it lasts.
func TestSubscriptionKeepsItsVariables(t *testing.T) {
	c := newParsed(t, "{memory: 128mb}")
	w := c.subscribe("wanted", `,"unused":[1,2,3]`)
	for _, title := range []string{"other", "wanted"} {
		if got := c.do("POST", "/api/posts", "", `{"data":{"title":"`+title+`"}}`); got.status != 201 {
			t.Fatalf("%d %s", got.status, got.text)
		}
	}
	for lines := bufio.NewScanner(w); lines.Scan(); {
		if line := lines.Text(); strings.Contains(line, `"title":"wanted"`) {
			return
		} else if strings.Contains(line, `"title":"other"`) {
			t.Fatal(line)
		}
	}
	t.Error("the stream has ended")
}
