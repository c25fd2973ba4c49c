package remote_test

import (
	"errors"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"lectern/strapi/remote"
)

// noServer is a transport to a place where no server is.
type noServer struct{}

func (noServer) RoundTrip(*http.Request) (*http.Response, error) {
	return nil, errors.New("connection refused")
}

// TestHostileUIDs reads definitions that name a type so that the directory of its rows would lie elsewhere.
func TestHostileUIDs(t *testing.T) {
	for _, uid := range []string{"api::/../../../../escape.note", "x./../../../escape", `api::..\..\escape.x`,
		"api::a\x00.b"} {
		dir := filepath.Join(t.TempDir(), "a", "b", "c")
		schema := schemasOf(t, noteSchemas)[:1]
		schema[0].Set("uid", uid)
		_, err := remote.Read(t.Context(), dir,
			remote.Options{URL: "http://strapi.example", Token: "key", Schemas: schema,
				Clock: newFakeClock(), Transport: cannedTransport{}, Attempts: 1})
		if err == nil || !strings.Contains(err.Error(), "cannot be the uid") {
			t.Errorf("%s: error %v", uid, err)
		}
		if names, _ := filepath.Glob(filepath.Join(dir, "../../../*")); len(names) != 1 {
			t.Errorf("%s: files outside of the directory: %s", uid, names)
		}
	}
}

// TestMistakenURL begins with a URL that leads to no server. The same directory then serves for the right one, and for
// no other.
func TestMistakenURL(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct {
		url       string
		transport http.RoundTripper
		want      string // in the error; "" for none
	}{
		{"127.0.0.1:1337", noServer{}, `"127.0.0.1:1337" is none; an example is https://cms.example.com`},
		{"localhost:1337", noServer{}, `"localhost:1337" is none; an example is https://cms.example.com`},
		{"http://mistaken.example", noServer{}, "connection refused"},
		{"http://strapi.example", morphServer{}, ""},
		{"http://other.example", morphServer{}, "holds what was read from another server"},
	} {
		_, err := remote.Read(t.Context(), dir,
			remote.Options{URL: c.url, Token: "key", Schemas: schemasOf(t, morphSchemas), Clock: newFakeClock(),
				Transport: c.transport, Attempts: 1})
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: error %v, want one with %q", c.url, err, c.want)
		}
	}
}
