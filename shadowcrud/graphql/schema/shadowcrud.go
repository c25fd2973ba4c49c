package schema

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"lectern/contenttypes"
	"lectern/internal/yamlfile"
)

// ShadowCRUD says which generated parts the schema leaves out. The zero value and nil keep all of them.
type ShadowCRUD struct {
	types map[string]*TypeOptions
}

// Of returns the options of a content-type or component. The caller may read and change them.
func (s *ShadowCRUD) Of(uid string) *TypeOptions {
	if s.types == nil {
		s.types = map[string]*TypeOptions{}
	}
	if s.types[uid] == nil {
		s.types[uid] = &TypeOptions{}
	}
	return s.types[uid]
}

// of returns the options of a content-type or component, nil when it has none.
func (s *ShadowCRUD) of(uid string) *TypeOptions {
	if s == nil {
		return nil
	}
	return s.types[uid]
}

// clone copies s, so that one copy can be changed without the other.
func (s *ShadowCRUD) clone() *ShadowCRUD {
	c := &ShadowCRUD{types: map[string]*TypeOptions{}}
	if s == nil {
		return c
	}
	for uid, t := range s.types {
		c.types[uid] = t.clone()
	}
	return c
}

// TypeOptions say which parts of a content-type or component the schema leaves out. For components only Disable and
// Field have an effect. A nil *TypeOptions leaves out nothing.
type TypeOptions struct {
	disabled, noQueries, noMutations bool
	actions                          map[string]bool // that are disabled; allActions stands for each of them
	fields                           map[string]*FieldOptions
}

// actions lists the actions that DisableAction accepts. publish, unpublish and discardDraft exist only with
// Options.DocumentActions.
var actions = []string{"find", "findOne", "create", "update", "delete", "publish", "unpublish", "discardDraft"}

// allActions is the name that DisableAction takes for every action, as the reference does.
const allActions = "*"

// Disable removes the type: its operations, and each field and filter that leads to it.
func (t *TypeOptions) Disable() *TypeOptions { t.disabled = true; return t }

// DisableQueries removes the fields of Query. Relations can still lead to the type.
func (t *TypeOptions) DisableQueries() *TypeOptions { t.noQueries = true; return t }

// DisableMutations removes the fields of Mutation.
func (t *TypeOptions) DisableMutations() *TypeOptions { t.noMutations = true; return t }

// DisableAction removes the fields that carry out an action: find, findOne, create, update, delete, publish, unpublish
// or discardDraft, or those of all actions: "*".
func (t *TypeOptions) DisableAction(action string) *TypeOptions {
	if t.actions == nil {
		t.actions = map[string]bool{}
	}
	t.actions[action] = true
	return t
}

func isAction(name string) bool { return name == allActions || slices.Contains(actions, name) }

// DisableActions calls DisableAction for each of several actions.
func (t *TypeOptions) DisableActions(actions []string) *TypeOptions {
	for _, a := range actions {
		t.DisableAction(a)
	}
	return t
}

// IsEnabled reports whether the schema shows the type.
func (t *TypeOptions) IsEnabled() bool { return t == nil || !t.disabled }

// IsDisabled is the opposite of IsEnabled.
func (t *TypeOptions) IsDisabled() bool { return !t.IsEnabled() }

// AreQueriesEnabled reports whether the type has fields of Query.
func (t *TypeOptions) AreQueriesEnabled() bool { return t == nil || !t.noQueries }

// AreQueriesDisabled is the opposite of AreQueriesEnabled.
func (t *TypeOptions) AreQueriesDisabled() bool { return !t.AreQueriesEnabled() }

// AreMutationsEnabled reports whether the type has fields of Mutation.
func (t *TypeOptions) AreMutationsEnabled() bool { return t == nil || !t.noMutations }

// AreMutationsDisabled is the opposite of AreMutationsEnabled.
func (t *TypeOptions) AreMutationsDisabled() bool { return !t.AreMutationsEnabled() }

