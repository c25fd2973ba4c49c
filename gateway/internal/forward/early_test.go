package forward

import (
	"bufio"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"
)

// closesAtOnce answers connections with an error as soon as they have the head of a request, and closes them. The
// system then resets them, because the body is not read.
func closesAtOnce(t *testing.T, text string) string {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close() })
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				if _, err := http.ReadRequest(bufio.NewReader(c)); err != nil {
					return
				}
				answer := http.Response{StatusCode: 413, ProtoMajor: 1, ProtoMinor: 1, Close: true,
					ContentLength: int64(len(text)), Body: io.NopCloser(strings.NewReader(text))}
				_ = answer.Write(c)
			}()
		}
	}()
	return "http://" + ln.Addr().String()
}

// readsNoBody is a server of net/http that answers without reading bodies.
func readsNoBody(t *testing.T, text string) string {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(413)
		_, _ = io.WriteString(w, text)
	}))
	t.Cleanup(srv.Close)
	return srv.URL
}

// TestForwardedAnsweredEarly forwards long requests to origins that refuse them before they have read the body. The
// client gets the whole answer.
func TestForwardedAnsweredEarly(t *testing.T) {
	for _, c := range []struct {
		name   string
		origin func(t *testing.T, text string) string
		answer int // its length
	}{
		{"a short answer", readsNoBody, 100},
		{"a long answer", readsNoBody, 1 << 20},
		{"the connection is reset", closesAtOnce, 100},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := strings.Repeat("x", c.answer)
			at, err := url.Parse(c.origin(t, text))
			if err != nil {
				t.Fatal(err)
			}
			f := New(Link{fixedUpstream{at}, "1.1 test", &http.Transport{DialContext: (&net.Dialer{}).DialContext}},
				nil, time.Hour, slog.New(slog.DiscardHandler))
			defer f.Close()
			for range 50 {
				w := httptest.NewRecorder()
				err := f.Send(w, httptest.NewRequest("POST", "/api/upload",
					strings.NewReader(strings.Repeat("y", 8<<20))), at)
				if err != nil || w.Code != 413 || w.Body.String() != text {
					t.Fatalf("%d with %d bytes: %v", w.Code, w.Body.Len(), err)
				}
			}
		})
	}
}
