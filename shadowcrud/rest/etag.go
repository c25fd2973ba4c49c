package rest

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"lectern/contenttypes"
	"lectern/documents"
	"lectern/documents/apierror"
	"lectern/internal/etag"
	"lectern/store"
)

// An answer to a read has an ETag that identifies everything its bytes follow from: the program and its configuration,
// the request, what the caller may see, and the revisions of the types on which the answer depends. It is made without
// reading a row, so that a request with If-None-Match costs little when nothing has changed. Every write to one of the
// types changes the ETag, also a write that leaves the answer as it is.
//
// The ETag of a single document is a hash and a version, with a dot between them. The version alone counts in the
// header If-Match of a write, so that any answer with the document will do. Other ETags have no version, and match no
// write.
//
// documents.DependenciesOf finds the types in the query and the selection. If it cannot bound them (morph relations,
// the documents that use a file, more than 16 types), the ETag follows the whole content. The revision of a type moves
// with its rows and with links that begin at them, and a conversion moves all of them, so an earlier revision never
// comes back within an epoch. Routes that call code of a program have no ETag. The types on which a read depends are
// kept by its route and query, so that a 304 needs no parsing and no planning.
//
// Revisions would tell a caller whom rules of access limit of writes to what they must not see: a revision also moves
// with links to documents of other types. Their ETags are hashes of the answer instead, and have a version only if they
// may write to the type.

// errNotModified ends a read whose ETag the client has already.
var errNotModified = errors.New("not modified")

// ErrOtherAnswer answers a read whose header If-Match names other answers.
var ErrOtherAnswer = &apierror.Error{Status: http.StatusPreconditionFailed, Name: "PreconditionFailedError",
	Message: "the answer is not, or no longer, one of those that the request names (If-Match)"}

// A tagger makes the ETag of an answer, and compares it with those that the client has.
type tagger struct {
	known      []string // header If-None-Match
	match      []string // header If-Match
	text       []byte   // what the ETag is a hash of, without the revisions; empty: the answer has no ETag
	depends    dependencies
	ruled      bool // the ETag is a hash of the answer, not of revisions
	route      *Route
	documentID string
	tag        []byte   // of the answer; empty: none
	cache      []string // header Cache-Control of the answer
}

// dependencies say whose revisions are in the ETag of an answer. They follow from the plan of the read.
type dependencies struct {
	types  []*contenttypes.ContentType // on which the answer depends
	all    bool                        // the answer may depend on every type
	one    bool                        // the answer has one document, in one locale
	locale string                      // of that document; "" if its type is not localized
}

// A reading identifies reads that have the same dependencies: those of a route with the same query, by callers with the
// same permissions.
type reading struct {
	route  *Route
	query  string // as in the URL
	access [sha256.Size]byte
}

func readingOf(rt *Route, r *http.Request, c *Call) reading {
	k := reading{route: rt, query: r.URL.RawQuery}
	c.Access.AppendFingerprint(k.access[:0])
	return k
}

// Limits of the dependencies that an API keeps.
const (
	maxKept      = 1024
	maxKeptBytes = 1 << 20
	readingBytes = 200 // of a reading and its dependencies, without the query, estimated
)

// keep has the next reads with If-None-Match find the dependencies without parsing and planning their query.
func (a *API) keep(k reading, d dependencies) {
	d.types = slices.Clone(d.types)
	k.query = strings.Clone(k.query) // the query alone, not the request that it is a part of
	a.kept.Add(k, &d, readingBytes+len(k.query))
}

// identify returns what ETags hold of a route, which is all that the same route has in common for all requests.
func (rt *Route) identify() []byte {
	if rt.api.version == "" {
		return nil
	}
	sum := sha256.Sum256([]byte(rt.api.version + " " + rt.Method + " " + rt.Path + " " + rt.Type.UID))
	return sum[:16]
}

// tags reports whether answers to a read have ETags.
func (rt *Route) tags(c *Call) bool { return rt.identity() != nil && !c.Untagged && !c.Access.Timed() }

// tagging prepares the ETag of the answer to a read that was planned. single: the answer has one document.
func (p *printer) tagging(rt *Route, r *http.Request, c *Call, q *store.Query, shown *documents.Selection,
	single bool) {
	p.tagger.cache = c.CacheControl
	if !rt.tags(c) {
		return
	}
	t := &p.tagger
	t.ask(rt, r, c, p.v4)
	d := documents.DependenciesOf(q, shown, c.Access, t.depends.types)
	t.depends = dependencies{types: t.depends.types[:0], all: d.Types() == nil}
	if !t.depends.all {
		t.depends.types = d.Types()
	}
	switch {
	case !single:
	case !rt.Type.Localized:
		t.depends.one = true
	case !q.Locales.All && len(q.Locales.Codes) == 1:
		t.depends.one, t.depends.locale = true, q.Locales.Codes[0]
	}
	if t.ruled = c.Access.HasRules(); t.ruled && !c.Access.Writes(rt.Type) {
		t.depends.one = false
	}
	if len(t.known) > 0 && !t.ruled {
		rt.api.keep(readingOf(rt, r, c), t.depends)
	}
}

