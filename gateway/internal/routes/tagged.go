package routes

import (
	"crypto/sha256"
	"encoding/base64"
	"net/http"

	"lectern/gateway/internal/server"
	"lectern/internal/etag"
	"lectern/shadowcrud/rest"
)

// A tagged is a body in JSON with its ETag. A caller who sends that ETag is answered 304, without the body.
type tagged struct {
	text []byte
	etag string
}

func taggedOf(text []byte) *tagged {
	sum := sha256.Sum256(text)
	return &tagged{text, `"` + base64.RawURLEncoding.EncodeToString(sum[:16]) + `"`}
}

// send answers a request, whose caller decides what the answer is.
func (t *tagged) send(w http.ResponseWriter, r *http.Request, limits server.Limits) error {
	header := w.Header()
	header["Etag"] = []string{t.etag}
	header["Cache-Control"] = []string{"no-cache"}
	header["Vary"] = server.VaryByCallerEncoding
	switch tag, known := []byte(t.etag), r.Header["If-None-Match"]; {
	case etag.Excludes(r.Header["If-Match"], tag):
		delete(header, "Etag")
		delete(header, "Cache-Control")
		return rest.ErrOtherAnswer
	case etag.Lists(known, tag) || etag.IsAny(known):
		w.WriteHeader(http.StatusNotModified)
		return nil
	}
	return limits.SendJSON(w, r, http.StatusOK, t.text)
}
