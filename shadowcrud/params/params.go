// Package params turns the query parameters of a REST request into a store.Query and a documents.Selection: filters,
// sort, fields, populate, pagination, search, locale and status. It checks each parameter against the Model and the
// caller's permissions before anything is read. A wrong parameter is an *apierror.Error of status 400 with the message
// of the reference.
//
// If several parameters are wrong, the error is always the same one, whatever their order: see the order of precedences
// in issues.go. No filter is ignored: a filter that cannot be read is an error.
package params

import (
	"lectern/contenttypes"
	"lectern/documents"
	"lectern/documents/apierror"
	"lectern/documents/permission"
	"lectern/jsontree"
	"lectern/store"
)

// ListSettings are the settings of lists and of sorting.
type ListSettings struct {
	DefaultLimit int
	MaxLimit     int // 0 or less: no maximum
	WithCount    bool
	SortKeys     int // the maximum number of keys of a sort; 0 means 100
	// SortKeysSetting is the name of the setting that SortKeys comes from, for error messages. It may be "".
	SortKeysSetting string
}

// A List holds the parameters of a list.
type List struct {
	Query     store.Query
	Selection *documents.Selection
	Paging    Paging
	// Publication is the publication state that listed and populated documents must have; nil: any.
	Publication *store.PublicationState
}

// A Paging holds the pagination of a list, as meta.pagination prints it.
type Paging struct {
	ByOffset  bool // the request has start and limit instead of page and pageSize
	Page      int
	PageSize  int
	Start     int
	Limit     int
	WithCount bool
}

// A One holds the parameters of a request for a single document. The answer is the first row of the document that Query
// finds. Query is limited to one locale unless its filters name locales. The locale "*" does not stand for all locales
// here, and finds nothing.
type One struct {
	Query       store.Query // without the documentId, which is in the path of the request
	Selection   *documents.Selection
	Publication *store.PublicationState // as in List
	AsOf        string                  // the time or position as of which the document is read; "": now
}

// A Written holds the query parameters of a write: the version to write and the selection that the answer prints.
type Written struct {
	Selection *documents.Selection
	Status    store.Status
	Locale    string // empty for types that are not localized
}

// A Parser reads the parameters of requests for the types of one Model. It is safe for concurrent use.
type Parser struct {
	model         *contenttypes.Model
	defaultLocale string
	inDefault     []string // only the default locale
	limits        ListSettings
	plans         map[*contenttypes.Schema]*plan
	defaults      Defaults
}

// New returns a Parser for m.
func New(m *contenttypes.Model, defaultLocale string, l ListSettings) *Parser {
	if l.SortKeys == 0 {
		l.SortKeys = maxSortKeys
	}
	p := &Parser{model: m, defaultLocale: defaultLocale, inDefault: []string{defaultLocale}, limits: l}
	p.plans = newPlans(m)
	return p
}

// WithSortKeys returns a copy of p with another maximum number of sort keys. setting is the name of the setting that it
// comes from.
func (p *Parser) WithSortKeys(most int, setting string) *Parser {
	q := *p
	q.limits.SortKeys, q.limits.SortKeysSetting = most, setting
	return &q
}

// DefaultLocale returns the locale of requests that name none.
func (p *Parser) DefaultLocale() string { return p.defaultLocale }

// A request is the state of reading the parameters of one request.
type request struct {
	*Parser
	typ    *contenttypes.ContentType
	access *permission.Access
	issues issues
	params parameters
	build  Filters  // the filters of a caller without a query string; nil: read the parameter filters
	top    *request // in a populate: the request that the populate is part of; nil otherwise
	hops   int      // number of relations that all filters of the request follow

	variables permission.Values // of a condition of a rule, which may compare private attributes too; nil for requests
}

// parameters holds the values of the known parameters; nil for those that are missing.
type parameters struct {
	filters, sort, fields, populate, pagination any
	locale, status, search                      any
	publication, hasPublished                   any
	start, limit                                any
	hasStatus                                   bool
	alone                                       bool // a single document is asked for
}

// request begins to read the parameters q of a request. Its issues are those of reported.
func (p *Parser) request(t *contenttypes.ContentType, q *jsontree.Object, a *permission.Access,
	reported issueSet) *request {
	r := &request{Parser: p, typ: t, access: a, issues: issues{reported: reported}}
	g := &r.params
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
				r.issues.add(issueLookup, apierror.Validation("Invalid params: 'lookup'"))
			}
		}
	}
	return r
}

// List reads the parameters of a list.
func (p *Parser) List(t *contenttypes.ContentType, q *jsontree.Object, a *permission.Access) (*List, error) {
	if _, ok := q.Get("asOf"); ok {
		return nil, apierror.Validation("asOf is for single documents")
	}
	r := p.request(t, q, a, everyIssue)
	if q.Value("page") != nil || q.Value("pageSize") != nil {
		r.issues.add(issueTopLevelPage,
			paginationError("Invalid pagination attributes. The page parameters are incorrect and must be in "+
				"the pagination object"))
	}
	l := &List{}
	l.Paging = r.paging()
	return r.list(l)
}