// ask notes what was asked for, and by whom.
func (t *tagger) ask(rt *Route, r *http.Request, c *Call, v4 bool) {
	t.route, t.documentID = rt, c.DocumentID
	t.known, t.match = r.Header["If-None-Match"], r.Header["If-Match"]
	t.text = c.Access.AppendFingerprint(append(t.text[:0], rt.identity()...))
	for _, part := range [...]string{c.DocumentID, r.URL.RawQuery} {
		t.text = binary.AppendUvarint(t.text, uint64(len(part)))
		t.text = append(t.text, part...)
	}
	if v4 {
		t.text = append(t.text, "v4"...)
	}
}

// unchanged answers a read with 304, and returns true, if the dependencies are kept from an earlier read and the client
// has the answer already.
func (rt *Route) unchanged(w http.ResponseWriter, r *http.Request, c *Call) (bool, error) {
	if len(r.Header["If-None-Match"]) == 0 || !rt.tags(c) {
		return false, nil
	}
	kept, ok := rt.api.kept.Get(readingOf(rt, r, c))
	if !ok {
		return false, nil
	}
	p := rt.printer(r, *c, store.Draft, nil)
	defer p.release()
	t := &p.tagger
	t.cache = c.CacheControl
	t.ask(rt, r, c, p.v4)
	types := append(t.depends.types[:0], kept.types...)
	t.depends = *kept
	t.depends.types = types
	err := p.bound.view(rt.api.store, t.check)
	if !errors.Is(err, errNotModified) {
		return false, err
	}
	return true, p.sendRead(w, err)
}

// check makes the ETag of the answer in a snapshot. It returns errNotModified if the client has that answer. Of an ETag
// that is a hash of the answer it makes the version only; see complete.
func (t *tagger) check(s *store.Snapshot) error {
	switch {
	case len(t.text) == 0:
		return nil
	case t.ruled:
		t.tag = t.appendVersion(t.tag[:0], s)
		return nil
	}
	types := t.depends.types
	if t.depends.all {
		types = nil
	}
	length := len(t.text)
	text := s.AppendRevisions(t.text, types)
	t.text = text[:length]
	t.tag = t.appendVersion(etag.AppendHash(append(t.tag[:0], '"'), text), s)
	return t.close()
}

// appendVersion appends the version of the document in the answer, if it has one, and a dot before it.
func (t *tagger) appendVersion(tag []byte, s *store.Snapshot) []byte {
	if !t.depends.one {
		return tag
	}
	return t.route.api.documents.AppendVersion(append(tag, '.'), s, t.route.Type, t.documentID, t.depends.locale)
}

// close ends the ETag. It returns errNotModified if the client has that answer.
func (t *tagger) close() error {
	if t.tag = append(t.tag, '"'); len(t.known) > 0 && etag.Lists(t.known, t.tag) {
		return errNotModified
	}
	return nil
}

// complete makes the ETag that is a hash of the answer, which was printed. It returns errNotModified if the client has
// that answer.
func (t *tagger) complete(answer []byte) error {
	if len(t.text) == 0 || !t.ruled {
		return nil
	}
	version := string(t.tag)
	t.text = etag.AppendHash(t.text, answer)
	t.tag = append(etag.AppendHash(append(t.tag[:0], '"'), t.text), version...)
	return t.close()
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

// sendTagged sends the printed answer, with its ETag if it has one. The answer depends on the same headers of the
// request either way.
func (p *printer) sendTagged(w http.ResponseWriter) {
	h, tag := w.Header(), p.tagger.tag
	if len(tag) == 0 {
		h.Add("Vary", "Accept, "+FormatHeader)
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

// sendRead answers a read that has ended with err: with the printed text, with 304 if the client has it, or not at all
// after another error. If-Match is compared here, and not before the read, because 404 and other errors come first (RFC
// 9110, section 13.2.1).
func (p *printer) sendRead(w http.ResponseWriter, err error) error {
	if err == nil {
		err = p.tagger.complete(p.buf)
	}
	tagged := (err == nil || errors.Is(err, errNotModified)) && len(p.tagger.tag) > 0
	switch has := tagged && etag.IsAny(p.tagger.known); {
	case tagged && etag.Excludes(p.tagger.match, p.tagger.tag):
		return ErrOtherAnswer
	case has || errors.Is(err, errNotModified):
		h := w.Header()
		h["Etag"], h["Vary"] = []string{string(p.tagger.tag)},
			VaryTaggedEncoding // as the answer may have been compressed
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
