package permission

import (
	"strings"

	"lectern/contenttypes"
	"lectern/documents/values"
	"lectern/internal/spelling"
	"lectern/jsontree"
)

// fields are the attributes of a type that a rule lists: only these, or all others.
type fields struct {
	listed map[*contenttypes.Attribute]bool
	others bool
}

// writes reports whether an attribute may be written.
func (f *fields) writes(a *contenttypes.Attribute) bool { return f == nil || f.listed[a] != f.others }

// shows reports whether the value of an attribute is read. Ids always are; a private attribute is if it is listed.
func (f *fields) shows(a *contenttypes.Attribute) bool {
	switch {
	case a.Type == contenttypes.ID, a.Type == contenttypes.DocumentID:
		return true
	case f.others:
		return !f.listed[a] && !a.Private
	}
	return f.listed[a]
}

// readFields reads the part fields: a list of names, or {except: a list of names}. read says that it is about what is
// read.
func readFields(t *contenttypes.ContentType, v any, read bool) (*fields, error) {
	f := &fields{listed: map[*contenttypes.Attribute]bool{}}
	if o, ok := v.(*jsontree.Object); ok && len(o.Keys) == 1 && o.Keys[0] == "except" {
		f.others, v = true, o.Value("except")
	}
	list, ok := v.([]any)
	if !ok || len(list) == 0 {
		return nil, wrongRule("write a list of attributes, or {except: [a list of attributes]}", "fields")
	}
	for _, item := range list {
		name, _ := item.(string)
		a, err := attributeOf(t, name, "fields")
		switch {
		case err != nil:
			return nil, err
		case read && a.Type == contenttypes.Password:
			return nil, wrongRule("nobody reads the password "+name, "fields")
		case !read && isManaged(a):
			return nil, wrongRule("nobody writes "+name+", which the server sets", "fields")
		}
		f.listed[a] = true
	}
	return f, nil
}

// readSet reads the part set: values by attribute.
func readSet(t *contenttypes.ContentType, v any, c Conditions) (set []assignment, err error) {
	o, ok := v.(*jsontree.Object)
	if !ok || len(o.Keys) == 0 {
		return nil, wrongRule("write values by attribute, such as {state: pending}, or leave set out", "set")
	}
	for _, key := range o.Keys {
		a, err := attributeOf(t, key, "set", key)
		if err != nil {
			return nil, err
		}
		if isManaged(a) {
			return nil, wrongRule("nobody writes "+key+", which the server sets", "set", key)
		}
		s := assignment{a, o.Value(key)}
		if name, ok := VariableIn(s.value); ok {
			if err := c.CheckVariable(name); err != nil {
				return nil, wrongRule(err.Error(), "set", key)
			}
		} else if err := s.readValue(); err != nil {
			return nil, err
		}
		set = append(set, s)
	}
	return set, nil
}

// readValue checks a value that is no variable. A text that begins with $$ begins with $.
func (s *assignment) readValue() error {
	if text, ok := s.value.(string); ok && strings.HasPrefix(text, "$$") {
		s.value = text[1:]
	}
	if !s.attr.IsScalar() || s.value == nil {
		return nil
	}
	_, found := values.Cast(s.attr, []string{s.attr.Name}, s.value, true, values.DraftStage)
	if len(found) > 0 {
		return wrongRule(found[0].Message, "set", s.attr.Name)
	}
	return nil
}

func attributeOf(t *contenttypes.ContentType, name string, path ...string) (*contenttypes.Attribute, error) {
	if a := t.Attribute(name); a != nil {
		return a, nil
	}
	if strings.Contains(name, ".") {
		return nil, wrongRule("name an attribute of the type itself, not "+name, path...)
	}
	var names []string
	for _, a := range t.Attributes {
		names = append(names, a.Name)
	}
	return nil, wrongRule("there is no attribute "+name+" of "+t.UID+"; "+spelling.Suggest(name, names), path...)
}

// isManaged reports whether the server alone writes an attribute.
func isManaged(a *contenttypes.Attribute) bool { return a.System }
