package server_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"lectern/auth"
	"lectern/gateway/config"
	"lectern/gateway/internal/server"
	"lectern/internal/budget"
	"lectern/internal/servertest"
)

// placeServer has routes that read, wait and write.
type placeServer struct {
	*server.Server
	base    string
	log     servertest.LogBuffer
	entered chan struct{} // receives one value from each waiting request
	proceed chan struct{} // lets the waiting requests answer
}

func newPlaceServer(t *testing.T, c server.Config) *placeServer {
	t.Helper()
	s := &placeServer{entered: make(chan struct{}), proceed: make(chan struct{})}
	c.Log = slog.New(slog.NewTextHandler(&s.log, nil))
	type handle = func(http.ResponseWriter, *http.Request, auth.Principal) error
	routes := map[string]handle{
		"POST /read": func(w http.ResponseWriter, r *http.Request, _ auth.Principal) error {
			if _, err := s.ReadBody(w, r); err != nil {
				return err
			}
			_, err := io.WriteString(w, "read")
			return err
		},
		"POST /slowly": func(w http.ResponseWriter, r *http.Request, _ auth.Principal) error {
			if _, err := io.ReadFull(r.Body, make([]byte, 1)); err != nil {
				return err
			}
			s.entered <- struct{}{}
			<-s.proceed
			if _, err := io.Copy(io.Discard, r.Body); err != nil {
				return err
			}
			_, err := io.WriteString(w, "read")
			return err
		},
		"GET /wait": func(w http.ResponseWriter, r *http.Request, _ auth.Principal) error {
			s.entered <- struct{}{}
			<-s.proceed
			return nil
		},
		"GET /large": func(w http.ResponseWriter, r *http.Request, _ auth.Principal) error {
			_, err := w.Write(make([]byte, 32<<20))
			return err
		},
		"GET /short": func(w http.ResponseWriter, r *http.Request, _ auth.Principal) error {
			_, err := io.WriteString(w, "short")
			return err
		},
	}
	rt := server.API{Probes: healthy}
	for name, handle := range routes {
		method, path, _ := strings.Cut(name, " ")
		rt.Routes = append(rt.Routes, server.Route{Method: method, Path: path, Open: true, Handle: handle})
	}
	var err error
	if s.Server, err = server.New(c, rt); err != nil {
		t.Fatal(err)
	}
	_, s.base = serveCounted(t, s.Server)
	return s
}

const (
	getShort  = "GET /short HTTP/1.1\r\nHost: a\r\n\r\n"
	getWait   = "GET /wait HTTP/1.1\r\nHost: a\r\n\r\n"
	bodyBegun = "POST /read HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{"
	bodyRest  = `"a":"b"}`

	bodyExpected = "POST /read HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 9\r\nExpect: 100-continue\r\n\r\n"
)

// Requests whose client sends its body slowly, or reads the answer slowly, hold no place.
func TestSlowClientsHoldNoPlace(t *testing.T) {
	s := newPlaceServer(t, server.Config{Limits: config.Limits{Concurrent: 1}})
	var slow []*servertest.RawClient
	for range 5 {
		c := servertest.DialFrom(t, "127.0.0.1", s.base)
		c.Send(bodyExpected)
		if status, _ := c.Answer(); status != 100 { // the server sends it when the handler begins to read the body
			t.Fatalf("status %d", status)
		}
		c.Send("{")
		slow = append(slow, c)
	}
	reader := servertest.DialFrom(t, "127.0.0.1", s.base)
	reader.Send("GET /large HTTP/1.1\r\nHost: a\r\n\r\n")
	if _, err := reader.Answers.Peek(1); err != nil {
		t.Fatal(err)
	}
	honest := servertest.DialFrom(t, "127.0.0.1", s.base)
	servertest.Until(t, "nobody is at work", func() bool {
		stats := s.Stats()
		return stats.Connections.Held == 7 && stats.Requests.Held == 0
	})
	for range 3 {
		honest.Send(getShort)
		if status, body := honest.Answer(); status != 200 {
			t.Fatalf("beside slow clients: %d %s", status, body)
		}
	}

	// A body that arrives while another request works waits for that request's place.
	worker := servertest.DialFrom(t, "127.0.0.1", s.base)
	worker.Send(getWait)
	<-s.entered
	for _, c := range slow {
		c.Send(bodyRest)
	}
	servertest.Until(t, "all bodies have come", func() bool { return s.Stats().Requests.Waiting == len(slow) })
	honest.Send(getShort)
	if status, body := honest.Answer(); status != 503 || !strings.Contains(body, "limits.concurrent: 1") {
		t.Errorf("while the place is taken: %d %s", status, body)
	}
	s.proceed <- struct{}{}
	for _, c := range slow {
		if status, body := c.Answer(); status != 200 || body != "read" {
			t.Errorf("a body that came slowly: %d %s", status, body)
		}
	}
	if status, _ := worker.Answer(); status != 200 {
		t.Errorf("who was at work: %d", status)
	}
	servertest.Until(t, "all places are free", func() bool { return s.Stats().Requests.Held == 0 })
}

