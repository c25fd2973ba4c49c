package params

import (
	"lectern/contenttypes"
	"lectern/documents"
	"lectern/jsontree"
	"lectern/store"
)

// Rows reads filters, sort and locale that have the form of REST parameters but come from elsewhere, from GraphQL: which documents
// of a type are looked at, and in what order. state is the state of publication that they must be in; nil is any.
func (p *Parser) Rows(t *contenttypes.ContentType, filters, sort, locale any, state *store.PublicationState, a *documents.Access) (store.Query, error) {
	r := p.request(t, jsontree.NewObject(), a, everyRank)
	r.given.filters, r.given.sort, r.given.locale = filters, sort, locale
	q := r.query((*request).locales, state)
	return q, r.faults.err
}

// Items is Rows for what a relation, media or component shows: s is the schema of its targets.
func (p *Parser) Items(s *contenttypes.Schema, filters, sort any, a *documents.Access) (store.Filter, []store.SortKey, error) {
	r := &request{Parser: p, access: a, faults: faults{heeded: everyRank}}
	var filter store.Filter
	if filters != nil {
		f := filterReader{request: r, param: filtersParameter}
		filter = f.read(subject{schema: s}, filters)
	}
	keys := r.sort(s, sort, sortParameter)
	return filter, keys, r.faults.err
}
