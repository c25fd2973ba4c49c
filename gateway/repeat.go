package gateway

import (
	"hash/maphash"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"

	"lectern/auth"
	"lectern/store"
)

// A repeater answers 304 to requests that were answered 304 before, if nothing has changed since. Clients that poll send the same request again and
// again, and most of the time that an answer takes goes into finding out that it is the same.
//
// It does not know what an answer depends on, so it repeats one only if nothing at all has changed: the next request has the same target and the same
// headers, apart from those in unrelated; its credential is valid and has the same Principal; no transaction has begun in the store; and the Server serves
// the same Runtime. Only requests for generated routes that run no code of a program are repeated.
type repeater struct {
	server *Server
	next   http.Handler
	seed   maphash.Seed
}

// Limits of what is kept: up to 8 MiB of requests and answers.
const (
	maxRepeatable  = 1 << 13
	maxNotModified = 1 << 10 // bytes of a request and its answer
	bucketSize     = 4
)

// repeatable are the answers of some handlers that may be repeated. The hash of a target says which bucket has them.
type repeatable [maxRepeatable / bucketSize]bucket

type bucket [bucketSize]atomic.Pointer[notModified]

// find returns the answer to a request of a caller in a moment, or nil.
func (b *bucket) find(r *http.Request, who auth.Principal, moment store.Moment) *notModified {
	for i := range b {
		if n := b[i].Load(); n != nil && n.moment == moment && n.who == who && n.isFor(r) {
			return n
		}
	}
	return nil
}

// keep puts an answer in the place of an outdated one or, if there is none, of any.
func (b *bucket) keep(n *notModified) {
	place := rand.IntN(bucketSize)
	for i := range b {
		if former := b[i].Load(); former == nil || former.moment != n.moment {
			place = i
			break
		}
	}
	b[place].Store(n)
}

// A notModified is a request and its answer 304.
type notModified struct {
	moment store.Moment
	who    auth.Principal
	route  string // the pattern of the route, for the access log and the metrics

	requestTarget
	request []header // without unrelated
	answer  []header // without the id of the request
}

// A requestTarget is the part of a request that names what it asks for.
type requestTarget struct{ host, path, rawPath, query string }

func targetOf(r *http.Request) requestTarget {
	return requestTarget{r.Host, r.URL.Path, r.URL.RawPath, r.URL.RawQuery}
}

// unrelated are headers of requests that change no answer of the content API: who sends it, by which way, with which id. Of a credential, only the Principal
// matters. So the keys of tokens are not kept.
var unrelated = []string{"Authorization", "User-Agent", "X-Forwarded-For", requestIDHeader, "Traceparent", "Tracestate"}

// newRepeater returns a repeater for a Server whose other requests next answers.
func newRepeater(s *Server, next http.Handler) *repeater {
	return &repeater{server: s, next: next, seed: maphash.MakeSeed()}
}

// ServeHTTP implements http.Handler.
func (p *repeater) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := p.server.serving.Load()
	if !isRepeatable(r) || h.rt.moment == nil || h.rt.quotas != nil || h.rt.Authenticate == nil {
		p.next.ServeHTTP(w, r)
		return
	}
	moment, settled := h.rt.moment()
	who, err := h.rt.Authenticate(r) // notes the use of a token as well
	if err != nil || !settled {
		p.next.ServeHTTP(w, r)
		return
	}
	answered := &h.repeatable[maphash.Comparable(p.seed, targetOf(r))%uint64(len(h.repeatable))]
	if n := answered.find(r, who, moment); n != nil {
		p.repeat(n, w, r)
		return
	}
	known := r.Header["If-None-Match"][0] // plainConditions may change it in the request
	status := &statusWriter{ResponseWriter: w}
	p.next.ServeHTTP(status, r)
	if status.status != http.StatusNotModified {
		return
	}
	if res := resourceOf(h.match(r)); res != nil && res.generated {
		r.Header["If-None-Match"] = []string{known}
		if n := newNotModified(r, w.Header()); n != nil {
			n.moment, n.who, n.route = moment, who, res.template
			answered.keep(n)
		}
	}
}

// isRepeatable reports whether the answer to a request may be 304, and depends on nothing but its target, its headers and its caller.
func isRepeatable(r *http.Request) bool {
	return r.Method == http.MethodGet && len(r.Header["If-None-Match"]) == 1 && r.ContentLength == 0 &&
		r.Header["If-Match"] == nil && r.Header["Cookie"] == nil
}

// newNotModified returns what is kept of a request and the headers of its answer; nil if they are too long.
func newNotModified(r *http.Request, answer http.Header) *notModified {
	n := &notModified{}
	n.requestTarget = requestTarget{strings.Clone(r.Host), strings.Clone(r.URL.Path), strings.Clone(r.URL.RawPath), strings.Clone(r.URL.RawQuery)}
	size := len(n.host) + len(n.path) + len(n.rawPath) + len(n.query)
	keep := func(from http.Header, without ...string) (list []header) {
		for name, values := range from {
			if slices.Contains(without, name) {
				continue
			}
			own := make([]string, len(values)) // the handlers share some, and others are parts of the request
			for i, v := range values {
				own[i] = strings.Clone(v)
				size += len(v)
			}
			list = append(list, header{strings.Clone(name), own})
			size += len(name)
		}
		return list
	}
	n.request, n.answer = keep(r.Header, unrelated...), keep(answer, requestIDHeader)
	if size > maxNotModified {
		return nil
	}
	return n
}

// isFor reports whether the answer is one to this request.
func (n *notModified) isFor(r *http.Request) bool {
	if n.requestTarget != targetOf(r) {
		return false
	}
	others := len(r.Header)
	for _, name := range unrelated {
		if r.Header[name] != nil {
			others--
		}
	}
	if others != len(n.request) {
		return false
	}
	for i := range n.request {
		if !slices.Equal(n.request[i].value, r.Header[n.request[i].name]) {
			return false
		}
	}
	return true
}

// repeat answers a request as another one like it was answered.
func (p *repeater) repeat(n *notModified, w http.ResponseWriter, r *http.Request) {
	s, answer := p.server, w.Header()
	answer[requestIDHeader] = []string{s.ids.next(r)}
	for i := range n.answer {
		answer[n.answer[i].name] = n.answer[i].value
	}
	if s.observes(r) {
		o := newObservation(w)
		defer s.ended(o, r)
		o.route = n.route
		o.trace(s.tracer, r) // nothing more is done for the request
		o.identified(n.who)
		w = o
	}
	s.counters.repeated.Add(1)
	w.WriteHeader(http.StatusNotModified)
}
