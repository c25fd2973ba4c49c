package server

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"lectern/gateway/config"
)

// headers sets the headers that all answers have. All answers share the values: a handler may replace a header or add
// to it, but must not write into its slice.
type headers struct {
	origins []string // nil: any
	always  []header // in every answer

	methods, allowed, exposed, maxAge []string
}

type header struct {
	name  string // in canonical form
	value []string
}

var (
	varyByOrigin     = []string{"Origin"}
	varyByCaller     = []string{"Origin, Authorization"} // where the answer may depend on who asks
	allowCredentials = []string{"true"}
)

// protection are headers against misuse of answers in browsers.
//
// net/http copies, sorts and writes the header map of each answer, and a Go map of more than eight entries is several
// times slower to copy. An answer to a request without an Origin therefore has at most eight headers.
var protection = []header{
	{"Referrer-Policy", []string{"no-referrer"}},
	{"X-Content-Type-Options", []string{"nosniff"}},
	{"X-Frame-Options", []string{"SAMEORIGIN"}},
}

// onlyHTTPS tells browsers never to use plain HTTP again. They ignore it in answers that come over plain HTTP (RFC
// 6797, section 8.1).
var onlyHTTPS = header{"Strict-Transport-Security", []string{"max-age=31536000; includeSubDomains"}}

// IdempotencyKey is the header of requests that clients may send again, to be carried out once.
const IdempotencyKey = "Idempotency-Key"

// NoStore is the header Cache-Control of answers that nobody may keep.
var NoStore = []string{"no-store"}

// Values of the header Content-Type.
var (
	Text = []string{"text/plain; charset=utf-8"}
	JSON = []string{"application/json; charset=utf-8"}
)

// newHeaders returns the headers of a server. https is set if clients reach it through a proxy that ends TLS.
func newHeaders(c config.CORS, https bool) *headers {
	h := &headers{origins: c.Origins, always: protection}
	if https {
		h.always = append(slices.Clone(protection), onlyHTTPS)
	}
	if c.AnyOrigin() {
		h.origins = nil
	}
	list := func(given []string, usual string) []string {
		if len(given) == 0 {
			return []string{usual}
		}
		return []string{strings.Join(given, ",")}
	}
	h.methods = list(c.Methods, "GET,POST,PUT,PATCH,DELETE,HEAD,OPTIONS")
	h.allowed = list(c.Headers, "Content-Type,Authorization,Origin,Accept")
	h.exposed = list(c.Expose, "Accept-Encoding,Allow,Content-Range,ETag,Idempotency-Replayed,Lectern-Forwarded,"+
		"Lectern-Replica-Age,Lectern-Revision,RateLimit,RateLimit-Policy,Retry-After,WWW-Authenticate,X-Request-Id")
	h.maxAge = []string{"31536000"}
	if c.MaxAge > 0 {
		h.maxAge = []string{strconv.Itoa(c.MaxAge)}
	}
	return h
}

// set sets the headers in the answer to a request.
func (h *headers) set(answer http.Header, r *http.Request) {
	answer["Vary"] = varyByOrigin
	if origin := r.Header["Origin"]; len(origin) == 1 && (h.origins == nil || slices.Contains(h.origins, origin[0])) {
		answer["Access-Control-Allow-Origin"] = origin
		answer["Access-Control-Allow-Credentials"] = allowCredentials
		answer["Access-Control-Expose-Headers"] = h.exposed
	}
	for i := range h.always {
		answer[h.always[i].name] = h.always[i].value
	}
}

// preflight reports whether r is a preflight request of a browser, and answers it if so.
func (h *headers) preflight(w http.ResponseWriter, r *http.Request) bool {
	if r.Method != http.MethodOptions || r.Header["Origin"] == nil || r.Header["Access-Control-Request-Method"] == nil {
		return false
	}
	answer := w.Header()
	answer["Access-Control-Allow-Methods"] = h.methods
	answer["Access-Control-Allow-Headers"] = h.allowed
	answer["Access-Control-Max-Age"] = h.maxAge
	delete(answer, "Access-Control-Expose-Headers")
	w.WriteHeader(http.StatusNoContent)
	return true
}

// SetAge tells in the headers of an answer how old it may be, in full seconds: how long ago a replica had the same
// content as its origin, or a node of a cluster had every write that the cluster had acknowledged. It tells nothing if
// age is negative, which means that this is not known.
func SetAge(h http.Header, age time.Duration) {
	if age >= 0 {
		h["Lectern-Replica-Age"] = []string{strconv.FormatInt(int64(age/time.Second), 10)}
	}
}
