package gateway_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"sync/atomic"
	"testing"
	"time"
)

// TestExpectedBodyIsSpared announces a body that is too large and waits for 100 (Continue): the client gets 413 and
// need not send it.
func TestExpectedBodyIsSpared(t *testing.T) {
	a := serve(t, nil)
	client := &http.Client{Transport: &http.Transport{ExpectContinueTimeout: time.Minute}}
	defer client.CloseIdleConnections()
	for _, c := range []struct {
		path   string
		length int64
		sent   bool
		status int
	}{
		{"/api/_batch", 1<<20 + 1, false, 413},
		{"/graphql", 1<<20 + 1, false, 413},
		{"/graphql", 1 << 20, true, 400}, // it is no JSON
	} {
		body := &seenReader{Reader: bytes.NewReader(make([]byte, c.length))}
		r, err := http.NewRequest("POST", a.Base+c.path, body)
		if err != nil {
			t.Fatal(err)
		}
		r.ContentLength = c.length
		r.Header = http.Header{"Expect": {"100-continue"}, "Content-Type": {"application/json"},
			"Authorization": {"Bearer " + a.Tokens["full"]}}
		answer, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if answer.StatusCode != c.status || body.seen.Load() != c.sent {
			t.Errorf("%s, %d bytes: %d, sent: %v", c.path, c.length, answer.StatusCode, body.seen.Load())
		}
	}
}

func gzipped(s string) string {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	io.WriteString(z, s)
	z.Close()
	return b.String()
}

// A seenReader records whether it was read.
type seenReader struct {
	io.Reader
	seen atomic.Bool
}

func (r *seenReader) Read(p []byte) (int, error) {
	r.seen.Store(true)
	return r.Reader.Read(p)
}