// IsActionEnabled reports whether an action is not disabled.
func (t *TypeOptions) IsActionEnabled(action string) bool {
	return t == nil || !t.actions[action] && !t.actions[allActions]
}

// IsActionDisabled is the opposite of IsActionEnabled.
func (t *TypeOptions) IsActionDisabled(action string) bool { return !t.IsActionEnabled(action) }

// allows reports whether the type has the field of Mutation that carries out action.
func (t *TypeOptions) allows(action string) bool {
	return t.AreMutationsEnabled() && t.IsActionEnabled(action)
}

// Field returns the options of an attribute. The caller may read and change them.
func (t *TypeOptions) Field(name string) *FieldOptions {
	if t.fields == nil {
		t.fields = map[string]*FieldOptions{}
	}
	if t.fields[name] == nil {
		t.fields[name] = &FieldOptions{}
	}
	return t.fields[name]
}

func (t *TypeOptions) field(name string) *FieldOptions {
	if t == nil {
		return nil
	}
	return t.fields[name]
}

func (t *TypeOptions) clone() *TypeOptions {
	c := *t
	c.actions, c.fields = maps.Clone(t.actions), map[string]*FieldOptions{}
	for name, f := range t.fields {
		copied := *f
		c.fields[name] = &copied
	}
	return &c
}

// FieldOptions say whether an attribute is left out of the output, the input or the filters. A nil *FieldOptions leaves
// it in all three.
type FieldOptions struct{ noOutput, noInput, noFilters bool }

// Disable leaves the attribute out everywhere.
func (f *FieldOptions) Disable() *FieldOptions {
	return f.DisableOutput().DisableInput().DisableFilters()
}

// DisableOutput removes the field by which clients select the attribute.
func (f *FieldOptions) DisableOutput() *FieldOptions { f.noOutput = true; return f }

// DisableInput removes the input field by which clients write the attribute.
func (f *FieldOptions) DisableInput() *FieldOptions { f.noInput = true; return f }

// DisableFilters removes the field by which clients filter by the attribute.
func (f *FieldOptions) DisableFilters() *FieldOptions { f.noFilters = true; return f }

// IsEnabled reports whether the attribute can be selected, written or filtered by.
func (f *FieldOptions) IsEnabled() bool {
	return f.HasOutputEnabled() || f.HasInputEnabled() || f.HasFiltersEnabled()
}

// IsDisabled is the opposite of IsEnabled.
func (f *FieldOptions) IsDisabled() bool { return !f.IsEnabled() }

// HasOutputEnabled reports whether the attribute can be selected.
func (f *FieldOptions) HasOutputEnabled() bool { return f == nil || !f.noOutput }

// HasInputEnabled reports whether the attribute can be written.
func (f *FieldOptions) HasInputEnabled() bool { return f == nil || !f.noInput }

// HasFiltersEnabled reports whether the attribute can be filtered by.
func (f *FieldOptions) HasFiltersEnabled() bool { return f == nil || !f.noFilters }

// check reports options for types, attributes and actions that do not exist.
func (s *ShadowCRUD) check(m *contenttypes.Model) (errs []error) {
	if s == nil {
		return nil
	}
	for _, uid := range slices.Sorted(maps.Keys(s.types)) {
		schema := schemaOf(m, uid)
		if schema == nil {
			errs = append(errs, fmt.Errorf("shadowCRUD of %q: there is no such content-type or component", uid))
			continue
		}
		t := s.types[uid]
		for _, action := range slices.Sorted(maps.Keys(t.actions)) {
			if !isAction(action) {
				errs = append(errs, fmt.Errorf("shadowCRUD of %s: there is no action %q; there are %s", uid, action,
					oneOf(actions)))
			}
		}
		for _, name := range slices.Sorted(maps.Keys(t.fields)) {
			if schema.Attribute(name) == nil {
				errs = append(errs, fmt.Errorf("shadowCRUD of %s: there is no attribute %q", uid, name))
			}
		}
	}
	return errs
}

