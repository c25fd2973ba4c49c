package gateway_test

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"lectern/auth"
	"lectern/documents/permission"
	"lectern/documents/transfer"
	"lectern/gateway"
	"lectern/gateway/admin"
	"lectern/internal/servertest"
)

// TestReaderThatIsGoneIsNoError closes connections in the middle of an answer, over TCP and over the control socket.
// The log then holds no error. It holds one if a handler fails to write to another connection.
func TestReaderThatIsGoneIsNoError(t *testing.T) {
	failed := make(chan error, 1)
	x := &gateway.Extensions{}
	x.Handle(
		gateway.Route{Method: "GET", Path: "/long", Open: true,
			Handle: func(w http.ResponseWriter, _ *http.Request, _ *permission.Access) error {
				var err error
				for part := bytes.Repeat([]byte("x"), 1<<20); err == nil; _, err = w.Write(part) {
				}
				failed <- err
				return fmt.Errorf("write: %w", err)
			}},
		gateway.Route{Method: "GET", Path: "/elsewhere", Open: true,
			Handle: func(http.ResponseWriter, *http.Request, *permission.Access) error {
				return &net.OpError{Op: "write", Net: "tcp", Addr: &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 443},
					Err: io.ErrShortWrite}
			}},
	)
	log := &servertest.LogBuffer{}
	dir := writeProject(t, nil)
	ready, stop := run(t, dir, gateway.Options{Extensions: x,
		Log: slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))}, nil)

	leave := func(conn net.Conn, err error, path string) {
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: x\r\n\r\n", path)
		if _, err := io.ReadFull(conn, make([]byte, 1000)); err != nil {
			t.Error(err)
		}
		conn.Close()
	}
	conn, err := net.Dial("tcp", strings.TrimPrefix(ready.Base, "http://"))
	leave(conn, err, "/long")
	if err := <-failed; err == nil {
		t.Error("the handler could write on")
	}

	a, err := gateway.Directory(dir, gateway.Options{}).Administer(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	var lines strings.Builder
	for i := range 6000 {
		fmt.Fprintf(&lines, `{"type":"api::article.article","documentId":"d%d","data":{"title":"%s"}}`+"\n", i,
			strings.Repeat("long ", 50))
	}
	if _, err := a.Import(t.Context(), strings.NewReader(lines.String()), transfer.ImportOptions{}); err != nil {
		t.Fatal(err)
	}
	conn, err = admin.DialControl(t.Context(), filepath.Join(dir, "data"))
	leave(conn, err, "/export")

	if status, body := get(t, ready.Base+"/elsewhere", ""); status != 500 {
		t.Error(status, body)
	}
	if _, _, err := a.CreateToken(t.Context(), auth.Declaration{Name: "t", Kind: auth.ReadOnly}); err != nil {
		t.Error(err)
	}
	stop() // requests under way end first
	for _, want := range []string{"level=DEBUG msg=\"the client closed the connection",
		"level=DEBUG msg=\"control socket\" path=/export", "level=ERROR msg=\"request failed\""} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log lacks %s", want)
		}
	}
	if n := strings.Count(log.String(), "level=ERROR"); n != 1 {
		t.Errorf("%d errors in the log, want that of /elsewhere alone:\n%s", n, log.String())
	}
}
