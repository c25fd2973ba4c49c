package port_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"lectern/gateway/internal/cluster/credentials"
	"lectern/gateway/internal/cluster/port"
	"lectern/internal/servertest"
)

// A record is a log that tests read.
type record struct{ servertest.LogBuffer }

// await waits until the log contains a text.
func (r *record) await(t *testing.T, text string) {
	t.Helper()
	servertest.Await(t, "the log has "+text, func() error {
		if got := r.String(); !strings.Contains(got, text) {
			return errors.New(got)
		}
		return nil
	})
}

// A cluster has the credentials of the nodes of a test.
type cluster struct{ dir string }

func newCluster(t *testing.T) cluster {
	t.Helper()
	dir := t.TempDir()
	local := []string{"127.0.0.1"}
	if _, err := credentials.Create(
		dir, []credentials.Node{{Name: "node1", Hosts: local}, {Name: "node2", Hosts: local}}); err != nil {
		t.Fatal(err)
	}
	return cluster{dir}
}

// open opens the port of a node until the test ends. Its log is recorded at all levels.
func (c cluster) open(t *testing.T, node string, o port.Config) (*port.Port, *record) {
	t.Helper()
	log := &record{}
	o.Log = slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	var err error
	if o.Credentials, err = credentials.Load(filepath.Join(c.dir, node), o.Log); err != nil {
		t.Fatal(err)
	}
	o.Listen = "127.0.0.1:0"
	p, err := port.Listen(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p, log
}

// echo sends back what connections of Raft send, with the name of the node before it.
func echo(t *testing.T, p *port.Port) {
	var ended sync.WaitGroup
	t.Cleanup(func() {
		p.Close()
		ended.Wait()
	})
	ended.Go(func() {
		for {
			c, err := p.Raft().Accept()
			if err != nil {
				return
			}
			ended.Go(func() {
				defer c.Close()
				fmt.Fprint(c, credentials.PeerName(c.(*tls.Conn).ConnectionState()), " ")
				io.Copy(c, c)
			})
		}
	})
}

// exchange sends a text to a node by Raft's protocol and returns what comes back.
func exchange(from *port.Port, address, text string) (string, error) {
	c, err := from.DialRaft(address, 10*time.Second)
	if err != nil {
		return "", err
	}
	defer c.Close()
	if _, err := io.WriteString(c, text); err != nil {
		return "", err
	}
	if err := c.(*tls.Conn).CloseWrite(); err != nil {
		return "", err
	}
	got, err := io.ReadAll(c)
	return string(got), err
}

// TestProtocols speaks both protocols through one port at the same time.
func TestProtocols(t *testing.T) {
	nodes := newCluster(t)
	from, _ := nodes.open(t, "node1", port.Config{})
	to, _ := nodes.open(t, "node2", port.Config{})
	address := to.Addr().String()
	echo(t, to)
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, "hello ", credentials.PeerName(*r.TLS))
	})}
	served := make(chan error)
	go func() { served <- server.Serve(to.HTTP()) }()
	transport := &http.Transport{DialTLSContext: from.DialHTTP}
	client := &http.Client{Transport: transport}
	defer transport.CloseIdleConnections()

	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			text := strings.Repeat("some text ", 1000*i)
			if got, err := exchange(from, address, text); err != nil || got != "node1 "+text {
				t.Errorf("raft: %d bytes, %v", len(got), err)
			}
		})
		all.Go(func() {
			r, err := client.Get("https://" + address)
			if err != nil {
				t.Error(err)
				return
			}
			defer r.Body.Close()
			if got, err := io.ReadAll(r.Body); err != nil || string(got) != "hello node1" {
				t.Errorf("HTTP: %q, %v", got, err)
			}
		})
	}
	all.Wait()
	if err := server.Close(); err != nil { // it closes the listener of HTTP alone
		t.Error(err)
	}
	if err := <-served; err != http.ErrServerClosed {
		t.Error(err)
	}
	if got, err := exchange(from, address, "still"); err != nil || got != "node1 still" {
		t.Errorf("raft after HTTP was closed: %q, %v", got, err)
	}
	if err := to.Close(); err != nil {
		t.Error(err)
	}
	if _, err := to.Raft().Accept(); err != net.ErrClosed {
		t.Errorf("accept after the port was closed: %v", err)
	}
	if _, err := exchange(from, address, "never"); err == nil {
		t.Error("a closed port accepts a connection")
	}
}

func TestAdvertisedAddress(t *testing.T) {
	nodes := newCluster(t)
	named, _ := nodes.open(t, "node1", port.Config{Advertise: "node1.lan:7331"})
	plain, _ := nodes.open(t, "node2", port.Config{})
	for _, tt := range []struct {
		of   net.Listener
		want string
	}{{named.Raft(), "node1.lan:7331"}, {named.HTTP(), "node1.lan:7331"}, {plain.Raft(), plain.Addr().String()}} {
		if got := tt.of.Addr().String(); got != tt.want {
			t.Errorf("the address is %s, want %s", got, tt.want)
		}
	}
}

