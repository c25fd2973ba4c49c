package accesslog_test

import (
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"lectern/gateway/internal/accesslog"
)

var lines = []accesslog.Line{
	{},
	{ID: "A-1", Method: "GET", Route: "/api/articles/{documentId}", Status: 200, Bytes: 1734,
		Began: time.Date(2026, 1, 2, 3, 4, 5, 678e6, time.UTC), Took: 216042, Client: netip.MustParseAddr("192.0.2.7"),
		Principal: "public"},
	{ID: "A-2", Method: "POST", Route: "none", Path: "/a%20\"b\\…<&>", Status: 404, Took: -1,
		Began: time.Date(2026, 1, 2, 3, 4, 5, 0, time.FixedZone("", 5400)), Client: netip.MustParseAddr("fe80::1%eth0"),
		Principal: "user", Name: "ada\n\x01\u2028 \xff", User: 1<<64 - 1, Reason: "permission"},
}

// TestLinesAreThoseOfSlog compares each line with what slog writes of the same attributes.
func TestLinesAreThoseOfSlog(t *testing.T) {
	for _, format := range []string{"json", "text"} {
		for i, line := range lines {
			var got, want bytes.Buffer
			log := accesslog.New(&got, format == "json", nil)
			accesslog.Of(log).Write(t.Context(), &line)
			accesslog.Of(log).Flush()
			options := &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
				if a.Key == slog.TimeKey {
					a.Value = slog.TimeValue(line.Began.Add(line.Took))
				}
				return a
			}}
			if format == "json" {
				line.LogTo(t.Context(), slog.New(slog.NewJSONHandler(&want, options)), slog.LevelInfo)
				if diff := cmp.Diff(decoded(t, &want), decoded(t, &got)); diff != "" {
					t.Errorf("line %d: %s", i, diff)
				}
				continue
			}
			line.LogTo(t.Context(), slog.New(slog.NewTextHandler(&want, options)), slog.LevelInfo)
			_, wanted, _ := strings.Cut(want.String(), " ") // without the time, which is that of the call
			if _, rest, _ := strings.Cut(got.String(), " "); rest != wanted {
				t.Errorf("line %d is %q, want %q", i, rest, wanted)
			}
		}
	}
}

// decoded returns the members of a JSON object as their names and texts, in their order.
func decoded(t *testing.T, line io.Reader) (members []any) {
	t.Helper()
	d := json.NewDecoder(line)
	d.UseNumber()
	for {
		token, err := d.Token()
		if err == io.EOF {
			return members
		}
		if err != nil {
			t.Fatal(err)
		}
		members = append(members, token)
	}
}

// A counter is what a log writes to. It counts the writes.
type counter struct {
	mu     sync.Mutex
	writes int
	text   strings.Builder
}

func (c *counter) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.writes++
	return c.text.Write(p)
}

func (c *counter) state() (writes, lines int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.writes, strings.Count(c.text.String(), "\n")
}

// TestLinesOfRequestsWait counts the writes of a log.
func TestLinesOfRequestsWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out counter
		log := accesslog.New(&out, true, slog.LevelWarn)
		requests := accesslog.Of(log)
		expect := func(writes, lines int) {
			t.Helper()
			if w, l := out.state(); w != writes || l != lines {
				t.Errorf("%d writes of %d lines, want %d of %d", w, l, writes, lines)
			}
		}
		write := func(n int) {
			for range n {
				requests.Write(t.Context(), &lines[1])
			}
		}
		write(2)
		time.Sleep(accesslog.Delay - 1)
		expect(0, 0)
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		expect(1, 2)
		write(1)
		log.Info("not at this level")
		expect(1, 2)
		log.Warn("at once")
		expect(2, 4)
		if text := out.text.String(); !strings.HasSuffix(text, `"msg":"at once"}`+"\n") {
			t.Errorf("the line is not the last one of %s", text)
		}
		time.Sleep(accesslog.Delay)
		synctest.Wait()
		expect(2, 4) // nothing waited
		write(1)
		requests.Flush()
		expect(3, 5)
		write(5000)
		if writes, _ := out.state(); writes < 10 || writes > 50 {
			t.Errorf("%d writes of 5000 lines", writes)
		}
	})
}

// TestLineLosesNothing writes from several goroutines, and expects whole lines.
func TestLineLosesNothing(t *testing.T) {
	var out counter
	log := accesslog.New(&out, true, nil)
	var writing sync.WaitGroup
	for range 4 {
		writing.Go(func() {
			for i := range 500 {
				if i%50 == 0 {
					log.Info("now and then")
				}
				accesslog.Of(log).Write(t.Context(), &lines[2])
			}
		})
	}
	writing.Wait()
	accesslog.Of(log).Flush()
	n := 0
	for line := range strings.Lines(out.text.String()) {
		if n++; !json.Valid([]byte(line)) {
			t.Fatalf("not a line: %s", line)
		}
	}
	if n != 4*510 {
		t.Errorf("%d lines, want %d", n, 4*510)
	}
}

func TestWriteAllocatesNothing(t *testing.T) {
	requests := accesslog.Of(accesslog.New(io.Discard, true, nil))
	requests.Flush()
	if n := testing.AllocsPerRun(1000, func() { requests.Write(t.Context(), &lines[1]) }); n > 0 {
		t.Errorf("a line takes %v allocations", n)
	}
}
