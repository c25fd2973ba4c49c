package params

import (
	"lectern/contenttypes"
	"lectern/documents/apierror"
	"lectern/documents/permission"
	"lectern/jsontree"
)

// Defaults hold a default value of the parameter populate for some types, in any form of the parameter. They apply to
// requests without that parameter.
type Defaults map[*contenttypes.ContentType]any

// WithDefaults returns a copy of p with these defaults. Each of them must have passed CheckDefault.
//
// An attribute of a default is omitted for callers who may not find its targets, as with any populate. It is also
// omitted for callers who may not see something that its filters, sort or fields name: an error would be about
// something that they did not send.
func (p *Parser) WithDefaults(d Defaults) *Parser {
	q := *p
	q.defaults = d
	return &q
}

// CheckDefault returns a message about what is wrong with a default of a type; "" if it is right.
func (p *Parser) CheckDefault(t *contenttypes.ContentType, populate any) string {
	r := p.request(t, jsontree.NewObject(), permission.FullAccess, everyIssue)
	r.params.populate = populate
	r.selection()
	if err, ok := r.issues.err.(*apierror.Error); ok {
		return err.Message
	}
	return ""
}
