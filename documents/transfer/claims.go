package transfer

import (
	"errors"
	"fmt"

	"lectern/contenttypes"
	"lectern/documents"
	"lectern/documents/issues"
	"lectern/documents/unique"
	"lectern/internal/extsort"
	"lectern/store"
)

// A claim is a name that only one line of the file may have.
type claim struct {
	kind  claimKind
	hash  uint64
	id    idName                    // of an idClaim
	attrs []*contenttypes.Attribute // of a uniqueClaim: what leads from the document to the value
	value []byte                    // of a uniqueClaim
	edge  *edge                     // of a linkClaim
}

type claimKind uint8

const (
	versionClaim claimKind = iota // the version of a document
	idClaim                       // the id of a row or component
	uniqueClaim                   // the value of a unique attribute
	linkClaim                     // the only link to a target; lines of the same document may have it together
)

// The fields of the records of importer.claims.
const (
	claimHash    = iota
	claimLine    // number of the line
	claimOrdinal // index in claimsOf, with sharedClaim added for a linkClaim
	claimDoc     // hash of the document
	claimExtent  // extent of the line
)

const sharedClaim = 1 << 63

// The fields of the records that contest makes of claims, in the order of lines.
const (
	contestedLine = iota
	contestedOrdinal
	contestedHash
	contestedDoc
	contestedExtent
)

// The fields of the records of importer.names.
const (
	nameHash    = iota
	nameState   // present or needed
	nameLine    // number of the line
	nameOrdinal // of the need
	nameExtent  // extent of the line
)

const (
	present = iota
	needed
)

// A need is a name that must be in the file. Its ordinal is the index in claimsOf of a unique value that another
// document of the store has, or that plus the index of a link to a document that is not in the store.
type need struct {
	hash    uint64
	ordinal int
}

// claimsOf returns the claims of a line, always in the same order.
func (im *importer) claimsOf(l *importLine) (list []claim) {
	for _, v := range l.versions {
		list = append(list, claim{kind: versionClaim,
			hash: im.hash(l.typ.UID, l.documentID, l.locale, v.row.Status.String())})
		for _, n := range v.ids {
			if n.id > 0 {
				list = append(list, claim{kind: idClaim, hash: im.hashID(n.idName), id: n.idName})
			}
		}
		if v.row.Status == store.Published && !im.o.KeepTaken {
			for _, attrs := range im.uniqueIn(l.typ) {
				eachValue(v.row.Values, attrs, func(value []byte) {
					list = append(list, claim{kind: uniqueClaim, hash: im.hash(l.typ.UID, l.locale,
						contenttypes.PathName(attrs), string(value)), attrs: attrs, value: value})
				})
			}
		}
		for i := range v.edges {
			e := &v.edges[i]
			if im.holdsOne(e) {
				list = append(list, claim{kind: linkClaim, hash: im.hashList(e), edge: e})
			}
		}
	}
	return list
}

// uniqueIn lists the paths of attributes from a type to its unique attributes, those in components included.
func (im *importer) uniqueIn(t *contenttypes.ContentType) [][]*contenttypes.Attribute {
	paths, known := im.unique[t]
	if !known {
		paths = t.UniquePaths()
		im.unique[t] = paths
	}
	return paths
}

// eachValue calls yield with each value at the end of a path of attributes that only one document may have.
func eachValue(values []store.Value, attrs []*contenttypes.Attribute, yield func(raw []byte)) {
	v := values[attrs[0].Index]
	if len(attrs) == 1 {
		if !unique.IsFree(v.JSON) {
			yield(v.JSON)
		}
		return
	}
	for _, item := range v.Items {
		if &item.Component.Schema == attrs[1].Owner {
			eachValue(item.Values, attrs[1:], yield)
		}
	}
}

// holdsOne reports whether only one document may have a link to the target of a link.
func (im *importer) holdsOne(e *edge) bool {
	return documents.LinkedOnce(im.s.Model(), e.attr, e.target)
}

// taken returns the problem of a line whose claim an earlier line has.
func (c *claim) taken(line int) error {
	switch c.kind {
	case idClaim:
		return fmt.Errorf("id: line %d has the id %d of %s as well", line, c.id.id, c.id.uid)
	case uniqueClaim:
		return fmt.Errorf("%s: must be unique, and line %d has %s as well", contenttypes.PathName(c.attrs), line,
			c.value)
	case linkClaim:
		return fmt.Errorf("%s: document %s may be linked once, and line %d does so", issues.PathName(c.edge.path),
			c.edge.id, line)
	}
	return fmt.Errorf("line %d is the same version of the same document", line)
}

// takenBy returns the problem of a line with a unique value that another document of the store has.
func (c *claim) takenBy(documentID string) error {
	return fmt.Errorf("%s: must be unique, and document %s has %s as well", contenttypes.PathName(c.attrs), documentID,
		c.value)
}

