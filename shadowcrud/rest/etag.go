package rest

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"net/http"
	"strings"

	"lectern/contenttypes"
	"lectern/documents"
	"lectern/store"
)

// An answer to a read has an ETag that identifies everything its bytes follow from: the program and its configuration, the request, what
// the caller may see, and the revisions of the types on which the answer depends. It is made without reading a row, so that a request with
// If-None-Match costs little when nothing has changed. Every write to one of the types changes the ETag, also a write that leaves the
// answer as it is.

// errNotModified ends a read whose ETag the client has already.
var errNotModified = errors.New("not modified")

// A tagger makes the ETag of an answer, and compares it with those that the client has.
type tagger struct {
	known []string // header If-None-Match
	text  []byte   // what the ETag is a hash of, without the revisions; empty: the answer has no ETag
	types []*contenttypes.ContentType
	all   bool   // the answer may depend on every type
	tag   string // of the answer; "": none
}

// tagging prepares the ETag of the answer to a read.
func (p *printer) tagging(rt *Route, r *http.Request, c Call, q *store.Query, shown *documents.Selection) {
	p.tagger.known = r.Header["If-None-Match"]
	if p.tagger.begin(rt.api.version, r, c); len(p.tagger.text) == 0 {
		return
	}
	d := documents.DependenciesOf(q, shown, p.tagger.types)
	if p.tagger.all = d.Types() == nil; !p.tagger.all {
		p.tagger.types = d.Types()
	}
	if p.v4 {
		p.tagger.text = append(p.tagger.text, "v4"...)
	}
}

// begin begins the text of the ETag.
func (t *tagger) begin(version string, r *http.Request, c Call) {
	t.text, t.tag = t.text[:0], ""
	if version == "" || c.Untagged {
		return
	}
	t.text = append(t.text, version...)
	for _, part := range [...]string{r.URL.Path, c.DocumentID, r.URL.RawQuery} {
		t.text = binary.AppendUvarint(t.text, uint64(len(part)))
		t.text = append(t.text, part...)
	}
	t.text = c.Access.AppendFingerprint(t.text)
}

// check makes the ETag of the answer in a snapshot. It returns errNotModified if the client has that answer.
func (t *tagger) check(s *store.Snapshot) error {
	if len(t.text) == 0 {
		return nil
	}
	types := t.types
	if t.all {
		types = nil
	}
	length := len(t.text)
	text := s.AppendRevisions(t.text, types)
	t.text = text[:length]
	sum := sha256.Sum256(text)
	var tag [24]byte
	tag[0], tag[23] = '"', '"'
	base64.RawURLEncoding.Encode(tag[1:23], sum[:16])
	if t.tag = string(tag[:]); len(t.known) > 0 && lists(t.known, t.tag) {
		return errNotModified
	}
	return nil
}

// lists reports whether a header If-None-Match has an ETag, compared weakly. The value * is left to a full answer.
func lists(header []string, tag string) bool {
	for _, line := range header {
		for listed := range strings.SplitSeq(line, ",") {
			if strings.TrimPrefix(strings.TrimSpace(listed), "W/") == tag {
				return true
			}
		}
	}
	return false
}

// VaryTagged is the header Vary of answers with an ETag, and VaryTaggedEncoding that of those which may be compressed.
var (
	VaryTagged         = []string{"Origin, Authorization, Accept, Strapi-Response-Format"}
	VaryTaggedEncoding = []string{VaryTagged[0] + ", Accept-Encoding"}
)

// setTag sets the headers that a cache needs.
func (t *tagger) setTag(h http.Header) {
	if t.tag != "" {
		h["Etag"] = []string{t.tag}
		h["Vary"] = VaryTagged
	}
}

// sendRead answers a read that has ended with err: with the printed text, with 304 if the client has it, or not at all after another error.
func (p *printer) sendRead(w http.ResponseWriter, err error) error {
	has := err == nil && len(p.tagger.known) == 1 && p.tagger.known[0] == "*" && p.tagger.tag != ""
	switch {
	case has || errors.Is(err, errNotModified):
		p.tagger.setTag(w.Header())
		w.Header()["Vary"] = VaryTaggedEncoding // as the answer may have been compressed
		w.WriteHeader(http.StatusNotModified)
	case err != nil:
		return err
	default:
		p.tagger.setTag(w.Header())
		p.send(w, http.StatusOK)
	}
	return nil
}
