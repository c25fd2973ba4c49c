package params

import (
	"lectern/contenttypes"
	"lectern/documents/permission"
	"lectern/jsontree"
	"lectern/store"
)

// Rows returns the query of a list for a caller without a query string. sort and locale have the form of the parameters. state is the
// publication state that the documents must have; nil means any.
func (p *Parser) Rows(t *contenttypes.ContentType, filters Filters, sort, locale any, state *store.PublicationState, a *permission.Access) (store.Query, error) {
	r := p.request(t, jsontree.NewObject(), a, everyIssue)
	r.build, r.params.sort, r.params.locale = filters, sort, locale
	q := r.query((*request).locales, state)
	return q, r.issues.err
}

// Items returns the filter and sort of the targets of a relation, media or component, for a caller without a query string. s is the schema
// of the targets.
func (p *Parser) Items(s *contenttypes.Schema, filters Filters, sort any, a *permission.Access) (store.Filter, []store.SortKey, error) {
	r := &request{Parser: p, access: a, issues: issues{reported: everyIssue}}
	var filter store.Filter
	if filters != nil {
		filter = filters(&FilterBuilder{request: r, param: filtersParameter})
	}
	keys := r.sort(s, sort, sortParameter)
	return filter, keys, r.issues.err
}
