package documents

import (
	"encoding/base64"
	"encoding/binary"
	"slices"
	"strconv"

	"lectern/contenttypes"
	"lectern/documents/apierror"
	"lectern/store"
)

// The version of a localization of a document is a text that names the state of its draft and published version, and of
// the relations that its attributes show. It is made without reading a row, from the last change of the types
// concerned. A write with a Precondition compares it in its transaction with the log, which tells whether the document
// itself has changed since. So a write is refused only if its document was changed, and never let through if it was.
//
// A version per document would cost each write another page of the file. The price of this way is that a log which does
// not go back to the version means 412.

// A Precondition is what a write demands of the localization that it writes: the headers If-Match and If-None-Match of
// RFC 9110, section 13. A delete of several localizations demands it of them together.
type Precondition struct {
	Match     *VersionSet // one of these versions must be the present one; nil: no demand
	NoneMatch *VersionSet // none of these versions may be the present one; nil: no demand
}

// A VersionSet is a set of versions, as AppendVersion makes them.
type VersionSet struct {
	Any      bool // any version: it is enough that the localization exists
	Versions []string
}

// errPrecondition is the error of a write whose precondition does not hold.
var errPrecondition = &apierror.Error{Status: 412, Name: "PreconditionFailedError",
	Message: "the document is not, or no longer, as the request expects it (If-Match, If-None-Match)"}

// AppendVersion appends the version of a localization of a document. documentID has no effect on single types, and
// locale none on types that are not localized. The version must not be made in a write transaction.
func (s *Service) AppendVersion(dst []byte, snap *store.Snapshot, t *contenttypes.ContentType, documentID,
	locale string) []byte {
	epoch, last := snap.LastRevision(s.showing[t.UID])
	return strconv.AppendUint(appendSubject(dst, epoch, t, documentID, locale), last, 10)
}

// appendSubject appends the part of a version that says what it is a version of.
func appendSubject(dst []byte, epoch string, t *contenttypes.ContentType, documentID, locale string) []byte {
	if t.Kind == contenttypes.SingleType {
		documentID = ""
	}
	if !t.Localized {
		locale = ""
	}
	const offset, prime = 14695981039346656037, 1099511628211 // FNV-1a
	hash := uint64(offset)
	for _, part := range [...]string{epoch, t.UID, documentID, locale} {
		for i := range len(part) {
			hash = (hash ^ uint64(part[i])) * prime
		}
		hash = (hash ^ 0xff) * prime
	}
	var sum [8]byte
	binary.BigEndian.PutUint64(sum[:], hash)
	return base64.RawURLEncoding.AppendEncode(dst, sum[:])
}

// subjectLen is the length of what appendSubject appends.
var subjectLen = base64.RawURLEncoding.EncodedLen(8)

// showingTypes returns what the documents of each type show of their relations, by uid.
func showingTypes(model *contenttypes.Model) map[string]*store.Showing {
	showing := map[string]*store.Showing{}
	for _, t := range model.Types {
		s := &store.Showing{Type: t}
		for _, a := range t.Attributes {
			if a.IsRelation() && a.Mapped && a.Target != nil && !slices.Contains(s.Linking, a.Target) {
				s.Linking = append(s.Linking, a.Target)
			}
		}
		s.Targets = appendTargets(nil, model, &t.Schema, map[*contenttypes.Schema]bool{})
		showing[t.UID] = s
	}
	return showing
}

// appendTargets appends the targets of the relations in the components of a schema. seen holds the components that were
// looked at.
func appendTargets(targets []*contenttypes.ContentType, model *contenttypes.Model, schema *contenttypes.Schema,
	seen map[*contenttypes.Schema]bool) []*contenttypes.ContentType {
	for _, a := range schema.Attributes {
		for _, c := range a.AllComponents() {
			if seen[&c.Schema] {
				continue
			}
			seen[&c.Schema] = true
			for _, a := range c.Attributes {
				switch {
				case !a.IsRelation():
				case a.Target == nil: // any type
					return model.Types
				case !slices.Contains(targets, a.Target):
					targets = append(targets, a.Target)
				}
			}
			targets = appendTargets(targets, model, &c.Schema, seen)
		}
	}
	return targets
}

// A preconditionCheck compares a Precondition with the present state.
type preconditionCheck struct {
	tx      *store.Tx
	s       *Service
	w       *Write
	doc     uint64   // 0: there is no such document
	locales []string // the localizations that are written and that exist
}

// checkPrecondition returns an Error 412 if the precondition of a write in some locales does not hold. missing reports
// whether the document does not exist at all.
func (s *Service) checkPrecondition(tx *store.Tx, w *Write, locales ...string) (missing bool, err error) {
	if w.If == nil {
		return false, nil
	}
	wr := &writing{s: s, tx: tx, w: w, t: w.Type}
	c := preconditionCheck{tx: tx, s: s, w: w}
	if c.doc, _, err = wr.named(); err != nil {
		return false, err
	}
	if c.doc != 0 {
		tx.Versions(w.Type, c.doc, func(r store.Record) bool {
			locale := r.Locale()
			if !slices.Contains(c.locales, locale) &&
				(slices.Contains(locales, locale) || slices.Contains(locales, "*")) {
				c.locales = append(c.locales, locale)
			}
			return true
		})
	}
	holds := true
	if set := w.If.Match; set != nil {
		if holds, err = c.has(set); err != nil {
			return false, err
		}
	}
	if set := w.If.NoneMatch; set != nil && holds {
		has, err := c.has(set)
		if err != nil {
			return false, err
		}
		holds = !has
	}
	if !holds {
		return c.doc == 0, errPrecondition
	}
	return false, nil
}

// has reports whether the present state is one of a set of versions. It looks only at the latest of those that may be
// it: a document that has not changed since an earlier one has not changed since the latest either. A request may name
// thousands, and each look may read large entries of the log.
func (c *preconditionCheck) has(set *VersionSet) (bool, error) {
	if set.Any {
		return len(c.locales) > 0, nil
	}
	subjects := make([]string, len(c.locales))
	for i, locale := range c.locales {
		subjects[i] = string(appendSubject(nil, c.tx.EpochText(), c.w.Type, c.w.DocumentID, locale))
	}
	latest, found := uint64(0), false
	for _, v := range set.Versions {
		if sequence, ok := sequenceOf(v, subjects); ok && sequence <= c.tx.Sequence() {
			latest, found = max(latest, sequence), true
		}
	}
	if !found {
		return false, nil
	}
	for _, locale := range c.locales {
		if changed, err := c.tx.Changed(c.s.showing[c.w.Type.UID], c.doc, locale, latest); changed || err != nil {
			return false, err
		}
	}
	return true, nil
}

// sequenceOf returns the sequence at which a version was current. ok is false if the text is no version, or one of
// something else than subjects, which are the beginnings of versions as appendSubject makes them.
func sequenceOf(version string, subjects []string) (sequence uint64, ok bool) {
	if len(version) <= subjectLen || !slices.Contains(subjects, version[:subjectLen]) {
		return 0, false
	}
	text := version[subjectLen:]
	sequence, err := strconv.ParseUint(text, 10, 64)
	return sequence, err == nil && (text[0] != '0' || len(text) == 1)
}
