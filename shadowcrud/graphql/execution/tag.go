package execution

import (
	"bytes"
	"encoding/binary"
	"errors"

	"github.com/vektah/gqlparser/v2/ast"

	"lectern/contenttypes"
	"lectern/documents"
	"lectern/internal/etag"
	"lectern/jsontree"
	"lectern/shadowcrud/graphql/plan"
	"lectern/store"
)

// The answer to a query has an ETag, as the answers of REST have, unless code of a program takes part in it, or it
// shows the calling user. The ETag is made from the request, the permissions of the caller, and the revisions of the
// types that the plan reads; so an answer that the client has already costs no reading of rows. Revisions would tell a
// caller whom rules of access limit of what they must not see: their ETags are made from the answer instead.

// A Conditional has a query answered with an ETag.
type Conditional struct {
	Version string   // identifies all that decides the bytes of an answer besides the request, its caller and the content
	Known   []string // the header If-None-Match
}

// errNotModified ends a query whose answer the client has.
var errNotModified = errors.New("not modified")

// identify makes the ETag of the answer that the execution is about to print, if it has one. It returns errNotModified
// if the client has that answer.
func (x *execution) identify(s *store.Snapshot) error {
	x.tag, x.ruled = x.tag[:0], false
	if x.request.Conditional == nil || x.plan.Custom || x.plan.Op.Operation != ast.Query || x.access.Timed() {
		return nil
	}
	deps := documents.DependenciesOf(nil, nil, x.access, nil)
	if !x.depend(&deps, x.plan.Root.Fields) {
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
	if x.access.HasRules() {
		x.ruled, x.tag = true, append(x.tag, text...)
		return nil
	}
	types := deps.Types()
	if types == nil && !deps.All() {
		types = []*contenttypes.ContentType{}
	}
	return x.tagged(s.AppendRevisions(text, types))
}

// tagged makes the ETag, a hash of a text. It returns errNotModified if the client has that answer.
func (x *execution) tagged(text []byte) error {
	x.tag = append(etag.AppendHash(append(x.tag[:0], '"'), text), '"')
	if etag.Lists(x.request.Conditional.Known, x.tag) {
		return errNotModified
	}
	return nil
}

// identifyAnswer makes the ETag of an answer from its text, if identify could not. It returns errNotModified if the
// client has that answer.
func (x *execution) identifyAnswer() error {
	if !x.ruled || len(x.Errors) > 0 {
		return nil
	}
	return x.tagged(etag.AppendHash(bytes.Clone(x.tag), x.Answer()))
}

// depend adds the types whose content decides what fields print. It returns false if something else decides it too.
func (x *execution) depend(d *documents.Dependencies, fields []*plan.Field) bool {
	for _, f := range fields {
		switch f.As {
		case plan.AsMe, plan.AsCustom, plan.AsUnsupported:
			return false
		case plan.AsUnion, plan.AsUnionList:
			if f.Attr == nil || f.Attr.Type != contenttypes.DynamicZone {
				d.AddAll()
			}
		}
		if f.Attr != nil {
			d.Follow(f.Attr)
		} else if f.Load >= 0 {
			d.AddAll()
		}
		if f.Slot >= 0 {
			d.Query(&x.bindings[f.Slot].Query)
		}
		for _, sub := range f.Subs {
			if !x.depend(d, sub.Fields) {
				return false
			}
		}
		if f.Parts != nil && !x.depend(d, f.Parts.Fields) {
			return false
		}
	}
	return true
}
