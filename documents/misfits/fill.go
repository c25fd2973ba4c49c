package misfits

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"lectern/contenttypes"
	"lectern/documents/apierror"
	"lectern/documents/issues"
	"lectern/documents/values"
	"lectern/jsontree"
	"lectern/store"
)

// A Filling says which value Fill puts in versions whose attribute is null.
type Filling struct {
	Attribute string  `json:"attribute"`       // uid of a content-type or component, dot, name
	Value     *string `json:"value,omitempty"` // as typed on the command line, see planFill; nil uses the default of the attribute
}

// Filled counts what Fill did.
type Filled struct {
	Versions int `json:"versions"` // how many versions got a value
}

// Fill replaces null by values in all versions of all documents, drafts and published, in all locales, and in
// components at any depth. It first checks the values by the rules of their attributes; if one violates a rule, it
// writes nothing. Versions keep their updatedAt, since nobody edited them.
//
// It writes in batches, each durable by itself, while other requests read and write. After an interruption, the same
// call fills the rest. progress may be nil.
func Fill(
	ctx context.Context, st *store.Store, model *contenttypes.Model, fillings []Filling,
	progress func(what string, done, total int),
) (filled Filled, err error) {
	ctx, release, err := st.LockSchema(ctx)
	if err != nil {
		return filled, err
	}
	defer release()
	plans := make([]*fillPlan, len(fillings))
	var failed []error
	for i, f := range fillings {
		if plans[i], err = planFill(model, f); err != nil {
			failed = append(failed, fmt.Errorf("fill %s: %w", f.Attribute, err))
		}
	}
	if len(failed) > 0 {
		return filled, errors.Join(failed...)
	}
	for _, p := range plans {
		for _, t := range model.Types {
			if !t.Holds(p.attr.Owner) {
				continue
			}
			for _, status := range store.StatusesOf(t) {
				n, err := p.fillVersions(ctx, st, t, status, progress)
				filled.Versions += n
				if err != nil {
					return filled, fmt.Errorf("fill %s in %s: %w", attributeOf(p.attr), t.UID, err)
				}
			}
		}
	}
	return filled, nil
}

// A fillPlan is a checked Filling.
type fillPlan struct {
	attr *contenttypes.Attribute
	raw  []byte // the value as it is stored
}

// fillVersions fills an attribute in the versions of one status of a type.
func (p *fillPlan) fillVersions(
	ctx context.Context, st *store.Store, t *contenttypes.ContentType, status store.Status,
	progress func(string, int, int),
) (filled int, err error) {
	var refs []store.Ref
	err = store.EachPage(ctx, st, t, status, func(r store.Record) {
		if lacks(r, p.attr) {
			refs = append(refs, r.Ref())
		}
	}, func(done, total int) error {
		n, err := p.fillBatch(ctx, st, t, status, refs)
		filled, refs = filled+n, refs[:0]
		if err == nil && progress != nil {
			progress("filling "+attributeOf(p.attr)+" in "+t.UID, done, total)
		}
		return err
	})
	return filled, err
}

// lacks reports whether an attribute is null in a version or in a component of it.
func lacks(r store.Record, a *contenttypes.Attribute) (found bool) {
	if a.Owner.UID == r.Ref().Type && r.JSON(a) == nil {
		return true
	}
	for _, outer := range r.Schema().Attributes {
		if outer.IsStored() && !outer.IsScalar() && !found {
			r.Each(outer, func(item store.Record) bool {
				found = lacks(item, a)
				return !found
			})
		}
	}
	return found
}

// fillBatch fills an attribute in those versions of refs that still lack a value, in one transaction.
func (p *fillPlan) fillBatch(
	ctx context.Context, st *store.Store, t *contenttypes.ContentType, status store.Status, refs []store.Ref,
) (filled int, err error) {
	if len(refs) == 0 {
		return 0, nil
	}
	err = st.Write(ctx, func(tx *store.Tx) error {
		filled = 0
		var b store.Batch
		for _, ref := range refs {
			r := tx.Version(t, ref.Doc, status, ref.Locale)
			if !r.Exists() {
				continue // the version was removed meanwhile
			}
			row := r.Decode()
			if !p.fillNull(&t.Schema, row.Values) {
				continue
			}
			filled++
			b.PutRow(row)
			b.Log(t, r.DocumentID(), store.Updated)
		}
		return tx.Apply(&b)
	})
	return filled, err
}