// oneOf joins words for a message: a, b or c.
func oneOf(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " or " + words[len(words)-1]
}

// schemaOf returns a content-type or component that the schema may show, or nil.
func schemaOf(m *contenttypes.Model, uid string) *contenttypes.Schema {
	if t := m.Type(uid); t != nil && (!t.BuiltIn || slices.Contains(builtIns, uid)) {
		return &t.Schema
	}
	if c := m.Component(uid); c != nil {
		return &c.Schema
	}
	return nil
}

// shadowFile is the configuration of one content-type or component.
type shadowFile struct {
	Disable          bool
	DisableQueries   bool           `yaml:"disableQueries"`
	DisableMutations bool           `yaml:"disableMutations"`
	DisableAction    string         `yaml:"disableAction"`
	DisableActions   []string       `yaml:"disableActions"`
	Fields           *yamlfile.Node // by attribute: fieldFile
}

type fieldFile struct {
	Disable        bool
	DisableOutput  bool `yaml:"disableOutput"`
	DisableInput   bool `yaml:"disableInput"`
	DisableFilters bool `yaml:"disableFilters"`
}

// Read adds the options of a configuration, a mapping keyed by the uids of content-types and components of m:
//
//	api::article.article:
//	  disableMutations: true
//	  fields:
//	    notes: {disableOutput: true}
//
// The keys are named for the methods. Types and attributes that m does not have are reported with their position in the
// file.
func (s *ShadowCRUD) Read(n *yamlfile.Node, m *contenttypes.Model) yamlfile.Problems {
	if n.IsNull() {
		return nil
	}
	var all map[string]*yamlfile.Node
	problems := n.Decode(&all)
	for _, uid := range slices.Sorted(maps.Keys(all)) {
		node := all[uid]
		schema := schemaOf(m, uid)
		if schema == nil {
			problems = append(problems, n.At(uid).Problem("there is no content-type or component %q", uid))
			continue
		}
		problems = append(problems, s.Of(uid).read(node, schema)...)
	}
	return problems
}

func (t *TypeOptions) read(n *yamlfile.Node, schema *contenttypes.Schema) yamlfile.Problems {
	var f shadowFile
	problems := n.Decode(&f)
	t.disabled = t.disabled || f.Disable
	t.noQueries = t.noQueries || f.DisableQueries
	t.noMutations = t.noMutations || f.DisableMutations
	for _, action := range f.DisableActions {
		problems = append(problems, t.readAction(n.At("disableActions"), action)...)
	}
	if f.DisableAction != "" {
		problems = append(problems, t.readAction(n.At("disableAction"), f.DisableAction)...)
	}
	if f.Fields.IsNull() {
		return problems
	}
	var fields map[string]*yamlfile.Node
	problems = append(problems, f.Fields.Decode(&fields)...)
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if schema.Attribute(name) == nil {
			problems = append(problems, f.Fields.At(name).Problem("%s has no attribute %q", schema.UID, name))
			continue
		}
		problems = append(problems, t.Field(name).read(fields[name])...)
	}
	return problems
}

func (t *TypeOptions) readAction(n *yamlfile.Node, action string) yamlfile.Problems {
	if !isAction(action) {
		return yamlfile.Problems{n.Problem("there is no action %q; there are %s", action, oneOf(actions))}
	}
	t.DisableAction(action)
	return nil
}

func (f *FieldOptions) read(n *yamlfile.Node) yamlfile.Problems {
	var file fieldFile
	problems := n.Decode(&file)
	f.noOutput = f.noOutput || file.Disable || file.DisableOutput
	f.noInput = f.noInput || file.Disable || file.DisableInput
	f.noFilters = f.noFilters || file.Disable || file.DisableFilters
	return problems
}
