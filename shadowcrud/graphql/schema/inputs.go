package schema

import (
	"github.com/graphql-go/graphql"

	"lectern/contenttypes"
)

// newInput declares an input that writes data.
func (b *builder) newInput(name, owner string) *Input {
	in := &Input{Name: name, byName: map[string]*InputField{}, in: b.input(name, owner)}
	b.named(name).data = in
	return in
}

// field adds a field to an input.
func (i *Input) field(f *InputField, t graphql.Input) *argument {
	i.Fields = append(i.Fields, f)
	i.byName[f.Name] = f
	return i.in.add(f.Name, t)
}

// fillInput adds the fields that write the attributes of a type to its input. None is required, since a draft may lack
// required attributes and an update holds only the attributes that change.
func (b *builder) fillInput(s *shapes) {
	if s.typ == nil {
		id := b.Scalar("ID")
		s.input.field(&InputField{Kind: InputID, Name: "id", Attr: s.schema.Attribute("id"), Scalar: id}, id.GraphQL)
	}
	for _, a := range s.schema.Attributes {
		if !a.System && s.off.field(a.Name).HasInputEnabled() {
			b.inputField(s, a)
		}
	}
	if s.typ == nil {
		return
	}
	if s.off.field("publishedAt").HasInputEnabled() {
		at := b.Scalar("DateTime")
		s.input.field(&InputField{Kind: InputIgnored, Name: "publishedAt", Scalar: at}, at.GraphQL)
	}
	if !s.typ.Localized && s.off.field("locale").HasInputEnabled() {
		text := b.Scalar("String")
		s.input.field(&InputField{Kind: InputIgnored, Name: "locale", Scalar: text}, text.GraphQL)
	}
}

// inputField adds the field that writes an attribute.
func (b *builder) inputField(s *shapes, a *contenttypes.Attribute) {
	f := &InputField{Name: a.Name, Attr: a}
	var t graphql.Input
	list := false
	switch {
	case a.IsMorph():
		return
	case a.IsRelation():
		if b.target(a) == nil {
			return
		}
		f.Kind, list, f.Scalar = InputRelation, a.ToMany(), b.Scalar("ID")
		if a.Type == contenttypes.Media {
			f.Kind = InputFile
		}
		if list {
			f.Kind++ // InputRelation becomes InputRelationList, InputFile becomes InputFileList
		}
		t = graphql.ID
	case a.Type == contenttypes.ComponentType:
		to := b.target(a)
		if to == nil {
			return
		}
		f.Kind, f.Input, list, t = InputComponent, to.input, a.Repeatable, to.input.in.graphql
		if list {
			f.Kind = InputComponentList
		}
	case a.Type == contenttypes.DynamicZone:
		f.Kind, f.Zone, list = InputZone, s.zones[a], true
		f.Scalar = f.Zone.Input
		t = graphql.NewNonNull(f.Scalar.GraphQL)
	default:
		f.Kind, f.Enum = InputValue, s.enums[a]
		if f.Enum != nil {
			t = f.Enum.GraphQL
		} else {
			f.Scalar = b.Scalar(a.Type.GraphQL())
			t = f.Scalar.GraphQL
		}
	}
	if list {
		t = graphql.NewList(t)
	}
	s.input.field(f, t)
}

// fileInfo declares the input that changes a file.
func (b *builder) fileInfo() {
	t := b.Model.Type(contenttypes.FileUID)
	if t == nil {
		return
	}
	in := b.newInput("FileInfoInput", generated)
	for _, name := range []string{"name", "alternativeText", "caption"} {
		text := b.Scalar("String")
		in.field(&InputField{Kind: InputArgument, Name: name, Attr: t.Attribute(name), Scalar: text}, text.GraphQL)
	}
}
