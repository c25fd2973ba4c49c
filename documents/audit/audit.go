// Package audit finds stored content that breaks the rules of the present definitions, and fills in values that are
// missing.
package audit

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

// Run finds all stored content that violates a model or is in a locale that the configuration does not have. It checks
// drafts by the rules of drafts and other versions by all rules, as writes are checked. Its memory does not grow with
// the content.
func Run(ctx context.Context, p *store.Preview, locales []string) (Report, error) {
	au := auditor{preview: p, locales: locales, found: map[misfitKey]*misfit{}}
	for _, t := range p.Model().Types {
		if t.BuiltIn && t.UID != contenttypes.UserUID {
			continue // only the server writes these types
		}
		au.typ, au.unique, au.rules = t, nil, map[*contenttypes.Schema][]*contenttypes.Attribute{}
		for _, attrs := range t.UniquePaths() {
			indexed := len(attrs) > 1 && p.IndexedInside(attrs[0]) || len(attrs) == 1 && p.Indexed(attrs[0])
			if !indexed {
				au.Unindexed = append(au.Unindexed, t.UID+"."+contenttypes.PathName(attrs))
			}
			au.unique = append(au.unique, uniquePath{attrs, indexed})
		}
		if err := p.Each(ctx, t, au.version); err != nil {
			return Report{}, err
		}
	}
	for _, key := range slices.SortedFunc(maps.Keys(au.found), misfitKey.compare) {
		if m := au.found[key]; m.Versions > 0 {
			au.Misfits = append(au.Misfits, m.Misfit)
		}
	}
	return au.Report, nil
}

// An auditor checks all stored versions, one type after the other.
type auditor struct {
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
func (au *auditor) version(r store.Record) {
	if r.Status() == store.Draft && !au.typ.DraftAndPublish {
		return // a draft of a type without draft & publish will be removed
	}
	au.Versions++
	au.row, au.stage = r, values.PublishStage
	if r.Status() == store.Draft {
		au.stage = values.DraftStage
	}
	if l := r.Locale(); au.typ.Localized && l != "" && !slices.Contains(au.locales, l) {
		m := au.misfit("", "has content in the locale "+l+", which config/plugins.yaml does not list")
		m.Locale = l
		au.count(m)
	}
	au.record(&au.typ.Schema, r)
	if au.stage == values.PublishStage {
		for _, u := range au.unique {
			au.checkUnique(u)
		}
	}
}

func attributeOf(a *contenttypes.Attribute) string { return a.Owner.UID + "." + a.Name }

// misfit returns the misfit of a problem, and creates it if there is none yet.
func (au *auditor) misfit(attribute, problem string) *misfit {
	key := misfitKey{au.typ.UID, attribute, problem}
	m := au.found[key]
	if m == nil {
		m = &misfit{Misfit: Misfit{Type: au.typ.UID, Attribute: attribute, Problem: problem}}
		au.found[key] = m
	}
	return m
}

// count adds the current version to the count of a misfit.
func (au *auditor) count(m *misfit) {
	if m.counted == au.Versions {
		return
	}
	m.counted = au.Versions
	m.Versions++
	if len(m.Examples) < maxExamples {
		m.Examples = append(m.Examples, Example{au.row.DocumentID(), au.row.Locale(), au.row.Status().String()})
	}
}

// missing counts a required value that is null. Drafts may lack it, but a GraphQL query that reads it gets an error.
func (au *auditor) missing(a *contenttypes.Attribute) {
	m := au.misfit(attributeOf(a), values.RequiredAndMissing)
	if !m.Missing {
		m.Misfit = *missingMisfit(au.typ, a)
	}
	if au.stage != values.DraftStage {
		au.count(m)
	} else if m.counted != au.Versions {
		m.counted = au.Versions
		m.Drafts++
	}
}

func missingMisfit(t *contenttypes.ContentType, a *contenttypes.Attribute) *Misfit {
	return &Misfit{Type: t.UID, Attribute: attributeOf(a), Problem: values.RequiredAndMissing, Missing: true,
		Fillable: fillable(a) == nil, Default: a.HasDefault}
}

// record checks the attributes of a version, or of a component in it.
func (au *auditor) record(s *contenttypes.Schema, r store.Record) {
	checked, ok := au.rules[s]
	if !ok {
		checked = slices.DeleteFunc(slices.Clone(s.Attributes),
			func(a *contenttypes.Attribute) bool { return !hasRules(a) })
		au.rules[s] = checked
	}
	for _, a := range checked {
		if a.IsRelation() {
			au.files(a, r)
			continue
		}
		if a.IsScalar() {
			au.scalar(a, au.preview.JSON(r, a))
			continue
		}
		n := 0
		r.Each(a, func(item store.Record) bool {
			n++
			au.record(&item.Component().Schema, item)
			return true
		})
		au.items(a, n)
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
func (au *auditor) scalar(a *contenttypes.Attribute, raw []byte) {
	switch {
	case raw == nil:
		if a.Required {
			au.missing(a)
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
	for _, rule := range values.Problems(a, values.Decode(raw), au.stage) {
		au.count(au.misfit(attributeOf(a), rule))
	}
}

// files checks the types of the files that a media attribute holds.
func (au *auditor) files(a *contenttypes.Attribute, r store.Record) {
	mime := a.Target.Attribute("mime")
	au.preview.Related(r, a, au.row.Status(), func(file store.Record) bool {
		text, _ := values.Decode(file.JSON(mime)).(string)
		fits := a.AllowsFile(text)
		if !fits {
			au.count(au.misfit(attributeOf(a), values.TakesOnly(a)+", and a file is of another type"))
		}
		return fits
	})
}

// items checks the number of components of an attribute.
func (au *auditor) items(a *contenttypes.Attribute, n int) {
	switch problem := values.FitItems(a, n); {
	case problem == values.RequiredAndMissing:
		au.missing(a)
	case problem != "" && au.stage != values.DraftStage:
		au.count(au.misfit(attributeOf(a), problem))
	}
}

// A uniquePath is a path of attributes from a type to a unique one.
type uniquePath struct {
	attrs   []*contenttypes.Attribute
	indexed bool
}

// checkUnique counts the values of a unique attribute of the current version that are taken: by another document, or by
// another component.
func (au *auditor) checkUnique(u uniquePath) {
	leaf := u.attrs[len(u.attrs)-1]
	var there map[string]bool // values in components before
	au.row.EachInside(u.attrs, func(raw []byte) bool {
		if len(u.attrs) == 1 {
			raw = au.preview.JSON(au.row, leaf)
		}
		if unique.IsFree(raw) {
			return true
		}
		if there[string(raw)] {
			au.count(au.misfit(attributeOf(leaf), "is unique and has one value in several components of a version"))
			return true
		}
		if len(u.attrs) > 1 {
			if there == nil {
				there = map[string]bool{}
			}
			there[string(raw)] = true
		}
		if u.indexed && au.isTaken(u.attrs, raw) {
			au.count(au.misfit(attributeOf(leaf), "is unique and has a value that another document has"))
		}
		return true
	})
}

// isTaken reports whether another document has the same value at the end of a path of attributes as the current
// version.
func (au *auditor) isTaken(attrs []*contenttypes.Attribute, raw []byte) bool {
	locales := []string{au.row.Locale()}
	if au.typ.Localized && !attrs[0].IsPerLocale() {
		locales = au.preview.Locales()
	}
	return slices.ContainsFunc(locales, func(l string) bool {
		return unique.Other(au.preview, au.typ, store.Published, l, attrs, raw,
			func(r store.Record) bool { return r.Doc() == au.row.Doc() }).Exists()
	})
}
