package attack

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"lectern/internal/servertest"
)

var manyClients = flag.Bool("attack.network", false, "open 1,100 connections and guess 150 passwords at once")

// The attackers and the honest clients have different addresses of this machine.
const (
	attacker = "127.0.0.2"
	honest   = "127.0.0.3"
)

func dialFrom(from string) func(ctx context.Context, network, addr string) (net.Conn, error) {
	return (&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}, Timeout: 10 * time.Second}).DialContext
}

// clientFrom returns a client that sends each request from an address, on a connection of its own.
func clientFrom(from string) *http.Client {
	return &http.Client{Transport: &http.Transport{DialContext: dialFrom(from), DisableKeepAlives: true},
		Timeout: 60 * time.Second}
}

var networkFiles = map[string]string{
	"content-types/note.yaml": `
kind: collectionType
info: {singularName: note, pluralName: notes, displayName: Note}
attributes:
  title: {type: string}
`,
	"config/permissions.yaml": "roles: {public: {api::note.note: [find, create]}}\n",
	"config/plugins.yaml":     "users-permissions: {config: {ratelimit: {enabled: false}}}\n",
}

// askFor repeats a request until stop is closed, and counts the responses by status; status 0 stands for no response.
func askFor(c *http.Client, url string, stop <-chan struct{}) (statuses map[int]int) {
	statuses = map[int]int{}
	for {
		select {
		case <-stop:
			return statuses
		default:
		}
		status := 0
		if answer, err := c.Get(url); err == nil {
			status = answer.StatusCode
			answer.Body.Close()
		}
		statuses[status]++
	}
}

// TestSlowSenders opens more connections than the server handles requests at a time, and sends on each only the headers
// and one byte of a body. Clients from other addresses must be answered all the time, also when a body arrives in two
// parts. File descriptors must remain even if the process may have few.
func TestSlowSenders(t *testing.T) {
	connections, concurrent, descriptors := 150, 100, 400
	if *manyClients {
		connections, concurrent, descriptors = 1100, 1024, 4096
	}
	files := map[string]string{"config/server.yaml": fmt.Sprintf("limits: {concurrent: %d}\n", concurrent)}
	for name, text := range networkFiles {
		files[name] = text
	}
	p := newProject(t, "", files)
	s := p.serve("sh", "-c", fmt.Sprintf(`ulimit -n %d; exec "$@"`, descriptors), "sh")
	addr := strings.TrimPrefix(s.base, "http://")

	closed := atomic.Int64{}
	for range connections {
		conn, err := dialFrom(attacker)(context.Background(), "tcp", addr)
		if err != nil {
			closed.Add(1)
			continue
		}
		t.Cleanup(func() { conn.Close() })
		if _, err := io.WriteString(
			conn, "POST /api/notes HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{"); err != nil {
			closed.Add(1)
		}
	}

	stop := make(chan struct{})
	var asked sync.WaitGroup
	results := make([]map[int]int, 4)
	for i := range results {
		asked.Go(func() { results[i] = askFor(clientFrom(honest), s.base+"/api/notes", stop) })
	}
	slow, err := dialFrom(honest)(context.Background(), "tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer slow.Close()
	const body = `{"data":{"title":"slow, but honest"}}`
	fmt.Fprintf(slow, "POST /api/notes HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body[:9])
	// The other clients send requests for a second, while this one sends nothing.
	time.Sleep(time.Second)
	io.WriteString(slow, body[9:])
	slow.SetDeadline(time.Now().Add(30 * time.Second))
	if answer, err := http.ReadResponse(bufio.NewReader(slow), nil); err != nil || answer.StatusCode != 201 {
		t.Errorf("a body in two parts: %v %v", answer, err)
	}
	close(stop)
	asked.Wait()
	answered := 0
	for _, statuses := range results {
		answered += statuses[200]
		if len(statuses) != 1 || statuses[200] == 0 {
			t.Errorf("an honest client was answered %v", statuses)
		}
	}
	t.Logf("%d connections, %d of them refused at once; %d honest answers in a second", connections, closed.Load(),
		answered)
}

// TestGuessers sends many wrong passwords at once from one address. A login from another address must succeed before
// most of the guesses are checked.
func TestGuessers(t *testing.T) {
	guesses := 60
	if *manyClients {
		guesses = 150
	}
	p := newProject(t, "", networkFiles)
	s := p.serve()
	post := func(from, path, body string) (int, error) {
		answer, err := clientFrom(from).Post(s.base+path, "application/json", strings.NewReader(body))
		if err != nil {
			return 0, err
		}
		defer answer.Body.Close()
		_, err = io.Copy(io.Discard, answer.Body)
		return answer.StatusCode, err
	}
	if status, err := post(honest, "/api/auth/local/register",
		`{"username":"ann","email":"ann@people.test","password":"secret-ann"}`); status != 200 || err != nil {
		t.Fatalf("register: %d %v", status, err)
	}
	began := time.Now()
	var guessed, compared atomic.Int64
	statuses := make([]int, guesses)
	var all sync.WaitGroup
	for i := range guesses {
		all.Go(func() {
			status, err := post(attacker, "/api/auth/local",
				fmt.Sprintf(`{"identifier":"ann","password":"guess %d"}`, i))
			if err != nil {
				t.Error(err)
			}
			statuses[i] = status
			guessed.Add(1)
			if status == 400 {
				compared.Add(1)
			}
		})
	}
	servertest.Until(t, "a guess is compared",
		func() bool { return compared.Load() > 0 }) // by now nearly all have arrived
	asked := time.Now()
	status, err := post(honest, "/api/auth/local", `{"identifier":"ann","password":"secret-ann"}`)
	took, before := time.Since(asked), compared.Load()
	if status != 200 || err != nil {
		t.Errorf("an honest login: %d %v", status, err)
	}
	all.Wait()
	slices.Sort(statuses)
	if n := len(slices.Compact(slices.Clone(statuses))); n > 2 || statuses[0] != 400 {
		t.Errorf("guesses were answered %v", statuses)
	}
	t.Logf("an honest login took %v while %d of %d guesses that were compared in the end had been; all took %v", took,
		before, compared.Load(), time.Since(began))
	if before > compared.Load()/2 {
		t.Errorf("an honest login came after %d of %d guesses", before, compared.Load())
	}
}