// fillNull replaces null by the value of p in the values of a schema and of the components in them. It reports whether
// it changed anything.
func (p *fillPlan) fillNull(s *contenttypes.Schema, row []store.Value) (filled bool) {
	for i, attr := range s.Attributes {
		v := &row[i]
		if attr == p.attr && v.JSON == nil {
			v.JSON, filled = p.raw, true
		}
		for _, item := range v.Items {
			filled = p.fillNull(&item.Component.Schema, item.Values) || filled
		}
	}
	return filled
}

// fillable returns nil if an attribute can be filled, and otherwise an error that says why not.
func fillable(a *contenttypes.Attribute) error {
	switch {
	case a.System || a.Type == contenttypes.ID:
		return errors.New("the server gives it its values")
	case a.IsRelation():
		return fmt.Errorf("it is %s; link the documents over the API", describeType(a))
	case !a.IsScalar():
		return fmt.Errorf("it is %s; write the components over the API", describeType(a))
	case a.Type == contenttypes.Password:
		return errors.New("it is a password, and nobody's is that of somebody else")
	case a.IsUnique():
		return errors.New("it is unique, and one value for all documents is not; write them one by one over the API")
	}
	return nil
}

func describeType(a *contenttypes.Attribute) string {
	if a.Type == contenttypes.ComponentType || a.Type == contenttypes.DynamicZone ||
		a.Type == contenttypes.RelationType {
		return "a " + a.Type.String()
	}
	return a.Type.String()
}

// planFill finds the attribute of a Filling, and casts the value as a write does. The value is JSON, except that a text
// needs no quotes.
func planFill(model *contenttypes.Model, f Filling) (*fillPlan, error) {
	dot := strings.LastIndexByte(f.Attribute, '.')
	if dot < 0 {
		return nil, errors.New("that names no attribute; write <uid>.<attribute>")
	}
	var schema *contenttypes.Schema
	if t := model.Type(f.Attribute[:dot]); t != nil {
		schema = &t.Schema
	} else if c := model.Component(f.Attribute[:dot]); c != nil {
		schema = &c.Schema
	} else {
		return nil, fmt.Errorf("there is no content-type or component %q", f.Attribute[:dot])
	}
	a := schema.Attribute(f.Attribute[dot+1:])
	if a == nil {
		return nil, fmt.Errorf("%s has no attribute %q", schema.UID, f.Attribute[dot+1:])
	}
	if err := fillable(a); err != nil {
		return nil, err
	}
	value := a.Default
	switch {
	case f.Value != nil:
		var err error
		if value, err = typedValue(a, *f.Value); err != nil {
			return nil, err
		}
	case !a.HasDefault:
		return nil, errors.New("it has no default; name a value")
	}
	if value == nil {
		return nil, errors.New("null is what is missing; name a value")
	}
	cast, found := values.Cast(a, []string{a.Name}, value, true, values.FullStage)
	if len(found) > 0 {
		return nil, issues.Error(found...)
	}
	if a.Type.Kind().IsTemporal() {
		var wrong *apierror.Error
		if cast, wrong = values.CastTime(a, cast); wrong != nil {
			return nil, wrong
		}
	}
	return &fillPlan{a, values.Encode(cast)}, nil
}

// typedValue parses a value as typed on the command line.
func typedValue(a *contenttypes.Attribute, typed string) (any, error) {
	parsed, err := jsontree.Parse([]byte(typed), jsontree.MaxDepth)
	switch a.Type.Kind() {
	case contenttypes.NumberValue, contenttypes.BooleanValue, contenttypes.JSONValue:
		if err != nil {
			return nil, fmt.Errorf("a value of type %s is JSON, which %q is not: %w", a.Type, typed, err)
		}
		return parsed, nil
	}
	if quoted, ok := parsed.(string); ok && err == nil {
		return quoted, nil
	}
	return typed, nil
}
