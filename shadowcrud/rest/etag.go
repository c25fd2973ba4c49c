package rest

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"net/http"
	"strconv"
	"strings"

	"lectern/contenttypes"
	"lectern/documents"
	"lectern/internal/etag"
	"lectern/store"
)

// An answer to a read has an ETag that identifies everything its bytes follow from: the program and its configuration, the request, what
// the caller may see, and the revisions of the types on which the answer depends. It is made without reading a row, so that a request with
// If-None-Match costs little when nothing has changed. Every write to one of the types changes the ETag, also a write that leaves the
// answer as it is.
//
// The ETag of a single document is a hash and a version, with a dot between them. The version alone counts in the header If-Match of a write,
// so that any answer with the document will do. Other ETags have no version, and match no write.

// errNotModified ends a read whose ETag the client has already.
var errNotModified = errors.New("not modified")

// A tagger makes the ETag of an answer, and compares it with those that the client has.
type tagger struct {
	known []string // header If-None-Match
	text  []byte   // what the ETag is a hash of, without the revisions; empty: the answer has no ETag
	types []*contenttypes.ContentType
	all   bool     // the answer may depend on every type
	tag   []byte   // of the answer; empty: none
	cache []string // header Cache-Control of the answer

	// Of an answer with one document:
	one        *Route // nil: the answer is a list, or the document may be of several localizations
	documentID string
	locale     string
}

// identify returns what ETags hold of a route, which is all that the same route has in common for all requests.
func (rt *Route) identify() []byte {
	if rt.api.version == "" {
		return nil
	}
	sum := sha256.Sum256([]byte(rt.api.version + " " + rt.Method + " " + rt.Path + " " + rt.Type.UID))
	return sum[:16]
}

// tagging prepares the ETag of the answer to a read.
func (p *printer) tagging(rt *Route, r *http.Request, c Call, q *store.Query, shown *documents.Selection) {
	t := &p.tagger
	t.text, t.tag, t.one, t.known = t.text[:0], t.tag[:0], nil, r.Header["If-None-Match"]
	t.cache = c.CacheControl
	identity := rt.identity()
	if identity == nil || c.Untagged {
		return
	}
	t.text = c.Access.AppendFingerprint(append(t.text, identity...))
	for _, part := range [...]string{c.DocumentID, r.URL.RawQuery} {
		t.text = binary.AppendUvarint(t.text, uint64(len(part)))
		t.text = append(t.text, part...)
	}
	if p.v4 {
		t.text = append(t.text, "v4"...)
	}
	d := documents.DependenciesOf(q, shown, t.types)
	if t.all = d.Types() == nil; !t.all {
		t.types = d.Types()
	}
}

// taggingOne is tagging for an answer with one document.
func (p *printer) taggingOne(rt *Route, r *http.Request, c Call, q *store.Query, shown *documents.Selection) {
	p.tagging(rt, r, c, q, shown)
	t := &p.tagger
	switch {
	case !rt.Type.Localized:
		t.one, t.documentID, t.locale = rt, c.DocumentID, ""
	case !q.Locales.All && len(q.Locales.Codes) == 1:
		t.one, t.documentID, t.locale = rt, c.DocumentID, q.Locales.Codes[0]
	}
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
	t.tag = etag.AppendHash(append(t.tag[:0], '"'), text)
	if t.one != nil {
		t.tag = t.one.api.documents.AppendVersion(append(t.tag, '.'), s, t.one.Type, t.documentID, t.locale)
	}
	if t.tag = append(t.tag, '"'); len(t.known) > 0 && etag.Lists(t.known, t.tag) {
		return errNotModified
	}
	return nil
}

// precondition returns what the headers If-Match and If-None-Match of a write demand; nil if it has neither.
func precondition(h http.Header) *documents.Precondition {
	match, noneMatch := h["If-Match"], h["If-None-Match"]
	if len(match)+len(noneMatch) == 0 {
		return nil
	}
	p := &documents.Precondition{}
	if len(match) > 0 {
		p.Match = versions(match, true)
	}
	if len(noneMatch) > 0 {
		p.NoneMatch = versions(noneMatch, false)
	}
	return p
}

// versions returns the versions in the ETags of a header. Weak ETags are left out of a strong comparison.
func versions(header []string, strong bool) *documents.VersionSet {
	set := &documents.VersionSet{}
	etag.Each(header, func(tag string, weak bool) bool {
		if tag == "*" {
			set.Any = true
		}
		text, quoted := strings.CutPrefix(tag, `"`)
		text, closed := strings.CutSuffix(text, `"`)
		if _, version, has := strings.Cut(text, "."); quoted && closed && has && !(weak && strong) {
			set.Versions = append(set.Versions, version)
		}
		return true
	})
	return set
}

// VaryTagged is the header Vary of answers with an ETag, and VaryTaggedEncoding that of those which may be compressed.
var (
	VaryTagged         = []string{"Origin, Authorization, Accept, Strapi-Response-Format"}
	VaryTaggedEncoding = []string{VaryTagged[0] + ", Accept-Encoding"}
)

// sendTagged sends the printed answer with its ETag.
func (p *printer) sendTagged(w http.ResponseWriter) {
	h, tag := w.Header(), p.tagger.tag
	if len(tag) == 0 {
		p.send(w, http.StatusOK)
		return
	}
	h["Vary"] = VaryTagged
	if p.tagger.cache != nil {
		h["Cache-Control"] = p.tagger.cache
	}
	text := string(strconv.AppendInt(tag, int64(len(p.buf)), 10)) // one allocation for both
	values := &[2]string{text[:len(tag)], text[len(tag):]}
	h["Etag"], h["Content-Length"] = values[:1:1], values[1:]
	p.sendBody(w, http.StatusOK)
}

// sendRead answers a read that has ended with err: with the printed text, with 304 if the client has it, or not at all after another error.
func (p *printer) sendRead(w http.ResponseWriter, err error) error {
	has := err == nil && etag.IsAny(p.tagger.known) && len(p.tagger.tag) > 0
	switch {
	case has || errors.Is(err, errNotModified):
		h := w.Header()
		h["Etag"], h["Vary"] = []string{string(p.tagger.tag)}, VaryTaggedEncoding // as the answer may have been compressed
		if p.tagger.cache != nil {
			h["Cache-Control"] = p.tagger.cache
		}
		w.WriteHeader(http.StatusNotModified)
	case err != nil:
		return err
	default:
		p.sendTagged(w)
	}
	return nil
}
