package servertest

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// A RawClient is a connection on which a test reads and writes raw bytes.
type RawClient struct {
	net.Conn
	T       testing.TB
	Answers *bufio.Reader
}

// DialFrom connects to a server from an address of this machine, such as 127.0.0.2.
func DialFrom(t testing.TB, from, base string) *RawClient {
	t.Helper()
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
	conn, err := dialer.Dial("tcp", strings.TrimPrefix(base, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(30 * time.Second)); err != nil {
		t.Fatal(err)
	}
	return &RawClient{conn, t, bufio.NewReader(conn)}
}

// Send sends a text as it is.
func (c *RawClient) Send(text string) {
	c.T.Helper()
	if _, err := io.WriteString(c, text); err != nil {
		c.T.Fatal(err)
	}
}

// Answer reads the next answer.
func (c *RawClient) Answer() (status int, body string) {
	c.T.Helper()
	answer, err := http.ReadResponse(c.Answers, nil)
	if err != nil {
		c.T.Fatal(err)
	}
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		c.T.Fatal(err)
	}
	return answer.StatusCode, string(text)
}
