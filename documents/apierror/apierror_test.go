package apierror

import (
	"testing"

	"lectern/jsontree"
)

func TestInvalidKey(t *testing.T) {
	for _, c := range []struct {
		err              *Error
		message, details string
	}{
		{UnknownKey("nope", "", "body", ""), "Invalid key nope", `{"key":"nope","path":null,"source":"body"}`},
		{UnknownKey("nope", "address.geo", "body", ""), "Invalid key nope at address.geo",
			`{"key":"nope","path":"address.geo","source":"body"}`},
		{ForbiddenKey("hidden", "hidden", "query", "sort"), "Invalid key hidden",
			`{"key":"hidden","path":"hidden","source":"query","param":"sort"}`},
		{ForbiddenKey("hidden", "related.hidden", "query", "filters"), "Invalid key hidden at related.hidden",
			`{"key":"hidden","path":"related.hidden","source":"query","param":"filters"}`},
		{InvalidKey("id", "", NoPath, "body", ""), "Invalid key id", `{"key":"id","source":"body"}`},
	} {
		if got := string(jsontree.Append(nil, c.err.Details)); c.err.Message != c.message || got != c.details {
			t.Errorf("got %s %s\nwant %s %s", c.err.Message, got, c.message, c.details)
		}
	}
}
