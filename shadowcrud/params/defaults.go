package params

import (
	"lectern/contenttypes"
	"lectern/documents/apierror"
	"lectern/documents/permission"
	"lectern/jsontree"
)

// Defaults say what requests populate that have no parameter populate: by the type that is asked for, in any form that the parameter
// takes. A populate of a request takes the place of the default as a whole.
type Defaults map[*contenttypes.ContentType]any

// WithDefaults returns a Parser that differs from p in what is populated where a request says nothing. Each default must have passed
// CheckDefault.
//
// What a caller may not read of it is left out of his answers: what he may not find, as with any populate, and beside that each
// attribute whose filters, sort or fields name something that he may not see, since he did not ask for it and cannot be told.
func (p *Parser) WithDefaults(d Defaults) *Parser {
	q := *p
	q.defaults = d
	return &q
}

// CheckDefault returns what is wrong with the default of a type for whoever asks; "" when it can be read.
func (p *Parser) CheckDefault(t *contenttypes.ContentType, populate any) string {
	r := p.request(t, jsontree.NewObject(), permission.FullAccess, everyRank)
	r.given.populate = populate
	r.selection()
	if err, ok := r.faults.err.(*apierror.Error); ok {
		return err.Message
	}
	return ""
}