// A client address may hold only a share of the places. Behind a trusted proxy, the address of the client counts.
func TestPlacesOfOneAddress(t *testing.T) {
	const proxy = "127.0.0.9"
	s := newPlaceServer(t, server.Config{
		Limits:         config.Limits{Concurrent: 3, ConcurrentPerAddress: 1},
		TrustedProxies: []netip.Prefix{netip.MustParsePrefix(proxy + "/32")},
	})
	request := func(path, forwarded string) string {
		if forwarded != "" {
			forwarded = "X-Forwarded-For: " + forwarded + "\r\n"
		}
		return "GET " + path + " HTTP/1.1\r\nHost: a\r\n" + forwarded + "\r\n"
	}
	for _, c := range []struct{ from, forwarded string }{{"127.0.0.2", ""}, {proxy, "2001:db8::1"}} {
		worker := servertest.DialFrom(t, c.from, s.base)
		worker.Send(request("/wait", c.forwarded))
		<-s.entered
	}
	for _, c := range []struct {
		from, forwarded string
		status          int
	}{
		{"127.0.0.2", "", 503},
		{"127.0.0.2", "192.0.2.1", 503}, // its X-Forwarded-For is ignored, since it is not a trusted proxy
		{"127.0.0.3", "", 200},
		{proxy, "2001:db8::2", 503}, // in the same network
		{proxy, "2001:db8:0:1::1", 200},
		{proxy, "127.0.0.2", 503},
		{proxy, "", 200}, // the proxy does not name the client, so no limit for one address applies
	} {
		client := servertest.DialFrom(t, c.from, s.base)
		client.Send(request("/short", c.forwarded))
		status, body := client.Answer()
		if status != c.status || status == 503 && !strings.Contains(body, "limits.concurrentPerAddress: 1") {
			t.Errorf("from %s for %q: %d %s, want %d", c.from, c.forwarded, status, body, c.status)
		}
	}
	close(s.proceed)
}

// A client address may hold only a share of the connections; a trusted proxy may hold more.
func TestConnectionsOfOneAddress(t *testing.T) {
	const proxy = "127.0.0.9"
	s := newPlaceServer(t, server.Config{
		Limits:         config.Limits{Connections: 6, ConnectionsPerAddress: 2},
		TrustedProxies: []netip.Prefix{netip.MustParsePrefix(proxy + "/32")},
	})
	served := func(from string) *servertest.RawClient {
		c := servertest.DialFrom(t, from, s.base)
		c.Send(getShort)
		if status, _ := c.Answer(); status != 200 {
			t.Errorf("from %s: %d", from, status)
		}
		return c
	}
	refused := func(from string) {
		t.Helper()
		before := s.Stats().RefusedConnections
		c := servertest.DialFrom(t, from, s.base)
		if n, err := c.Read(make([]byte, 1)); n > 0 || err == nil || errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("from %s: a connection too many is open: %v", from, err)
		}
		if got := s.Stats().RefusedConnections; got != before+1 {
			t.Errorf("%d connections were refused, want %d", got, before+1)
		}
	}
	first := served("127.0.0.2")
	served("127.0.0.2")
	refused("127.0.0.2")
	if log := s.log.String(); !strings.Contains(log, "address=127.0.0.2") ||
		!strings.Contains(log, "limits.connectionsPerAddress=2") {
		t.Errorf("logged: %s", log)
	}
	served("127.0.0.3")
	for range 3 {
		served(proxy)
	}
	refused(proxy) // the limit of six connections is reached
	refused("127.0.0.4")
	first.Close()
	servertest.Until(t, "the connection is closed", func() bool { return s.Stats().Connections.Held == 5 })
	served("127.0.0.4")
	if lines := strings.Count(s.log.String(), "\n"); lines != 1 {
		t.Errorf("%d lines were logged of three refusals:\n%s", lines, s.log.String())
	}
}