// TestRefused connects with what the port must refuse, and looks for the reason in the log. Other nodes are accepted
// all the while.
func TestRefused(t *testing.T) {
	nodes, strangers := newCluster(t), newCluster(t)
	from, _ := nodes.open(t, "node1", port.Config{})
	stranger, _ := strangers.open(t, "node1", port.Config{})
	to, log := nodes.open(t, "node2", port.Config{})
	address := to.Addr().String()
	echo(t, to)
	for _, tt := range []struct {
		name    string
		connect func() error
		want    string // in the log
	}{
		{"a node of another cluster", func() error { return refuse(stranger, address) }, "remote error: tls: "},
		{"a stranger that connects to anybody", func() error { return strangers.speak(address, "lectern-raft") },
			"signed by unknown authority; the two nodes"},
		{"no protocol", func() error { return nodes.speak(address) },
			"node1 speaks neither of the protocols lectern-raft and http/1.1"},
		{"another protocol", func() error { return nodes.speak(address, "h2") }, "unsupported application protocols"},
		{"no TLS", func() error { return send(address, "GET / HTTP/1.1\r\nHost: node2\r\n\r\n") },
			"does not look like a TLS handshake"},
		{"nothing", func() error { return send(address, "") },
			"level=DEBUG msg=\"a connection to the cluster's port is refused\" error=EOF"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if err := tt.connect(); err != nil {
				t.Error(err)
			}
			log.await(t, tt.want)
			if got, err := exchange(from, address, "a"); err != nil || got != "node1 a" {
				t.Errorf("another node: %q, %v", got, err)
			}
		})
	}
	if got := strings.Count(log.String(), "level=WARN"); got != 1 {
		t.Errorf("the log has %d warnings within seconds, want 1: %s", got, log)
	}
}

// speak connects as node1 with any protocols, whoever is at the other end, and reads until the other end closes the
// connection.
func (c cluster) speak(address string, protocols ...string) error {
	node1, err := credentials.Load(filepath.Join(c.dir, "node1"), slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	config := node1.Client("127.0.0.1", protocols...)
	config.InsecureSkipVerify = true
	over, err := tls.Dial("tcp", address, config)
	if err != nil {
		return nil // it is refused
	}
	defer over.Close()
	if n, err := over.Read(make([]byte, 1)); err == nil {
		return fmt.Errorf("a connection with the protocols %q has %d bytes of an answer", protocols, n)
	}
	return nil
}

// refuse connects with credentials of another cluster, whose node does not trust the other end.
func refuse(from *port.Port, address string) error {
	if got, err := exchange(from, address, "a"); err == nil || !strings.Contains(err.Error(), "compare their ca.crt") {
		return fmt.Errorf("the stranger gets %q, %v", got, err)
	}
	return nil
}

// send sends bytes to an address and reads until the other end closes the connection.
func send(address, text string) error {
	c, err := net.Dial("tcp", address)
	if err != nil {
		return err
	}
	defer c.Close()
	if _, err := io.WriteString(c, text); err != nil {
		return err
	}
	if err := c.(*net.TCPConn).CloseWrite(); err != nil {
		return err
	}
	_, _ = io.Copy(io.Discard, c) // a reset is as good as an end
	return nil
}

// TestSlowHandshake fills the handshakes of one address with connections that send nothing. They are closed in time,
// and nodes are accepted then.
func TestSlowHandshake(t *testing.T) {
	nodes := newCluster(t)
	from, _ := nodes.open(t, "node1", port.Config{})
	to, log := nodes.open(t, "node2", port.Config{Handshakes: 4, HandshakeTimeout: time.Second})
	address := to.Addr().String()
	echo(t, to)
	slow, err := net.Dial("tcp", address) // one address may have one of four
	if err != nil {
		t.Fatal(err)
	}
	defer slow.Close()
	if _, err := exchange(from, address, "a"); err == nil {
		t.Error("a connection beyond the limit is accepted")
	}
	log.await(t, "there are too many handshakes")
	if err := slow.SetReadDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, slow); errors.Is(err, os.ErrDeadlineExceeded) {
		t.Error("the slow connection is not closed")
	}
	log.await(t, context.DeadlineExceeded.Error())
	if got, err := exchange(from, address, "a"); err != nil || got != "node1 a" {
		t.Errorf("after the slow connection was closed: %q, %v", got, err)
	}
}

// TestUnaccepted connects for a protocol that nobody accepts, which must not keep the other one waiting.
func TestUnaccepted(t *testing.T) {
	nodes := newCluster(t)
	from, _ := nodes.open(t, "node1", port.Config{})
	to, log := nodes.open(t, "node2", port.Config{Handshakes: 64, HandshakeTimeout: time.Second})
	address := to.Addr().String()
	echo(t, to)
	var waiting []net.Conn
	for range 20 {
		c, err := from.DialHTTP(t.Context(), "tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		waiting = append(waiting, c)
	}
	if got, err := exchange(from, address, "a"); err != nil || got != "node1 a" {
		t.Errorf("%q, %v", got, err)
	}
	for _, c := range waiting {
		if _, err := c.Read(make([]byte, 1)); err == nil {
			t.Error("a connection that nobody accepts has an answer")
		}
	}
	log.await(t, "this node did not accept the connection in 1s")
}

// TestSilentNode dials an address at which something accepts connections and says nothing, such as a process that was
// stopped.
func TestSilentNode(t *testing.T) {
	from, _ := newCluster(t).open(t, "node1", port.Config{HandshakeTimeout: 10 * time.Millisecond})
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	if _, err := from.DialHTTP(t.Context(), "tcp", silent.Addr().String()); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("for HTTP: %v", err)
	}
	if _, err := from.DialRaft(silent.Addr().String(), time.Hour); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("for Raft: %v", err)
	}
}

// TestClosedProtocol dials a node that does not take HTTP any more, and still speaks Raft. The connection must fail
// before a request is sent over it.
func TestClosedProtocol(t *testing.T) {
	nodes := newCluster(t)
	from, _ := nodes.open(t, "node1", port.Config{})
	to, _ := nodes.open(t, "node2", port.Config{})
	to.HTTP().Close()
	if c, err := from.DialHTTP(t.Context(), "tcp", to.Addr().String()); err == nil {
		c.Close()
		t.Error("a connection for HTTP is open")
	}
	c, err := from.DialRaft(to.Addr().String(), time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	c.Close()
}
