package execution

import (
	"encoding/binary"
	"errors"

	"github.com/vektah/gqlparser/v2/ast"

	"lectern/contenttypes"
	"lectern/documents"
	"lectern/internal/etag"
	"lectern/jsontree"
	"lectern/store"
)

// The answer to a query has an ETag, as the answers of REST have, unless code of a program takes part in it, or it shows the calling user. The
// ETag is made from the request, the permissions of the caller, and the revisions of the types that the plan reads; so an answer that the
// client has already costs no reading of rows.

// A Conditional has a query answered with an ETag.
type Conditional struct {
	Version string   // identifies all that decides the bytes of an answer besides the request, its caller and the content
	Known   []string // the header If-None-Match
}

// errNotModified ends a query whose answer the client has.
var errNotModified = errors.New("not modified")

// identify makes the ETag of the answer that the execution is about to print, if it has one. It returns errNotModified if the client has that
// answer.
func (x *execution) identify(s *store.Snapshot) error {
	x.tag = x.tag[:0]
	if x.request.Conditional == nil || x.plan.custom || x.plan.op.Operation != ast.Query {
		return nil
	}
	deps := documents.Dependencies{}
	if !x.depend(&deps, x.plan.root.fields) {
		return nil
	}
	c, text := x.request.Conditional, []byte(nil)
	operation := ""
	if x.request.Operation != nil {
		operation = *x.request.Operation
	}
	for _, part := range [...]string{c.Version, x.request.Query, operation} {
		text = append(binary.AppendUvarint(text, uint64(len(part))), part...)
	}
	if x.request.Variables != nil {
		text = jsontree.Append(text, x.request.Variables)
	}
	text = append(x.access.AppendFingerprint(append(text, "\ngraphql\n"...)), '\n')
	types := deps.Types()
	if types == nil && !deps.All() {
		types = []*contenttypes.ContentType{}
	}
	x.tag = append(etag.AppendHash(append(x.tag, '"'), s.AppendRevisions(text, types)), '"')
	if etag.Lists(c.Known, x.tag) {
		return errNotModified
	}
	return nil
}

// depend adds the types whose content decides what fields print. It returns false if something else decides it too.
func (x *execution) depend(d *documents.Dependencies, fields []*field) bool {
	for _, f := range fields {
		switch f.as {
		case asMe, asCustom, asUnsupported:
			return false
		case asUnion, asUnionList:
			if f.attr == nil || f.attr.Type != contenttypes.DynamicZone {
				d.AddAll()
			}
		}
		if f.attr != nil {
			d.Follow(f.attr)
		} else if f.load >= 0 {
			d.AddAll()
		}
		if f.slot >= 0 {
			d.Query(&x.bindings[f.slot].query)
		}
		for _, sub := range f.subs {
			if !x.depend(d, sub.fields) {
				return false
			}
		}
		if f.of != nil && !x.depend(d, f.of.fields) {
			return false
		}
	}
	return true
}