// A failingListener fails to accept its first connections.
type failingListener struct {
	net.Listener
	failures int
}

func (l *failingListener) Accept() (net.Conn, error) {
	if l.failures > 0 {
		l.failures--
		return nil, &net.OpError{Op: "accept", Net: "tcp", Err: os.NewSyscallError("accept4", syscall.EMFILE)}
	}
	return l.Listener.Accept()
}

// When accepting connections fails, the server counts and logs the failures, and goes on.
func TestAcceptErrors(t *testing.T) {
	var log servertest.LogBuffer
	s, err := server.New(server.Config{Log: slog.New(slog.NewTextHandler(&log, nil))}, server.API{Probes: healthy})
	if err != nil {
		t.Fatal(err)
	}
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- s.Serve(ctx, &failingListener{tcp, 3}) }()
	c := servertest.DialFrom(t, "127.0.0.1", "http://"+tcp.Addr().String())
	c.Send("GET /_health HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
	if status, _ := c.Answer(); status != 204 {
		t.Errorf("after errors: %d", status)
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if got := s.Stats().AcceptErrors; got != 3 {
		t.Errorf("%d errors were counted, want 3", got)
	}
	if text := log.String(); strings.Count(text, "cannot be accepted") != 1 ||
		!strings.Contains(text, "too many open files") {
		t.Errorf("logged: %s", text)
	}
}

// A client whose body does not arrive in time receives an answer that names the setting.
func TestBodyRate(t *testing.T) {
	s := newPlaceServer(t, server.Config{Limits: config.Limits{Read: 300 * time.Millisecond}})
	c := servertest.DialFrom(t, "127.0.0.1", s.base)
	c.Send(bodyBegun)
	if status, body := c.Answer(); status != 408 || !strings.Contains(body, "timeouts.read: 300ms") {
		t.Errorf("a body that does not come: %d %s", status, body)
	}
}

// The time that the server takes between two reads of a body does not count against the client.
func TestOwnTime(t *testing.T) {
	s := newPlaceServer(t, server.Config{Limits: config.Limits{Read: 600 * time.Millisecond}})
	c := servertest.DialFrom(t, "127.0.0.1", s.base)
	c.Send(strings.Replace(bodyBegun, "/read", "/slowly", 1))
	<-s.entered
	// The handler works between two reads for twice the time that a client has: limits count real time.
	time.Sleep(1200 * time.Millisecond)
	c.Send(bodyRest)
	s.proceed <- struct{}{}
	if status, body := c.Answer(); status != 200 || body != "read" {
		t.Errorf("%d %s", status, body)
	}
}

// Bodies reserve memory from a budget as they arrive. When it is used up, the server refuses long bodies and still
// reads short ones.
func TestBodyMemory(t *testing.T) {
	s := newPlaceServer(t, server.Config{Memory: budget.New(1 << 20)}) // bodies may take a quarter of it
	const length = 130_000
	text := `{"a":"` + strings.Repeat("x", length-8) + `"}`
	begin := func(bytes int) *servertest.RawClient {
		c := servertest.DialFrom(t, "127.0.0.1", s.base)
		c.Send(fmt.Sprintf("POST /read HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", length, text[:bytes]))
		return c
	}
	want := func(c *servertest.RawClient, status int, says string) {
		t.Helper()
		if got, body := c.Answer(); got != status || !strings.Contains(body, says) {
			t.Errorf("%d %s, want %d %s", got, body, status, says)
		}
	}
	for range 100 { // these announce a long body and send nothing
		begin(1)
	}
	slow := begin(120_000)
	servertest.Until(t, "most of a body has come", func() bool { return s.Stats().Bodies.Reserved > 120_000 })
	want(begin(length), 503, "limits.memory")
	short := servertest.DialFrom(t, "127.0.0.1", s.base)
	short.Send(bodyBegun + bodyRest)
	want(short, 200, "read")
	slow.Send(text[120_000:])
	want(slow, 200, "read")
	servertest.Until(t, "nothing is reserved", func() bool { return s.Stats().Bodies.Reserved == 0 })
	want(begin(length), 200, "read")
}
