package store

import (
	"bytes"
	"slices"

	"lectern/contenttypes"
	"lectern/store/internal/format"
	"lectern/store/internal/query"
)

// A Status distinguishes the draft of a document from its published version. Types without draft & publish have
// published rows only.
type Status = format.Status

const (
	Published = format.Published
	Draft     = format.Draft
)

// A Query selects rows of one type. It is a plain value, which REST parameters and GraphQL arguments both become.
type Query = query.Query

// A LocaleSet says in which locales a query looks. It has no effect on types that are not localized.
type LocaleSet = query.LocaleSet

// A SortKey orders rows by the scalar attribute at the end of its path.
type SortKey = query.SortKey

// A Sight says what a reader sees of the documents that relations lead to.
type Sight = query.Sight

// A Filter is a condition on a row, in the three-valued logic of SQL: a comparison with null is unknown, and unknown is
// never a match, also below Not. One of And, Or, Not, Compare, Through, Seen, Publication, Search,
// Unlinked.
type Filter = query.Filter

// Filters.
type (
	And         = query.And
	Or          = query.Or
	Not         = query.Not
	Compare     = query.Compare
	Through     = query.Through
	Seen        = query.Seen
	Publication = query.Publication
	Search      = query.Search
	Unlinked    = query.Unlinked
)

// An Op is a comparison operator.
type Op = query.Op

// Operators.
const (
	Eq           = query.Eq
	EqI          = query.EqI
	Ne           = query.Ne
	NeI          = query.NeI
	In           = query.In
	NotIn        = query.NotIn
	Lt           = query.Lt
	Lte          = query.Lte
	Gt           = query.Gt
	Gte          = query.Gte
	Between      = query.Between
	Contains     = query.Contains
	ContainsI    = query.ContainsI
	NotContains  = query.NotContains
	NotContainsI = query.NotContainsI
	StartsWith   = query.StartsWith
	StartsWithI  = query.StartsWithI
	EndsWith     = query.EndsWith
	EndsWithI    = query.EndsWithI
	Null         = query.Null
	NotNull      = query.NotNull
)

// A PublicationState is a value of the parameter publicationFilter.
type PublicationState = query.PublicationState

// Publication states.
const (
	NeverPublished              = query.NeverPublished
	HasPublishedVersion         = query.HasPublishedVersion
	Modified                    = query.Modified
	Unmodified                  = query.Unmodified
	NeverPublishedDocument      = query.NeverPublishedDocument
	HasPublishedVersionDocument = query.HasPublishedVersionDocument
	PublishedWithoutDraft       = query.PublishedWithoutDraft
	PublishedWithDraft          = query.PublishedWithDraft
)

// A cond is a compiled Filter, with every Not pushed down to the leaves. It reports whether the filter is true of a
// record; under a Not, whether it is false. A filter that is unknown is neither. All attributes of the zero Record are
// null.
type cond interface {
	holds(s *Snapshot, r Record) bool
}

type (
	allOf []cond
	anyOf []cond
	// someTarget holds if one target of an attribute meets the condition. If there is no target, the zero Record must
	// meet it.
	someTarget struct {
		attr   *contenttypes.Attribute
		status Status // of the rows
		asked  uint8  // how many targets were tested, up to unremembered
		cond   cond
		all    conjunction // the parts of cond; empty under a Not
		known  memo        // results for linked targets
		seen   *seen       // nil: all targets are seen, in the status of the rows
	}
	// test tests the JSON of a scalar attribute. It never holds for null.
	test struct {
		attr   *contenttypes.Attribute
		ok     func(raw []byte) bool
		values int // how many values ok compares with at most
	}
	isNull struct {
		attr *contenttypes.Attribute
		want bool
	}
	inState struct {
		Publication
		negate            bool
		drafts, published *limits // which drafts and which published versions are seen
	}
	constant bool
)

func (c constant) holds(*Snapshot, Record) bool { return bool(c) }

func (c allOf) holds(s *Snapshot, r Record) bool {
	for _, x := range c {
		if !x.holds(s, r) {
			return false
		}
	}
	return true
}

func (c anyOf) holds(s *Snapshot, r Record) bool {
	for _, x := range c {
		if x.holds(s, r) {
			return true
		}
	}
	return false
}

func (c test) holds(s *Snapshot, r Record) bool {
	raw := r.JSON(c.attr)
	return raw != nil && s.spend((1+len(raw)/testedAtATime)*c.values) && c.ok(raw)
}

func (c isNull) holds(_ *Snapshot, r Record) bool { return (r.JSON(c.attr) == nil) == c.want }

