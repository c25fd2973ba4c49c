// Package misfits finds stored content that breaks the rules of the present definitions, and fills in values that are
// missing.
package misfits

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"lectern/contenttypes"
	"lectern/documents/unique"
	"lectern/documents/values"
	"lectern/internal/spelling"
	"lectern/store"
)

// A Misfit is a rule of the current definitions or configuration that stored content violates. Such content was written
// under other definitions or another configuration; a write of it would be refused today.
type Misfit struct {
	Type      string    `json:"type"`                // the uid of the content-type
	Attribute string    `json:"attribute,omitempty"` // uid of its owner (Type, or a component), dot, name; "" if the problem is of the whole version
	Problem   string    `json:"problem"`             // completes a sentence that begins with the attribute: "is required and missing"
	Missing   bool      `json:"missing,omitempty"`   // a required value is null
	Fillable  bool      `json:"fillable,omitempty"`  // Fill can put in a value
	Default   bool      `json:"default,omitempty"`   // Fill can use the default of the attribute
	Locale    string    `json:"locale,omitempty"`    // the locale that the configuration does not have
	Versions  int       `json:"versions"`            // how many versions have the problem
	Drafts    int       `json:"drafts,omitempty"`    // how many drafts lack a required value, as drafts may; Versions does not count them
	Examples  []Example `json:"examples"`
}

// An Example identifies a version with the problem of a Misfit.
type Example struct {
	DocumentID string `json:"documentId"`
	Locale     string `json:"locale,omitempty"`
	Status     string `json:"status"`
}

// maxExamples is the maximum number of examples of a Misfit.
const maxExamples = 3

// String describes the misfit in one line, without examples.
func (m Misfit) String() string {
	subject := m.Type
	if m.Attribute != "" {
		subject = m.Attribute
		if !strings.HasPrefix(m.Attribute, m.Type+".") {
			subject += " in " + m.Type
		}
	}
	line := fmt.Sprintf("%s %s: %s", subject, m.Problem, spelling.Count(m.Versions, "version"))
	if m.Drafts > 0 {
		line += fmt.Sprintf(", and %s that cannot be published without it", spelling.Count(m.Drafts, "draft"))
	}
	return line
}

// String prints the documentId, locale and status.
func (e Example) String() string {
	if e.Locale != "" {
		return e.DocumentID + " (" + e.Locale + ", " + e.Status + ")"
	}
	return e.DocumentID + " (" + e.Status + ")"
}

// A Report is the result of checking all stored content.
type Report struct {
	Versions int      `json:"versions"` // how many versions were checked
	Misfits  []Misfit `json:"misfits,omitempty"`
	// Unindexed lists the unique attributes that could not be checked, since their index is only built at the next
	// start.
	Unindexed []string `json:"unindexed,omitempty"`
}

// Find finds all stored content that violates a model or is in a locale that the configuration does not have. It checks
// drafts by the rules of drafts and other versions by all rules, as writes are checked. Its memory does not grow with
// the content.
func Find(ctx context.Context, p *store.Preview, locales []string) (Report, error) {
	f := finder{preview: p, locales: locales, found: map[misfitKey]*misfit{}}
	for _, t := range p.Model().Types {
		if t.BuiltIn && t.UID != contenttypes.UserUID {
			continue // only the server writes these types
		}
		f.typ, f.unique, f.rules = t, nil, map[*contenttypes.Schema][]*contenttypes.Attribute{}
		for _, attrs := range t.UniquePaths() {
			indexed := len(attrs) > 1 && p.IndexedInside(attrs[0]) || len(attrs) == 1 && p.Indexed(attrs[0])
			if !indexed {
				f.Unindexed = append(f.Unindexed, t.UID+"."+contenttypes.PathName(attrs))
			}
			f.unique = append(f.unique, uniquePath{attrs, indexed})
		}
		if err := p.Each(ctx, t, f.version); err != nil {
			return Report{}, err
		}
	}
	for _, key := range slices.SortedFunc(maps.Keys(f.found), misfitKey.compare) {
		if m := f.found[key]; m.Versions > 0 {
			f.Misfits = append(f.Misfits, m.Misfit)
		}
	}
	return f.Report, nil
}

