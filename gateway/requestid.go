package gateway

import (
	"crypto/rand"
	"net/http"
	"strconv"
	"sync/atomic"
)

const requestIDHeader = "X-Request-Id"

// requestIDs gives each request a name that its answer and its lines in the log share. Names are unique across restarts:
// a random part for the process and a number.
type requestIDs struct {
	prefix string
	last   *atomic.Uint64
}

func newRequestIDs() requestIDs {
	return requestIDs{prefix: rand.Text()[:10] + "-", last: new(atomic.Uint64)}
}

// next returns the id of a request: the one that a proxy gave it, when that is fit for a log, or a new one.
func (ids requestIDs) next(r *http.Request) string {
	if given := r.Header[requestIDHeader]; len(given) == 1 && printable(given[0]) {
		return given[0]
	}
	var space [32]byte
	return string(strconv.AppendUint(append(space[:0], ids.prefix...), ids.last.Add(1), 36))
}

// printable reports whether s is a short word of letters, digits and -_.: that needs no quoting anywhere.
func printable(s string) bool {
	if s == "" || len(s) > 64 {
		return false
	}
	for i := range len(s) {
		switch c := s[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '-', c == '_', c == '.', c == ':':
		default:
			return false
		}
	}
	return true
}