func (c *someTarget) holds(s *Snapshot, r Record) bool {
	found, met := false, false
	c.each(s, r, func(holds bool) bool {
		found, met = true, holds
		return !met
	})
	return met || !found && c.cond.holds(s, Record{})
}

// each calls yield for each target of r, in order, until yield returns false. holds says whether the target meets the
// condition.
func (c *someTarget) each(s *Snapshot, r Record, yield func(holds bool) bool) {
	visit := func(target Record) bool { return yield(c.cond.holds(s, target)) }
	switch {
	case !c.attr.IsRelation():
		r.Each(c.attr, visit)
	case c.attr.System || !r.Exists():
		s.Related(r, c.attr, c.status, func(target Record) bool { return !c.seen.sees(s, target) || visit(target) })
	default:
		s.eachTarget(r, c.attr, linksFor(c.attr, c.status, c.targetStatus()), func(other format.End) bool {
			shown, met := c.target(s, other)
			return !shown || yield(met)
		})
	}
}

// target reports whether a linked document has a version to show, and whether that meets the condition.
func (c *someTarget) target(s *Snapshot, r format.End) (shown, met bool) {
	if shown, met, known := c.known.of(r); known {
		return shown, met
	}
	target := s.shown(r, c.targetStatus())
	if shown = target.Exists() && c.seen.sees(s, target); shown {
		met = c.cond.holds(s, target)
	}
	// For the first few targets, recording costs more than it saves.
	if c.asked < unremembered {
		c.asked++
	} else {
		c.known.remember(r, shown, met)
	}
	return shown, met
}

// targetStatus returns which versions of the targets are tested.
func (c *someTarget) targetStatus() Status {
	if c.seen != nil {
		return c.seen.status
	}
	return c.status
}

func (c inState) holds(s *Snapshot, r Record) bool {
	hidden := c.Sight != nil && r.Exists() && r.Type() != nil && r.Type().DraftAndPublish &&
		c.Sight.StatusOf(r.Type(), Draft) != Draft
	return (hidden || s.inState(r, c.State, c.sees)) != c.negate
}

// newInState compiles a Publication.
func newInState(f Publication, negate bool) inState {
	return inState{f, negate, newLimits(f.Sight, Draft), newLimits(f.Sight, Published)}
}

// sees reports whether a version of a document is seen. Those that are not are as if there were none.
func (c inState) sees(s *Snapshot, r Record) bool {
	if r.Status() == Draft {
		return c.drafts.sees(s, r)
	}
	return c.published.sees(s, r)
}

// InState reports whether a version of a document is in a publication state. Versions of types without draft & publish
// are in every state, and so is the zero Record.
func (s *Snapshot) InState(r Record, state PublicationState) bool {
	return s.inState(r, state, func(*Snapshot, Record) bool { return true })
}

// inState is InState if there are only the versions that are seen.
func (s *Snapshot) inState(r Record, state PublicationState, sees func(*Snapshot, Record) bool) bool {
	if !r.Exists() || !r.Type().DraftAndPublish {
		return true
	}
	b, draft := r.table.bound, r.slot.Status() == Draft
	other := func() Record {
		if o := s.row(b, r.slot^1, r.doc); o.Exists() && sees(s, o) {
			return o
		}
		return Record{}
	}
	switch state {
	case NeverPublished:
		return draft && !other().Exists()
	case HasPublishedVersion:
		return !draft || other().Exists()
	case Modified, Unmodified:
		o := other()
		if !o.Exists() {
			return false
		}
		d, p := r, o
		if !draft {
			d, p = o, r
		}
		newer := bytes.Compare(d.JSON(b.system.updatedAt), p.JSON(b.system.updatedAt)) > 0
		return newer == (state == Modified)
	case NeverPublishedDocument:
		return draft && !s.isPublished(r, sees)
	case HasPublishedVersionDocument:
		return !draft || s.isPublished(r, sees)
	case PublishedWithoutDraft:
		return !draft && !other().Exists()
	case PublishedWithDraft:
		return !draft && other().Exists()
	}
	return false
}

// isPublished reports whether a published version of r's document is seen, in any locale.
func (s *Snapshot) isPublished(r Record, sees func(*Snapshot, Record) bool) bool {
	b := r.table.bound
	for _, sl := range s.slots(b, format.Unquote(r.JSON(b.system.documentID))) {
		if sl.Status() == Published && sees(s, s.row(b, sl, r.doc)) {
			return true
		}
	}
	return false
}

