// Package params turns the parameters of a REST request into what the store is asked and what the answer prints: filters,
// sort, fields, populate, pagination, search, locale and status. Everything is checked against the Model and against what the
// caller may see before anything is read; a wrong parameter is an *apierror.Error of status 400, in the words that clients
// know.
//
// Where several parameters are wrong the error is always the same one: see the order of the ranks in faults.go. No condition
// is ever passed over: what cannot be understood is refused.
package params

import (
	"lectern/contenttypes"
	"lectern/documents"
	"lectern/documents/apierror"
	"lectern/documents/permission"
	"lectern/jsontree"
	"lectern/store"
)

// Limits are the settings of lists.
type Limits struct {
	DefaultLimit int
	MaxLimit     int // 0 or less: there is none
	WithCount    bool
	SortKeys     int // the most keys that a sort may have; 0 stands for 100
	// SortKeysSetting names the setting that SortKeys is from, for messages; "" where there is none.
	SortKeysSetting string
}

// A List is what a list request asks for.
type List struct {
	Query     store.Query
	Selection *documents.Selection
	Paging    Paging
	// Publication is the state that related documents must be in to be shown, as those listed must: nil for any.
	Publication *store.PublicationState
}

// A Paging is what meta.pagination prints.
type Paging struct {
	ByOffset  bool // Start and Limit were asked for, rather than Page and PageSize
	Page      int
	PageSize  int
	Start     int
	Limit     int
	WithCount bool
}

// A One is what a request for a single document asks for: the first row of that document which the query finds. The query looks
// in one locale unless its filters name locales; the locale "*" is taken for the name of one, which no row has.
type One struct {
	Query       store.Query // without the documentId, which the path of the request says
	Selection   *documents.Selection
	Publication *store.PublicationState // as that of a List
}

// A Written is what the query of a write says: which version to write and what the answer prints.
type Written struct {
	Selection *documents.Selection
	Status    store.Status
	Locale    string // empty for types that are not localized
}

// A Parser reads the parameters of requests for the types of one Model. It may be used by any number of goroutines.
type Parser struct {
	model         *contenttypes.Model
	defaultLocale string
	inDefault     []string // the default locale alone
	limits        Limits
	plans         map[*contenttypes.Schema]*plan
	defaults      Defaults
}

// New returns a Parser for m.
func New(m *contenttypes.Model, defaultLocale string, l Limits) *Parser {
	if l.SortKeys == 0 {
		l.SortKeys = maxSortKeys
	}
	p := &Parser{model: m, defaultLocale: defaultLocale, inDefault: []string{defaultLocale}, limits: l}
	p.plans = newPlans(m)
	return p
}

// WithSortKeys returns a Parser that differs from p in how many keys a sort may have, by the setting of that name.
func (p *Parser) WithSortKeys(most int, setting string) *Parser {
	q := *p
	q.limits.SortKeys, q.limits.SortKeysSetting = most, setting
	return &q
}

// A request is the reading of one request's parameters.
type request struct {
	*Parser
	typ    *contenttypes.ContentType
	access *permission.Access
	faults faults
	given  given
	build  Filters  // those of a caller that has no query string
	whole  *request // for a request within a populate: the one that holds it
	hops   int      // relations that the filters of the whole request have followed
}

// given holds the parameters that are known, nil where they were not given.
type given struct {
	filters, sort, fields, populate, pagination any
	locale, status, search                      any
	publication, hasPublished                   any
	start, limit                                any
	hasStatus                                   bool
}

func (p *Parser) request(t *contenttypes.ContentType, q *jsontree.Object, a *permission.Access, heeded rankSet) *request {
	r := &request{Parser: p, typ: t, access: a, faults: faults{heeded: heeded}}
	g := &r.given
	for _, key := range q.Keys {
		v := q.Value(key)
		switch key {
		case "filters":
			g.filters = v
		case "sort":
			g.sort = v
		case "fields":
			g.fields = v
		case "populate":
			g.populate = v
		case "pagination":
			g.pagination = v
		case "locale":
			g.locale = v
		case "status":
			g.status, g.hasStatus = v, true
		case "_q":
			g.search = v
		case "publicationFilter":
			g.publication = v
		case "hasPublishedVersion":
			g.hasPublished = v
		case "start":
			g.start = v
		case "limit":
			g.limit = v
		case "lookup":
			if v != nil && v != "" {
				r.faults.add(rankLookup, apierror.Validation("Invalid params: 'lookup'"))
			}
		}
	}
	return r
}

