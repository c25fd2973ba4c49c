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
		{nil, false}, {[]string{`"a"`}, true}, {[]string{`W/"a"`}, true}, {[]string{`"b", "a"`}, true}, {[]string{`"b"`, ` W/"b" ,"a" `}, true},
		{[]string{`a`}, false}, {[]string{`"aa"`}, false}, {[]string{"*"}, false}, {[]string{`w/"a"`}, false}, {[]string{`W/W/"a"`}, false}, {[]string{"", ","}, false},
	} {
		if got := etag.Lists(c.header, []byte(`"a"`)); got != c.want {
			t.Errorf("%q: %v", c.header, got)
		}
	}
	if !etag.IsAny([]string{" * "}) || etag.IsAny([]string{`"*"`}) || etag.IsAny(nil) {
		t.Error("IsAny")
	}
}
