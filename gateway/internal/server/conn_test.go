package server_test

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"lectern/auth"
	"lectern/documents/apierror"
	"lectern/gateway/internal/server"
)

// A countingListener counts the writes to its connections, except those that send several buffers in one call.
type countingListener struct {
	net.Listener
	writes atomic.Int64
}

func (l *countingListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return countedConn{c.(*net.TCPConn), &l.writes}, nil
}

type countedConn struct {
	*net.TCPConn
	writes *atomic.Int64
}

func (c countedConn) Write(p []byte) (int, error) {
	c.writes.Add(1)
	return c.TCPConn.Write(p)
}

// serveCounted serves on a countingListener until the test ends.
func serveCounted(t *testing.T, s *server.Server) (ln *countingListener, base string) {
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ln = &countingListener{Listener: tcp}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- s.Serve(ctx, ln) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return ln, "http://" + tcp.Addr().String()
}

// TestAnswersInOnePiece sends answers of many lengths. A long answer of a route with Whole is sent in one call,
// together with its head; other long answers take several calls. An answer that lacks a byte arrives as incomplete, and
// an answer that is flushed arrives in its parts.
func TestAnswersInOnePiece(t *testing.T) {
	text := strings.Repeat("0123456789", 3000)
	handle := func(w http.ResponseWriter, r *http.Request, _ auth.Principal) error {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return err
		}
		n, err := strconv.Atoi(string(body))
		if err != nil {
			return err
		}
		w.Header().Set("Content-Length", string(body))
		if r.Header.Get("Cut") != "" {
			n--
		}
		_, err = w.Write([]byte(text)[:n])
		return err
	}
	s, err := server.New(server.Config{}, server.API{Probes: healthy, Routes: []server.Route{
		{Method: "POST", Path: "/whole", Open: true, Whole: true, Handle: handle},
		{Method: "POST", Path: "/parts", Open: true, Handle: handle},
		{Method: "GET", Path: "/flushed", Open: true,
			Handle: func(w http.ResponseWriter, r *http.Request, _ auth.Principal) error {
				w.Header().Set("Content-Length", "5000")
				for n := 5000; n > 0; n -= 1000 {
					if _, err := io.WriteString(w, text[:1000]); err != nil {
						return err
					}
					if err := http.NewResponseController(w).Flush(); err != nil {
						return err
					}
				}
				return nil
			}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	ln, base := serveCounted(t, s)
	ask := func(method, path string, n int, cut string) (string, error) {
		r, err := http.NewRequest(method, base+path, strings.NewReader(strconv.Itoa(n)))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Cut", cut)
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			return "", err
		}
		defer answer.Body.Close()
		body, err := io.ReadAll(answer.Body)
		return string(body), err
	}

	sizes := []int{1, 4096, 8192, 20_000}
	for n := 3000; n < 4100; n++ { // including answers that fill the buffer together with their head
		sizes = append(sizes, n)
	}
	for _, n := range sizes {
		for _, path := range []string{"/whole", "/parts"} {
			before := ln.writes.Load()
			body, err := ask("POST", path, n, "")
			if err != nil || body != text[:n] {
				t.Fatalf("%s: %d bytes of %d came: %v", path, len(body), n, err)
			}
			switch writes := ln.writes.Load() - before; {
			case n > 4096 && path == "/whole" && writes != 0:
				t.Fatalf("%d bytes were sent in %d pieces", n, writes)
			case n > 4096 && path == "/parts" && writes < 2:
				t.Fatalf("%d bytes were sent in %d pieces by a route that does not ask for one", n, writes)
			}
		}
	}
	for _, n := range []int{3000, 4097, 9000} {
		if body, err := ask("POST", "/whole", n, "yes"); err == nil {
			t.Errorf("an answer that lacks a byte of %d came as whole, with %d", n, len(body))
		}
		if body, err := ask("POST", "/whole", n, ""); err != nil || len(body) != n {
			t.Errorf("after an answer that lacks a byte: %d of %d, %v", len(body), n, err)
		}
	}
	before := ln.writes.Load()
	if body, err := ask("GET", "/flushed", 0, ""); err != nil || len(body) != 5000 || ln.writes.Load()-before != 5 {
		t.Errorf("a flushed answer: %d bytes in %d pieces, %v", len(body), ln.writes.Load()-before, err)
	}
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

// TestConstantHeaders expects each of the common headers once in every answer, with the value that the program set if
// it set one. A client whose request is refused does not have to send its body first.
func TestConstantHeaders(t *testing.T) {
	always := map[string]string{
		"X-Content-Type-Options": "nosniff", "X-Frame-Options": "SAMEORIGIN", "Referrer-Policy": "no-referrer",
		"Strict-Transport-Security": "max-age=31536000; includeSubDomains",
	}
	type handle = func(w http.ResponseWriter, r *http.Request, _ auth.Principal) error
	answer := func(length int, headers ...string) handle {
		return func(w http.ResponseWriter, r *http.Request, _ auth.Principal) error {
			if _, err := io.Copy(io.Discard, r.Body); err != nil {
				return err
			}
			for i := 0; i < len(headers); i += 2 {
				if w.Header().Del(headers[i]); headers[i+1] != "" {
					w.Header().Set(headers[i], headers[i+1])
				}
			}
			_, err := w.Write(bytes.Repeat([]byte("a"), length))
			return err
		}
	}
	wrapped := []server.Middleware{func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("X-Frame-Options", "DENY")
			next.ServeHTTP(w, r)
		})
	}}
	s, err := server.New(server.Config{Compress: true, HTTPS: true, Log: slog.New(slog.DiscardHandler)},
		server.API{Probes: healthy, Routes: []server.Route{
			{Method: "POST", Path: "/whole", Open: true, Whole: true, Handle: answer(10)},
			{Method: "POST", Path: "/long", Open: true, Whole: true, Handle: answer(20_000)},
			{Method: "POST", Path: "/head", Open: true, Whole: true,
				Handle: answer(20_000, "Long", strings.Repeat("b", 9000))},
			{Method: "POST", Path: "/changed", Open: true, Handle: answer(10, "X-Frame-Options", "", "Referrer-Policy",
				"origin")},
			{Method: "POST", Path: "/wrapped", Open: true, Handle: answer(10), Middlewares: wrapped},
			{Method: "POST", Path: "/panics", Open: true, Whole: true,
				Handle: func(http.ResponseWriter, *http.Request, auth.Principal) error { panic("at work") }},
			{Method: "POST", Path: "/fails", Open: true,
				Handle: func(http.ResponseWriter, *http.Request, auth.Principal) error { return apierror.Forbidden() }},
		}})
	if err != nil {
		t.Fatal(err)
	}
	_, base := serveCounted(t, s)
	// A client that waits for "100 Continue" before it sends its body receives two heads. The first is not the answer.
	client := &http.Client{Transport: &http.Transport{ExpectContinueTimeout: 10 * time.Second,
		DisableCompression: true}}
	defer client.CloseIdleConnections()
	for _, c := range []struct {
		path    string
		status  int
		changed map[string]string
	}{
		{"/whole", 200, nil},
		{"/long", 200, nil},
		{"/head", 200, nil},
		{"/changed", 200, map[string]string{"X-Frame-Options": "", "Referrer-Policy": "origin"}},
		{"/wrapped", 200, map[string]string{"X-Frame-Options": "DENY"}},
		{"/panics", 500, nil},
		{"/fails", 403, nil},
		{"/nothing", 405, nil},
		{"/_health", 204, nil},
	} {
		for _, expect := range []string{"", "100-continue"} {
			for _, encoding := range []string{"", "gzip"} {
				body := &seenReader{Reader: strings.NewReader("body")}
				r, err := http.NewRequest("POST", base+c.path, body)
				if err != nil {
					t.Fatal(err)
				}
				r.ContentLength = 4
				r.Header = http.Header{"Expect": {expect}, "Accept-Encoding": {encoding}}
				answer, err := client.Do(r)
				if err != nil {
					t.Fatal(err)
				}
				if _, err := io.Copy(io.Discard, answer.Body); err != nil {
					t.Errorf("%s: %v", c.path, err)
				}
				answer.Body.Close()
				if answer.StatusCode != c.status {
					t.Errorf("%s: status %d", c.path, answer.StatusCode)
				}
				if expect != "" && body.seen.Load() != (c.status == 200) {
					t.Errorf("%s: status %d, and the body was sent: %t", c.path, c.status, body.seen.Load())
				}
				for name, want := range always {
					if changed, is := c.changed[name]; is {
						want = changed
					}
					if got := strings.Join(answer.Header[name], "|"); got != want {
						t.Errorf("%s, expecting %q, taking %q: %s is %q, want %q", c.path, expect, encoding, name, got,
							want)
					}
				}
			}
		}
	}
}