// Stream reads the parameters of a list that is sent whole: without a limit, unless the request has one, which may be
// of any size.
func (p *Parser) Stream(t *contenttypes.ContentType, q *jsontree.Object, a *permission.Access) (*List, error) {
	whole := *p
	whole.limits.MaxLimit, whole.limits.WithCount = 0, false
	if o, ok := q.Value("pagination").(*jsontree.Object); !ok || o.Value("page") == nil {
		whole.limits.DefaultLimit = -1
	}
	l, err := whole.List(t, q, a)
	if err == nil {
		l.Query.Count = false
	}
	return l, err
}

// PlainList reads the parameters of a list without envelope, as users and files have it: start and limit are top-level
// parameters, and the answer has no total.
func (p *Parser) PlainList(t *contenttypes.ContentType, q *jsontree.Object, a *permission.Access) (*List, error) {
	r := p.request(t, q, a, everyIssue)
	l := &List{}
	l.Paging = r.plainPaging()
	return r.list(l)
}

// list sets everything in l except Paging, which the caller has set.
func (r *request) list(l *List) (*List, error) {
	l.Publication = r.publication()
	if err := r.permitted(l.Publication); err != nil {
		return nil, err
	}
	l.Query = r.query((*request).locales, l.Publication)
	l.Query.Offset, l.Query.Limit, l.Query.Count = l.Paging.Start, l.Paging.Limit, l.Paging.WithCount
	l.Selection = r.selection()
	if err := r.issues.err; err != nil {
		return nil, err
	}
	return l, nil
}

// One reads the parameters of a request for a single document. It checks the parameters of lists too, except those of
// paging.
func (p *Parser) One(t *contenttypes.ContentType, q *jsontree.Object, a *permission.Access) (*One, error) {
	r := p.request(t, q, a, everyIssue)
	one := &One{Publication: r.publication()}
	r.params.alone = true
	if err := r.permitted(one.Publication); err != nil {
		return nil, err
	}
	one.Query = r.query((*request).oneLocale, one.Publication)
	one.Query.Limit = 1
	one.Selection = r.selection()
	if err := r.issues.err; err != nil {
		return nil, err
	}
	if err := one.readAsOf(q); err != nil {
		return nil, err
	}
	return one, nil
}

// Write reads the query parameters of a POST or PUT. Filters and sort have no effect, but unknown keys in them are
// errors.
func (p *Parser) Write(t *contenttypes.ContentType, q *jsontree.Object, a *permission.Access) (*Written, error) {
	r := p.request(t, q, a, writeIssues)
	w := &Written{Status: r.status()}
	if !t.DraftAndPublish &&
		r.params.status != "draft" { // an unknown status means the draft only where there are drafts
		w.Status = store.Published
	}
	if t.Localized {
		w.Locale = r.writtenLocale()
	}
	r.query((*request).locales, r.publication())
	w.Selection = r.selection()
	if err := r.issues.err; err != nil {
		return nil, err
	}
	return w, nil
}

// Delete reads the locale that a DELETE removes: "*" means all, and "" is returned for types that are not localized.
// Several locales are an error; DeleteEach accepts them.
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

// DeleteEach reads the locales that a DELETE removes, at least one. It accepts the same values as Delete, and lists of
// locales.
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

// Rows describes a list for a caller without a query string. Sort and Locale have the form of the parameters.
type Rows struct {
	Filters      Filters
	Sort, Locale any
	Status       store.Status
	State        *store.PublicationState // that the documents must have; nil: any
	Alone        bool                    // a single document is asked for
}

// Rows returns the query of a list for a caller without a query string.
func (p *Parser) Rows(t *contenttypes.ContentType, rows Rows, a *permission.Access) (store.Query, error) {
	r := p.request(t, jsontree.NewObject(), a, everyIssue)
	r.build, r.params.sort, r.params.locale, r.params.alone = rows.Filters, rows.Sort, rows.Locale, rows.Alone
	if rows.Status == store.Draft {
		r.params.status, r.params.hasStatus = "draft", true
	}
	q := r.query((*request).locales, rows.State)
	return q, r.issues.err
}

// Items sets the filter and sort in a query of the targets of a relation, media or component, for a caller without a
// query string. s is the schema of the targets, status that of the versions that the request is for.
func (p *Parser) Items(q *store.Query, s *contenttypes.Schema, status store.Status, filters Filters, sort any,
	a *permission.Access) error {
	r := &request{Parser: p, access: a, issues: issues{reported: everyIssue}}
	r.params.hasStatus = status == store.Draft
	if filters != nil {
		q.Filter = filters(&FilterBuilder{request: r, param: filtersParameter})
	}
	q.Sort, q.Sight = r.sort(s, sort, sortParameter), r.sight()
	return r.issues.err
}
