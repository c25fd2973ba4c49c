package gateway_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// The server sends what net/http writes unchanged. A file may end with the bytes of net/http's refusal of a request: it arrives complete,
// as a whole and in ranges, and the connection then serves the next request.
func TestFilesAreSentAsTheyAre(t *testing.T) {
	a := serve(t, nil)
	for name, refusal := range map[string]string{
		"unreadable":     "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n400 Bad Request",
		"head too large": "HTTP/1.1 431 Request Header Fields Too Large\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n431 Request Header Fields Too Large",
	} {
		t.Run(name, func(t *testing.T) {
			// net/http copies files in steps of 32 KiB, so that the end of this file is a write of its own.
			text := strings.Repeat("0123456789abcde\n", 2<<10) + refusal
			uploaded, path := a.upload("full", fileForm("log.txt", []byte(text)))
			if uploaded.status != 201 {
				t.Fatalf("upload: %d %s", uploaded.status, uploaded.text)
			}

			conn, err := net.Dial("tcp", strings.TrimPrefix(a.Base, "http://"))
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			if err := conn.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
				t.Fatal(err)
			}
			answers := bufio.NewReader(conn)
			for _, c := range []struct {
				headers, want string
				status        int
			}{
				{"", text, 200},
				{fmt.Sprintf("Range: bytes=-%d\r\n", len(refusal)), refusal, 206},
				{fmt.Sprintf("Range: bytes=%d-\r\n", len(text)-len(refusal)-32<<10), text[len(text)-len(refusal)-32<<10:], 206},
				{"", text, 200},
			} {
				if _, err := fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: a\r\n%s\r\n", path, c.headers); err != nil {
					t.Fatal(err)
				}
				answer, err := http.ReadResponse(answers, nil)
				if err != nil {
					t.Fatalf("%q: %v", c.headers, err)
				}
				body, err := io.ReadAll(answer.Body)
				if err != nil || answer.StatusCode != c.status || string(body) != c.want {
					t.Fatalf("%q: %d, %d bytes that end with %q, want %d bytes: %v",
						c.headers, answer.StatusCode, len(body), body[max(0, len(body)-120):], len(c.want), err)
				}
			}
		})
	}
}
