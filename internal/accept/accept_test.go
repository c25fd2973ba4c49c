package accept_test

import (
	"testing"

	"lectern/internal/accept"
)

func TestChoose(t *testing.T) {
	for _, tt := range []struct{ header, want string }{
		{"", accept.JSON},
		{"*/*", accept.JSON},
		{"application/*", accept.JSON},
		{accept.GraphQL, accept.GraphQL},
		{accept.GraphQL + "; charset=utf-8, */*", accept.GraphQL},
		{"*/*, " + accept.GraphQL, accept.JSON},
		{"application/json;q=0.5, " + accept.GraphQL + ";q=0.6", accept.GraphQL},
		{"application/json;q=0", ""},
		{"application/json;q=0, */*", accept.GraphQL},
		{"*/*;q=0.1, application/json;q=0.2", accept.JSON},
		{"text/html", ""},
		{"APPLICATION/JSON", accept.JSON},
		{"application/json;q=x", ""},
		{",,;", ""},
	} {
		var headers []string
		if tt.header != "" {
			headers = []string{tt.header}
		}
		if got := accept.Choose(headers, accept.JSON, accept.GraphQL); got != tt.want {
			t.Errorf("%q: %q, want %q", tt.header, got, tt.want)
		}
	}
}

func TestGzip(t *testing.T) {
	for header, want := range map[string]bool{
		"": false, "gzip": true, "br, GZIP": true, "gzip;q=0, *": false, "*": true, "*;q=0": false,
		"br;q=1, *;q=0.1": true, "identity": false,
	} {
		if got := accept.Gzip(header); got != want {
			t.Errorf("%q: %v, want %v", header, got, want)
		}
	}
}

func FuzzChoose(f *testing.F) {
	for _, header := range []string{"", "*/*;q=0.1, application/json;q=0.2", ",,;", "text/event-stream;q=.5;q=1"} {
		f.Add(header)
	}
	f.Fuzz(func(t *testing.T, header string) {
		offers := []string{accept.JSON, accept.GraphQL, accept.Events}
		switch got := accept.Choose([]string{header}, offers...); got {
		case "", accept.JSON, accept.GraphQL, accept.Events:
		default:
			t.Errorf("%q was not offered", got)
		}
		accept.PrefersEvents([]string{header})
		accept.Gzip(header)
	})
}