// A finder checks all stored versions, one type after the other.
type finder struct {
	Report
	preview *store.Preview
	locales []string
	found   map[misfitKey]*misfit

	typ    *contenttypes.ContentType
	unique []uniquePath                                       // what is unique in typ
	rules  map[*contenttypes.Schema][]*contenttypes.Attribute // attributes of each schema that have rules

	row   store.Record
	stage values.Stage
}

// A misfitKey identifies a misfit. The definitions and the locales of the store limit how many misfits there can be.
type misfitKey struct{ typ, attribute, problem string }

func (k misfitKey) compare(l misfitKey) int {
	return cmp.Or(strings.Compare(k.typ, l.typ), strings.Compare(k.attribute, l.attribute),
		strings.Compare(k.problem, l.problem))
}

type misfit struct {
	Misfit
	counted int // number of the version that was counted last, so that a version with the problem in several components counts once
}

// version checks one version of a document.
func (f *finder) version(r store.Record) {
	if r.Status() == store.Draft && !f.typ.DraftAndPublish {
		return // a draft of a type without draft & publish will be removed
	}
	f.Versions++
	f.row, f.stage = r, values.PublishStage
	if r.Status() == store.Draft {
		f.stage = values.DraftStage
	}
	if l := r.Locale(); f.typ.Localized && l != "" && !slices.Contains(f.locales, l) {
		m := f.misfit("", "has content in the locale "+l+", which config/plugins.yaml does not list")
		m.Locale = l
		f.count(m)
	}
	f.record(&f.typ.Schema, r)
	if f.stage == values.PublishStage {
		for _, u := range f.unique {
			f.checkUnique(u)
		}
	}
}

func attributeOf(a *contenttypes.Attribute) string { return a.Owner.UID + "." + a.Name }

// misfit returns the misfit of a problem, and creates it if there is none yet.
func (f *finder) misfit(attribute, problem string) *misfit {
	key := misfitKey{f.typ.UID, attribute, problem}
	m := f.found[key]
	if m == nil {
		m = &misfit{Misfit: Misfit{Type: f.typ.UID, Attribute: attribute, Problem: problem}}
		f.found[key] = m
	}
	return m
}

// count adds the current version to the count of a misfit.
func (f *finder) count(m *misfit) {
	if m.counted == f.Versions {
		return
	}
	m.counted = f.Versions
	m.Versions++
	if len(m.Examples) < maxExamples {
		m.Examples = append(m.Examples, Example{f.row.DocumentID(), f.row.Locale(), f.row.Status().String()})
	}
}

// missing counts a required value that is null. Drafts may lack it, but a GraphQL query that reads it gets an error.
func (f *finder) missing(a *contenttypes.Attribute) {
	m := f.misfit(attributeOf(a), values.RequiredAndMissing)
	if !m.Missing {
		m.Misfit = *missingMisfit(f.typ, a)
	}
	if f.stage != values.DraftStage {
		f.count(m)
	} else if m.counted != f.Versions {
		m.counted = f.Versions
		m.Drafts++
	}
}

func missingMisfit(t *contenttypes.ContentType, a *contenttypes.Attribute) *Misfit {
	return &Misfit{Type: t.UID, Attribute: attributeOf(a), Problem: values.RequiredAndMissing, Missing: true,
		Fillable: fillable(a) == nil, Default: a.HasDefault}
}

// record checks the attributes of a version, or of a component in it.
func (f *finder) record(s *contenttypes.Schema, r store.Record) {
	checked, ok := f.rules[s]
	if !ok {
		checked = slices.DeleteFunc(slices.Clone(s.Attributes),
			func(a *contenttypes.Attribute) bool { return !hasRules(a) })
		f.rules[s] = checked
	}
	for _, a := range checked {
		if a.IsRelation() {
			f.files(a, r)
			continue
		}
		if a.IsScalar() {
			f.scalar(a, f.preview.JSON(r, a))
			continue
		}
		n := 0
		r.Each(a, func(item store.Record) bool {
			n++
			f.record(&item.Component().Schema, item)
			return true
		})
		f.items(a, n)
	}
}

