package media_test

import (
	"bytes"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A dripping body arrives in pieces with a pause before each.
type dripping struct {
	pieces []string
	tick   *time.Ticker
}

func (d *dripping) Read(p []byte) (int, error) {
	if len(d.pieces) == 0 {
		return 0, io.EOF
	}
	<-d.tick.C
	n := copy(p, d.pieces[0])
	if d.pieces[0] = d.pieces[0][n:]; d.pieces[0] == "" {
		d.pieces = d.pieces[1:]
	}
	return n, nil
}

// TestSlowUploads sends bodies that take longer than the request timeout. They are accepted as long as each piece
// arrives in time; a body that stops is given up, and nothing of it is stored.
func TestSlowUploads(t *testing.T) {
	dir := writeProject(t, "")
	writeFile(t, filepath.Join(dir, "config/server.yaml"), "timeouts: {read: 2500ms, header: 2500ms, write: 10s}")
	s := &server{T: t, dir: dir}
	s.start()
	whole, contentType := form(file("a.bin", "", strings.Repeat("\x00\xff", 1<<20)))
	var pieces []string
	for at := 0; at < len(whole); at += 32 << 10 {
		pieces = append(pieces, string(whole[at:min(at+32<<10, len(whole))]))
	}
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	began := time.Now()
	res, err := http.Post(s.base+"/api/upload", contentType, &dripping{pieces, tick})
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if res.StatusCode != 201 || time.Since(began) < 3*time.Second {
		t.Errorf("%d after %v", res.StatusCode, time.Since(began))
	}

	conn, err := net.Dial("tcp", strings.TrimPrefix(s.base, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	io.WriteString(conn, "POST /api/upload HTTP/1.1\r\nHost: x\r\nContent-Type: "+contentType+
		"\r\nContent-Length: 3000000\r\n\r\n")
	conn.Write(whole[:300000])
	conn.SetReadDeadline(time.Now().Add(10 * time.Second))
	answer, err := io.ReadAll(conn)
	if !bytes.Contains(answer, []byte("408 Request Timeout")) || err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("%v %s", err, answer)
	}
	if files, spooled := s.stored(); len(files) != 1 || len(spooled) > 0 {
		t.Errorf("kept: %v %v", files, spooled)
	}
}

// TestGoneClients sends parts of bodies and disconnects. Nothing of them is stored.
func TestGoneClients(t *testing.T) {
	s := serve(t, "")
	whole, contentType := form(file("a.txt", "", strings.Repeat("x", 1<<20)), file("b.txt", "", "y"))
	for _, sent := range []int{0, 100, 500000, len(whole) - 60} {
		conn, err := net.Dial("tcp", strings.TrimPrefix(s.base, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		io.WriteString(conn, "POST /api/upload HTTP/1.1\r\nHost: x\r\nContent-Type: "+contentType+
			"\r\nContent-Length: 3000000\r\n\r\n")
		conn.Write(whole[:sent])
		conn.Close()
	}
	s.stop() // waits for all running requests
	if files, spooled := s.stored(); len(files)+len(spooled) > 0 {
		t.Errorf("kept: %v %v", files, spooled)
	}
}
