package etag_test

import (
	"testing"

	"lectern/internal/etag"
)

func TestLists(t *testing.T) {
	for _, c := range []struct {
		header []string
		want   bool
	}{
		{nil, false}, {[]string{`"a"`}, true}, {[]string{`W/"a"`}, true}, {[]string{`"b", "a"`}, true},
		{[]string{`"b"`, ` W/"b" ,"a" `}, true},
		{[]string{`a`}, false}, {[]string{`"aa"`}, false}, {[]string{"*"}, false}, {[]string{`w/"a"`}, false},
		{[]string{`W/W/"a"`}, false}, {[]string{"", ","}, false},
	} {
		if got := etag.Lists(c.header, []byte(`"a"`)); got != c.want {
			t.Errorf("%q: %v", c.header, got)
		}
	}
	for _, c := range []struct {
		header []string
		want   bool
	}{
		{nil, false}, {[]string{"*"}, false}, {[]string{`"a"`}, false}, {[]string{`"b"`, `W/"a", "a"`}, false},
		{[]string{`"b"`}, true}, {[]string{`W/"a"`}, true}, {[]string{""}, true}, {[]string{`a`}, true},
	} {
		if got := etag.Excludes(c.header, []byte(`"a"`)); got != c.want {
			t.Errorf("If-Match %q excludes: %v", c.header, got)
		}
	}
	if !etag.IsAny([]string{" * "}) || etag.IsAny([]string{`"*"`}) || etag.IsAny(nil) {
		t.Error("IsAny")
	}
}
