package gateway_test

import (
	"fmt"
	"io"
	"net/http"
	"testing"

	"lectern/internal/servertest"
)

// TestAmbiguousFramingEndsTheConnection sends requests with Content-Length, with Transfer-Encoding and with both, each
// followed by another request. After Transfer-Encoding the connection ends, so that nothing is taken for a request that
// a proxy took for a part of a body.
func TestAmbiguousFramingEndsTheConnection(t *testing.T) {
	a := serve(t, nil)
	const next = "GET /_ready HTTP/1.1\r\nHost: a\r\n\r\n"
	for _, c := range []struct {
		name, method, head, body string
		ends                     bool
	}{
		{"the length", "POST", "Content-Length: 2\r\n", "{}", false},
		{"no body", "GET", "", "", false},
		{"chunks", "POST", "Transfer-Encoding: chunked\r\n", "2\r\n{}\r\n0\r\n\r\n", true},
		{"both", "POST", "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", "2\r\n{}\r\n0\r\n\r\n", true},
		{"both, in the other order", "POST", "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n",
			"2\r\n{}\r\n0\r\n\r\n", true},
		{"both, without a content", "GET", "content-length: 4\r\ntransfer-encoding: Chunked\r\n", "0\r\n\r\n", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			conn := servertest.DialFrom(t, "127.0.0.1", a.Base)
			conn.Send(fmt.Sprintf("%s /api/articles HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n%s\r\n%s%s", c.method, c.head, c.body, next))
			answer, err := http.ReadResponse(conn.Answers, nil)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := io.Copy(io.Discard, answer.Body); err != nil {
				t.Fatal(err)
			}
			if answer.Close != c.ends {
				t.Errorf("the answer %d says close: %t", answer.StatusCode, answer.Close)
			}
			if _, err := http.ReadResponse(conn.Answers, nil); (err != nil) != c.ends {
				t.Errorf("the next answer: %v", err)
			}
		})
	}
}
