package server

import (
	"crypto/rand"
	"net/http"
	"strconv"
	"sync/atomic"
)

// RequestID is the header of the id of a request, which all answers have before their handlers are called.
const RequestID = "X-Request-Id"

// requestIDs makes the ids of requests, which are in answers and in the log. An id has a random part, which is made at
// the start of the process, and a number, so that ids are unique across restarts.
type requestIDs struct {
	prefix string
	last   *atomic.Uint64
}

func newRequestIDs() requestIDs {
	return requestIDs{prefix: rand.Text()[:10] + "-", last: new(atomic.Uint64)}
}

// next returns the id of a request: the one in its header X-Request-Id if that is printable, and otherwise a new one.
func (ids requestIDs) next(r *http.Request) string {
	if sent := r.Header[RequestID]; len(sent) == 1 && printable(sent[0]) {
		return sent[0]
	}
	var space [32]byte
	return string(strconv.AppendUint(append(space[:0], ids.prefix...), ids.last.Add(1), 36))
}

// printable reports whether s is short and has only letters, digits and the characters -_.: which need no quoting.
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