// hasRules reports whether the attribute has a rule that a stored value can violate.
func hasRules(a *contenttypes.Attribute) bool {
	switch {
	case a.Type == contenttypes.Media:
		return len(a.AllowedTypes) > 0 && a.Target != nil
	case a.System || a.Type == contenttypes.ID || a.IsRelation():
		return false
	case !a.IsScalar() || a.Required:
		return true
	}
	switch a.Type.Kind() {
	case contenttypes.EnumValue:
		return true
	case contenttypes.TextValue:
		_, bounded := a.LengthLimit()
		pattern, _ := a.Pattern()
		return bounded || pattern != nil || a.MinLength != nil || a.Type == contenttypes.Email
	case contenttypes.NumberValue:
		return a.Min != nil || a.Max != nil || a.Type == contenttypes.Integer
	}
	return false
}

// scalar checks one value as a write does.
func (f *finder) scalar(a *contenttypes.Attribute, raw []byte) {
	switch {
	case raw == nil:
		if a.Required {
			f.missing(a)
		}
		return
	case a.Type == contenttypes.Password:
		return // the rules are for the password, of which only a hash is stored
	case a.Type.Kind() == contenttypes.JSONValue:
		return
	}
	if most, bounded := a.LengthLimit(); a.Type == contenttypes.String && bounded && len(raw) <= most &&
		a.MinLength == nil && a.Regex == nil {
		return // such a value cannot violate a rule
	}
	for _, rule := range values.Problems(a, values.Decode(raw), f.stage) {
		f.count(f.misfit(attributeOf(a), rule))
	}
}

// files checks the types of the files that a media attribute holds.
func (f *finder) files(a *contenttypes.Attribute, r store.Record) {
	mime := a.Target.Attribute("mime")
	f.preview.Related(r, a, f.row.Status(), func(file store.Record) bool {
		text, _ := values.Decode(file.JSON(mime)).(string)
		fits := a.AllowsFile(text)
		if !fits {
			f.count(f.misfit(attributeOf(a), values.TakesOnly(a)+", and a file is of another type"))
		}
		return fits
	})
}

// items checks the number of components of an attribute.
func (f *finder) items(a *contenttypes.Attribute, n int) {
	switch problem := values.FitItems(a, n); {
	case problem == values.RequiredAndMissing:
		f.missing(a)
	case problem != "" && f.stage != values.DraftStage:
		f.count(f.misfit(attributeOf(a), problem))
	}
}

// A uniquePath is a path of attributes from a type to a unique one.
type uniquePath struct {
	attrs   []*contenttypes.Attribute
	indexed bool
}

// checkUnique counts the values of a unique attribute of the current version that are taken: by another document, or by
// another component.
func (f *finder) checkUnique(u uniquePath) {
	leaf := u.attrs[len(u.attrs)-1]
	var there map[string]bool // values in components before
	f.row.EachInside(u.attrs, func(raw []byte) bool {
		if len(u.attrs) == 1 {
			raw = f.preview.JSON(f.row, leaf)
		}
		if unique.IsFree(raw) {
			return true
		}
		if there[string(raw)] {
			f.count(f.misfit(attributeOf(leaf), "is unique and has one value in several components of a version"))
			return true
		}
		if len(u.attrs) > 1 {
			if there == nil {
				there = map[string]bool{}
			}
			there[string(raw)] = true
		}
		if u.indexed && f.isTaken(u.attrs, raw) {
			f.count(f.misfit(attributeOf(leaf), "is unique and has a value that another document has"))
		}
		return true
	})
}

// isTaken reports whether another document has the same value at the end of a path of attributes as the current
// version.
func (f *finder) isTaken(attrs []*contenttypes.Attribute, raw []byte) bool {
	locales := []string{f.row.Locale()}
	if f.typ.Localized && !attrs[0].IsPerLocale() {
		locales = f.preview.Locales()
	}
	return slices.ContainsFunc(locales, func(l string) bool {
		return unique.Other(f.preview, f.typ, store.Published, l, attrs, raw,
			func(r store.Record) bool { return r.Doc() == f.row.Doc() }).Exists()
	})
}