// compile turns a filter into a cond. negate says that the filter is under an odd number of Nots.
func compile(f Filter, status Status, negate bool) cond {
	switch f := f.(type) {
	case nil:
		return constant(!negate)
	case And:
		return compileList(f, status, negate, !negate)
	case Or:
		return compileList(f, status, negate, negate)
	case Not:
		return compile(f.Filter, status, !negate)
	case Through:
		return compileThrough(f, status, negate)
	case Publication:
		return newInState(f, negate)
	case Search:
		return compileSearch(f, negate)
	case Unlinked:
		return &unlinked{attrs: f.Attrs, want: !negate}
	case Compare:
		return compileCompare(f, negate)
	}
	return constant(false)
}

func compileThrough(f Through, status Status, negate bool) cond {
	c := &someTarget{attr: f.Attr, status: status}
	if limited, ok := f.Filter.(Seen); ok {
		c.seen, f.Filter = limitsOf(limited.Sight, f.Attr, status).of(f.Attr.Target), limited.Filter
		status = c.targetStatus()
	}
	if negate {
		c.cond = compile(f.Filter, status, true)
		return c
	}
	c.all = compileConjuncts(f.Filter, status)
	c.cond = c.all.cond()
	return c
}

// A conjunction is a list of filters that must all hold, and the cond of each.
type conjunction struct {
	filters []Filter
	conds   allOf
}

// cond returns the cond of the whole conjunction.
func (c conjunction) cond() cond {
	if len(c.conds) == 1 {
		return c.conds[0]
	}
	return c.conds
}

// compileConjuncts splits a filter into filters that must all hold, and compiles each.
func compileConjuncts(f Filter, status Status) conjunction {
	list := query.Conjuncts(f)
	c := conjunction{filters: list, conds: make(allOf, len(list))}
	for i, x := range list {
		c.conds[i] = compile(x, status, false)
	}
	return c
}

func compileList(list []Filter, status Status, negate, all bool) cond {
	conds := make([]cond, len(list))
	for i, f := range list {
		conds[i] = compile(f, status, negate)
	}
	if len(conds) == 1 {
		return conds[0]
	}
	if all {
		return allOf(conds)
	}
	return anyOf(conds)
}

func compileSearch(f Search, negate bool) cond {
	found := query.ContainsFold(f.Text)
	var conds []cond
	for _, a := range f.Attrs {
		ok := func(raw []byte) bool { return found(format.Unquote(raw)) != negate }
		if negate {
			conds = append(conds, anyOf{isNull{a, true}, test{a, ok, 1}})
		} else {
			conds = append(conds, test{a, ok, 1})
		}
	}
	if negate {
		return allOf(conds)
	}
	return anyOf(conds)
}

func compileCompare(f Compare, negate bool) cond {
	switch {
	case f.Op == Null || f.Op == Eq && len(f.Values) == 1 && f.Values[0] == nil:
		return isNull{f.Attr, !negate}
	case f.Op == NotNull || f.Op == Ne && len(f.Values) == 1 && f.Values[0] == nil:
		return isNull{f.Attr, negate}
	case f.Op == NotIn && negate:
		return compileCompare(Compare{Attr: f.Attr, Op: In, Values: f.Values}, false)
	}
	ok := query.Predicate(f)
	if ok == nil || negate && f.Op == In && slices.Contains(f.Values, nil) {
		return constant(false) // a comparison with null is unknown
	}
	if negate {
		return test{f.Attr, func(raw []byte) bool { return !ok(raw) }, len(f.Values)}
	}
	return test{f.Attr, ok, len(f.Values)}
}

// A memo records for which targets of a relation a condition holds, so that each target is tested once even if many
// rows lead to it.
type memo map[versionPage]memoPage

// A versionPage identifies 64 documents of one type in one locale.
type versionPage struct {
	schema, locale uint16
	page           uint64
}

// A memoPage holds the results for the 64 documents of a versionPage, as one bit of each field per document.
type memoPage struct {
	known, shown, met uint64
}

// unremembered is the number of tests after which a someTarget begins to record.
const unremembered = 8

// of returns the recorded result for a target: whether it has a version to show, and whether that version meets the
// condition. known is false if nothing is recorded.
func (m memo) of(r format.End) (shown, met, known bool) {
	p, bit := m[versionPage{r.Schema, r.Locale, r.Doc / 64}], uint64(1)<<(r.Doc%64)
	return p.shown&bit != 0, p.met&bit != 0, p.known&bit != 0
}

// remember records the result of a test.
func (m *memo) remember(r format.End, shown, met bool) {
	if *m == nil {
		*m = memo{}
	}
	at, bit := versionPage{r.Schema, r.Locale, r.Doc / 64}, uint64(1)<<(r.Doc%64)
	p := (*m)[at]
	p.known |= bit
	if shown {
		p.shown |= bit
	}
	if met {
		p.met |= bit
	}
	(*m)[at] = p
}