// resolve finds the problems between lines, after all lines were read.
func (im *importer) resolve() error {
	contested := extsort.New(im.dir(), sortedInMemory)
	err := im.contest(contested)
	if err == nil {
		err = im.decide(contested)
	}
	if err := errors.Join(err, contested.Close()); err != nil {
		return err
	}
	return im.checkNeeds()
}

// contest adds the claims that several lines have to contested, by line.
func (im *importer) contest(contested *extsort.Sorter) error {
	var first extsort.Record
	added := false // whether first was added
	add := func(r extsort.Record) error {
		return contested.Add(extsort.Record{r[claimLine], r[claimOrdinal], r[claimHash], r[claimDoc], r[claimExtent]})
	}
	return im.claims.Each(func(r extsort.Record) error {
		if r[claimHash] != first[claimHash] {
			first, added = r, false
			return nil
		}
		if !added {
			if err := add(first); err != nil {
				return err
			}
			added = true
		}
		return add(r)
	})
}

// decide gives contested claims to the first valid lines that have them. The other lines are wrong.
func (im *importer) decide(contested *extsort.Sorter) error {
	type holder struct{ line, doc uint64 }
	held := map[uint64]holder{}
	var of []extsort.Record // claims of one line
	settle := func() error {
		for _, r := range of {
			shared := r[contestedOrdinal]&sharedClaim != 0
			if by, taken := held[r[contestedHash]]; taken && (!shared || by.doc != r[contestedDoc]) {
				im.damaged[r[contestedDoc]] = int(r[contestedLine])
				return im.explain(lineAt(r[contestedLine], r[contestedExtent]), func(l *importLine) error {
					return im.claimsOf(l)[r[contestedOrdinal]&^sharedClaim].taken(int(by.line))
				})
			}
		}
		for _, r := range of {
			held[r[contestedHash]] = holder{r[contestedLine], r[contestedDoc]}
		}
		return im.reserve(0)
	}
	err := contested.Each(func(r extsort.Record) error {
		if len(of) > 0 && of[0][contestedLine] != r[contestedLine] {
			if err := settle(); err != nil {
				return err
			}
			of = of[:0]
		}
		of = append(of, r)
		return nil
	})
	return errors.Join(err, settle())
}

// checkNeeds finds the lines whose needs no valid line meets. A link to a document with a wrong line is no further
// problem unless the import goes on without that document.
func (im *importer) checkNeeds() error {
	var met uint64           // the last name that is present in a valid line
	var wrong extsort.Record // the last name that is present in a wrong line
	return im.names.Each(func(r extsort.Record) error {
		inWrong := r[nameHash] == wrong[nameHash]
		switch {
		case r[nameState] == present:
			if !im.bad[int(r[nameLine])] {
				met = r[nameHash]
			} else {
				wrong = r
			}
			return nil
		case r[nameHash] == met, inWrong && !im.o.Partial:
			return nil
		}
		at := lineAt(r[nameLine], r[nameExtent])
		return im.explain(at, func(l *importLine) error {
			im.damaged[im.hashDocument(l.typ, l.documentID)] = at.number
			if inWrong {
				e := im.needed(l, int(r[nameOrdinal]))
				return fmt.Errorf("%s: document %s is left out, since line %d is wrong", issues.PathName(e.path), e.id,
					wrong[nameLine])
			}
			return im.unmet(l, int(r[nameOrdinal]))
		})
	})
}

// needed returns the link of a need whose ordinal is one of a link.
func (im *importer) needed(l *importLine, ordinal int) *edge {
	return l.edges()[ordinal-len(im.claimsOf(l))]
}

// unmet returns the problem of a line with a need that is not met.
func (im *importer) unmet(l *importLine, ordinal int) (problem error) {
	claims := im.claimsOf(l)
	if ordinal < len(claims) {
		c := &claims[ordinal]
		err := im.s.Store().View(func(snap *store.Snapshot) error {
			problem = c.takenBy(ownerOf(snap, l, c.attrs, c.value))
			return nil
		})
		return errors.Join(problem, err)
	}
	e, in := im.needed(l, ordinal), ""
	if e.target.Localized {
		in = " in " + e.locale
	}
	return fmt.Errorf("%s: there is no document %s of %s%s, neither in the file nor in the store",
		issues.PathName(e.path), e.id, e.target.UID, in)
}

// explain marks a line as wrong. It reads the line again for the text of the problem.
func (im *importer) explain(at lineRef, problem func(*importLine) error) error {
	l, err := im.readAgain(at)
	if err == nil {
		im.wrong(at.number, problem(l))
	}
	return errors.Join(err, im.reserve(0))
}
