package costs

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"lectern/gateway"
)

// A server is a server that runs as in production, with an access log, and one connection to it.
type server struct {
	t           testing.TB
	conn        net.Conn
	key         string   // a token that may do everything
	answer      []byte   // the memory of the last answer
	restaurants []string // their documentIds
}

// A request is a request of a client. Reads are sent without a credential.
type request struct{ method, path, body string }

// public is what clients without a credential may do.
const public = `roles:
  public:
    api::restaurant.restaurant: [find, findOne]
    api::category.category: [find, findOne]
    api::person.person: [find, findOne]
    api::review.review: [find, findOne]
`

// serve serves a project until the test ends.
func serve(t testing.TB) *server {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("../../testdata/conformance/projects/kitchen")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "config", "permissions.yaml"), []byte(public), 0o600); err != nil {
		t.Fatal(err)
	}
	ready := make(chan gateway.Ready, 1)
	p, err := gateway.Open(dir, gateway.Options{
		Addr: "127.0.0.1:0", Production: true, Ephemeral: true, LogTo: io.Discard,
		Ready: func(r gateway.Ready) { ready <- r },
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- p.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := errors.Join(<-ended, p.Close()); err != nil {
			t.Error(err)
		}
	})
	r := <-ready
	conn, err := net.Dial("tcp", strings.TrimPrefix(r.Base, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return &server{t: t, conn: conn, key: r.Tokens["full"], answer: make([]byte, 1<<20)}
}

// text returns a request as it is sent.
func (s *server) text(r request) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s %s HTTP/1.1\r\nHost: localhost\r\n", r.method, r.path)
	if r.body != "" {
		fmt.Fprintf(&b, "Content-Type: application/json\r\nContent-Length: %d\r\n", len(r.body))
	}
	if r.body != "" && r.path != "/graphql" {
		fmt.Fprintf(&b, "Authorization: Bearer %s\r\n", s.key)
	}
	fmt.Fprintf(&b, "\r\n%s", r.body)
	return b.Bytes()
}

var endOfHead, contentLength = []byte("\r\n\r\n"), []byte("\r\nContent-Length: ")

// send sends the text of a request and returns the body of the answer, which is valid until the next call. It allocates
// nothing, so that only the work of the server counts.
func (s *server) send(text []byte) []byte {
	if _, err := s.conn.Write(text); err != nil {
		s.t.Fatal(err)
	}
	for n := 0; ; {
		more, err := s.conn.Read(s.answer[n:])
		if err != nil {
			s.t.Fatal(err)
		}
		n += more
		head, body, whole := bytes.Cut(s.answer[:n], endOfHead)
		if !whole {
			continue
		}
		_, length, there := bytes.Cut(head, contentLength)
		if !there {
			s.t.Fatalf("an answer without Content-Length: %s", head)
		}
		if len(body) < number(length) {
			continue
		}
		if !bytes.HasPrefix(head, []byte("HTTP/1.1 20")) || bytes.HasPrefix(body, []byte(`{"errors"`)) {
			s.t.Fatalf("%s\n\n%s", text, s.answer[:n])
		}
		return body
	}
}

// number returns the number that a text begins with.
func number(text []byte) (n int) {
	for _, c := range text {
		if c < '0' || c > '9' {
			break
		}
		n = 10*n + int(c-'0')
	}
	return n
}

// create creates a document and returns its documentId.
func (s *server) create(path string, data map[string]any) string {
	s.t.Helper()
	body, err := json.Marshal(map[string]any{"data": data})
	if err != nil {
		s.t.Fatal(err)
	}
	var answer struct{ Data struct{ DocumentID string } }
	if err := json.Unmarshal(s.send(s.text(post(path, string(body)))), &answer); err != nil {
		s.t.Fatal(err)
	}
	return answer.Data.DocumentID
}

const restaurants = 100

var (
	tiers = []string{"bronze", "silver", "gold"}
	words = strings.Fields("amber basil cedar delta ember fjord grove heron inlet jetty knoll larch maple nadir " +
		"ocean pearl quartz ridge slate tulip umber vault willow xenon yarrow zephyr")
)

// fill creates restaurants with their owners, categories, reviews, components and dynamic zones.
func (s *server) fill() {
	s.t.Helper()
	type object = map[string]any
	var categories, people []string
	for i := range 10 {
		category := object{"name": fmt.Sprint("category ", i), "position": i}
		categories = append(categories, s.create("/api/categories", category))
	}
	for i := range 20 {
		people = append(people, s.create("/api/people", object{"firstName": words[i], "lastName": words[7*i%26],
			"age": 18 + 2*i, "email": fmt.Sprintf("p%d@example.org", i)}))
	}
	for i := range restaurants {
		summary := strings.Join(words[i%14:i%14+12], " ")
		s.restaurants = append(s.restaurants, s.create("/api/restaurants", object{
			"name": fmt.Sprintf("%s %s %d", words[i%26], words[7*i%26], i), "slug": fmt.Sprint("r-", i),
			"summary": summary, "seats": 1 + 37*i%400, "price": float64(71*i) / 100, "rating": float64(i%50) / 10,
			"vegan": i%2 == 1, "tier": tiers[i%3], "openedOn": fmt.Sprintf("20%d-0%d-1%d", 10+i%15, 1+i%9, i%9),
			"description": []object{{"type": "paragraph", "children": []object{{"type": "text", "text": summary}}}},
			"categories":  []string{categories[i%10], categories[(i+1+i/10%8)%10]}, "owner": people[i%20],
			"address": object{"street": fmt.Sprintf("%d %s street", i, words[i%26]), "city": words[3*i%26],
				"geo": object{"lat": i % 90, "lng": i}},
			"closingPeriods": []object{{"label": "winter", "start_date": "2024-12-24", "end_date": "2025-01-02"}},
			"dz":             []object{{"__component": "blocks.rich-text", "body": summary}},
		}))
	}
	for i := range 2 * restaurants {
		restaurant := s.restaurants[i%restaurants]
		s.create("/api/reviews", object{"stars": 1 + i%5, "comment": words[i%26], "restaurant": restaurant})
	}
}
