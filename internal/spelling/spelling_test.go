package spelling_test

import (
	"testing"

	"lectern/internal/spelling"
)

func TestCount(t *testing.T) {
	for _, c := range []struct {
		n          int
		what, want string
	}{
		{1, "entry", "1 entry"}, {28, "entry", "28 entries"}, {0, "entry", "0 entries"},
		{2, "day", "2 days"}, {2, "document", "2 documents"}, {2, "content-type", "2 content-types"},
		{2, "index", "2 indexes"}, {2, "match", "2 matches"}, {2, "alias", "2 aliases"},
		{3, "uploaded file", "3 uploaded files"},
	} {
		if got := spelling.Count(c.n, c.what); got != c.want {
			t.Errorf("%d %s: %q, want %q", c.n, c.what, got, c.want)
		}
	}
}