// List reads the parameters of a list.
func (p *Parser) List(t *contenttypes.ContentType, q *jsontree.Object, a *permission.Access) (*List, error) {
	r := p.request(t, q, a, everyRank)
	if q.Value("page") != nil || q.Value("pageSize") != nil {
		r.faults.add(rankTopLevelPage, paginationError("Invalid pagination attributes. The page parameters are incorrect and must be in the pagination object"))
	}
	l := &List{}
	l.Paging = r.paging()
	return r.list(l)
}

// PlainList is List for lists that are paged by start and limit at the top level, if at all, and do not tell how long they
// are: those of users and of files.
func (p *Parser) PlainList(t *contenttypes.ContentType, q *jsontree.Object, a *permission.Access) (*List, error) {
	r := p.request(t, q, a, everyRank)
	l := &List{}
	l.Paging = r.plainPaging()
	return r.list(l)
}

// list fills l, whose Paging is known.
func (r *request) list(l *List) (*List, error) {
	l.Publication = r.publication()
	l.Query = r.query((*request).locales, l.Publication)
	l.Query.Offset, l.Query.Limit, l.Query.Count = l.Paging.Start, l.Paging.Limit, l.Paging.WithCount
	l.Selection = r.selection()
	if err := r.faults.err; err != nil {
		return nil, err
	}
	return l, nil
}

// One reads the parameters of a request for a single document. Those of lists are checked as far as they are not about pages.
func (p *Parser) One(t *contenttypes.ContentType, q *jsontree.Object, a *permission.Access) (*One, error) {
	r := p.request(t, q, a, everyRank)
	one := &One{Publication: r.publication()}
	one.Query = r.query((*request).oneLocale, one.Publication)
	one.Query.Limit = 1
	one.Selection = r.selection()
	if err := r.faults.err; err != nil {
		return nil, err
	}
	return one, nil
}

// Write reads the query of a POST or PUT. Parameters that choose among documents have no effect, but unknown keys in them
// are refused.
func (p *Parser) Write(t *contenttypes.ContentType, q *jsontree.Object, a *permission.Access) (*Written, error) {
	r := p.request(t, q, a, writeRanks)
	w := &Written{Status: r.status()}
	if t.Localized {
		w.Locale = r.writtenLocale()
	}
	r.query((*request).locales, r.publication())
	w.Selection = r.selection()
	if err := r.faults.err; err != nil {
		return nil, err
	}
	return w, nil
}

// Delete reads which localization a DELETE is about: "*" is all of them. It is empty for types that are not localized. Where
// several are named it returns an error; DeleteEach knows them.
func (p *Parser) Delete(t *contenttypes.ContentType, q *jsontree.Object) (locale string, err error) {
	list, err := p.DeleteEach(t, q)
	if err != nil {
		return "", err
	}
	if len(list) > 1 {
		v, _ := q.Get("locale")
		return "", invalidLocale(v)
	}
	return list[0], nil
}

// DeleteEach is Delete for any number of localizations. There is at least one.
func (p *Parser) DeleteEach(t *contenttypes.ContentType, q *jsontree.Object) ([]string, error) {
	if !t.Localized {
		return []string{""}, nil
	}
	v, _ := q.Get("locale")
	switch v := v.(type) {
	case string:
		if v != "" {
			return []string{v}, nil
		}
	case []any:
		if codes, ok := texts(v); ok {
			return codes, nil
		}
		return nil, invalidLocale(v)
	case *jsontree.Object:
		return nil, invalidLocale(v)
	}
	return p.inDefault, nil
}
