package gateway_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"lectern/documents"
	"lectern/gateway"
)

// A countingListener counts the writes of its connections, but for those that send several pieces at once.
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

// An answer that is written in one piece is sent in one, whatever its length, and nothing of it stays behind.
func TestAnswersInOnePiece(t *testing.T) {
	text := strings.Repeat("0123456789", 3000)
	handle := func(w http.ResponseWriter, r *http.Request, _ *documents.Access) error {
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
	s, err := gateway.NewServer(gateway.Config{}, gateway.Runtime{Routes: []gateway.Route{
		{Method: "POST", Path: "/whole", Open: true, Whole: true, Handle: handle},
		{Method: "POST", Path: "/parts", Open: true, Handle: handle},
		{Method: "GET", Path: "/flushed", Open: true, Handle: func(w http.ResponseWriter, r *http.Request, _ *documents.Access) error {
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
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ln := &countingListener{Listener: tcp}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- s.Serve(ctx, ln) }()
	defer func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}()
	base := "http://" + tcp.Addr().String()
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
	for n := 3000; n < 4100; n++ { // among them those that fill the buffer together with their head
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
