package params

import (
	"lectern/contenttypes"
	"lectern/documents/permission"
	"lectern/jsontree"
	"lectern/store"
)

// Rows is List for callers without a query string: which documents of a type are asked for, and in what order. sort and locale have
// the form of the parameters. state is the state of publication that the documents must be in; nil is any.
func (p *Parser) Rows(t *contenttypes.ContentType, filters Filters, sort, locale any, state *store.PublicationState, a *permission.Access) (store.Query, error) {
	r := p.request(t, jsontree.NewObject(), a, everyRank)
	r.build, r.given.sort, r.given.locale = filters, sort, locale
	q := r.query((*request).locales, state)
	return q, r.faults.err
}

// Items is Rows for what a relation, media or component leads to: s is the schema of its targets.
func (p *Parser) Items(s *contenttypes.Schema, filters Filters, sort any, a *permission.Access) (store.Filter, []store.SortKey, error) {
	r := &request{Parser: p, access: a, faults: faults{heeded: everyRank}}
	var filter store.Filter
	if filters != nil {
		filter = filters(&FilterBuilder{request: r, param: filtersParameter})
	}
	keys := r.sort(s, sort, sortParameter)
	return filter, keys, r.faults.err
}
