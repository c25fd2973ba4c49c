package params

import (
	"slices"
	"strings"

	"lectern/contenttypes"
	"lectern/documents"
)

// selection reads the parameters fields and populate.
func (r *request) selection() *documents.Selection {
	s := &r.typ.Schema
	chosen := r.fields(s, r.params.fields, fieldsParameter)
	return r.populated(chosen, s)
}

// fields reads which scalars of s the answer prints. The result may be shared and must not be changed.
func (r *request) fields(s *contenttypes.Schema, v any, param *parameter) *documents.Selection {
	f := fieldReader{request: r, schema: s, param: param}
	switch v := v.(type) {
	case nil:
		return r.allFields(s)
	case string:
		for name := range strings.SplitSeq(v, ",") {
			f.add(strings.TrimSpace(name))
		}
	case []any:
		for _, item := range v {
			if item == nil { // "fields[]", by which clients send an empty list
				continue
			}
			name, ok := item.(string)
			if !ok || strings.Contains(name, ",") {
				f.badFields()
				continue
			}
			f.add(name)
		}
	default:
		f.badFields()
	}
	if f.all {
		return r.allFields(s)
	}
	return f.selection()
}

// allFields returns the selection of all scalars of s that the caller sees.
func (r *request) allFields(s *contenttypes.Schema) *documents.Selection {
	p := r.plans[s]
	switch {
	case r.access.LimitsFields(s):
		return &documents.Selection{Fields: r.access.Seen(scalars(s))}
	case !p.names:
		return p.all
	}
	return &documents.Selection{Fields: r.access.Seen(p.all.Fields)}
}

// scalars returns the scalars of a schema, private ones too.
func scalars(s *contenttypes.Schema) (list []*contenttypes.Attribute) {
	for _, a := range s.Attributes {
		if a.IsScalar() {
			list = append(list, a)
		}
	}
	return list
}

// A fieldReader collects the attributes that the parameter fields names.
type fieldReader struct {
	*request
	schema *contenttypes.Schema
	param  *parameter
	chosen [8]*contenttypes.Attribute
	more   []*contenttypes.Attribute
	n      int
	all    bool
}

// add adds the attribute of a name, or all for "*".
func (f *fieldReader) add(name string) {
	if name == "*" {
		f.all = true
		return
	}
	a := f.schema.Attribute(name)
	switch {
	case a == nil && f.isReserved(f.schema, name), a != nil && !a.IsScalar():
		f.forbidden(f.param.key, name, name, f.param.name)
	case a == nil:
		f.unknown(f.param.key, name, "", f.param.name)
	case a.Type == contenttypes.Password && !a.Private:
		f.forbidden(f.param.password, name, name, f.param.name)
	case !f.access.Sees(a):
		f.forbidden(f.param.hidden, name, name, f.param.name)
	case f.n < len(f.chosen):
		f.chosen[f.n] = a
		f.n++
	default:
		f.more = append(f.more, a)
	}
}

// selection returns the chosen fields and the ids, in the order of the schema.
func (f *fieldReader) selection() *documents.Selection {
	list := make([]*contenttypes.Attribute, 0, f.n+len(f.more)+2)
	for _, a := range f.schema.Attributes {
		if a.Type != contenttypes.ID && a.Type != contenttypes.DocumentID {
			break
		}
		list = append(list, a)
	}
	ids := len(list)
	list = append(list, f.chosen[:f.n]...)
	list = append(list, f.more...)
	chosen := list[ids:]
	slices.SortFunc(chosen, func(a, b *contenttypes.Attribute) int { return a.Index - b.Index })
	chosen = slices.Compact(chosen)
	for len(chosen) > 0 && chosen[0].Index < ids {
		chosen = chosen[1:]
	}
	return &documents.Selection{Fields: append(list[:ids], chosen...)}
}

func (f *fieldReader) badFields() {
	f.invalid(f.param.shape, "Invalid fields parameter. Expected a string or an array of strings")
}
