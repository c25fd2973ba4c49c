package documents

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"lectern/contenttypes"
	"lectern/jsontree"
	"lectern/store"
)

// A Misfit is something that stored content has and that no write would be let pass with: it was written under other definitions or
// another configuration.
type Misfit struct {
	Type      string    `json:"type"`                // the uid of the content-type
	Attribute string    `json:"attribute,omitempty"` // uid of its owner (Type, or a component), dot, name; "" for versions as such
	Problem   string    `json:"problem"`             // in words, to follow the attribute: "is required and missing"
	Missing   bool      `json:"missing,omitempty"`   // a required value is null: Fill puts one in
	Fillable  bool      `json:"fillable,omitempty"`  // Fill can do that
	Default   bool      `json:"default,omitempty"`   // with the default of the attribute
	Locale    string    `json:"locale,omitempty"`    // the locale that the configuration does not have
	Versions  int       `json:"versions"`            // that have it
	Drafts    int       `json:"drafts,omitempty"`    // that lack the value too, which drafts may; Versions does not count them
	Examples  []Example `json:"examples"`
}

// An Example is a version that does not fit.
type Example struct {
	DocumentID string `json:"documentId"`
	Locale     string `json:"locale,omitempty"`
	Status     string `json:"status"`
}

// maxExamples is how many versions a Misfit names.
const maxExamples = 3

// String is one line, without examples.
func (m Misfit) String() string {
	subject := m.Type
	if m.Attribute != "" {
		subject = m.Attribute
		if !strings.HasPrefix(m.Attribute, m.Type+".") {
			subject += " in " + m.Type
		}
	}
	line := fmt.Sprintf("%s %s: %s", subject, m.Problem, countOf(m.Versions, "version"))
	if m.Drafts > 0 {
		line += fmt.Sprintf(", and %s that cannot be published without it", countOf(m.Drafts, "draft"))
	}
	return line
}

// String names a version.
func (e Example) String() string {
	if e.Locale != "" {
		return e.DocumentID + " (" + e.Locale + ", " + e.Status + ")"
	}
	return e.DocumentID + " (" + e.Status + ")"
}

func countOf(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return strconv.Itoa(n) + " " + what + "s"
}

// An Audit is what of the stored content does not fit.
type Audit struct {
	Versions int      `json:"versions"` // that were looked at
	Misfits  []Misfit `json:"misfits,omitempty"`
	// Unindexed are the unique attributes of which it cannot be told before the next start, which makes their index.
	Unindexed []string `json:"unindexed,omitempty"`
}

// AuditOf finds everything in stored content that does not fit a model and the locales of the configuration, as a write is checked: drafts
// are held to what drafts must keep to, all other versions to everything. Its memory does not grow with the content.
func AuditOf(ctx context.Context, p *store.Preview, locales []string) (Audit, error) {
	au := auditor{preview: p, locales: locales, found: map[misfitKey]*misfit{}}
	for _, t := range p.Model().Types {
		if t.BuiltIn && t.UID != contenttypes.UserUID {
			continue // all that is in them the server wrote
		}
		au.typ, au.unique, au.rules = t, nil, map[*contenttypes.Schema][]*contenttypes.Attribute{}
		for _, a := range t.Attributes {
			switch {
			case a.System || !a.IsScalar() || !isUnique(a):
			case p.Indexed(a):
				au.unique = append(au.unique, a)
			default:
				au.Unindexed = append(au.Unindexed, t.UID+"."+a.Name)
			}
		}
		if err := p.Each(ctx, t, au.version); err != nil {
			return Audit{}, err
		}
	}
	for _, key := range slices.SortedFunc(maps.Keys(au.found), misfitKey.compare) {
		if m := au.found[key]; m.Versions > 0 {
			au.Misfits = append(au.Misfits, m.Misfit)
		}
	}
	return au.Audit, nil
}

// An auditor goes through the versions of one type after the other.
type auditor struct {
	Audit
	preview *store.Preview
	locales []string
	found   map[misfitKey]*misfit

	typ    *contenttypes.ContentType
	unique []*contenttypes.Attribute                          // of typ, those that have their index
	rules  map[*contenttypes.Schema][]*contenttypes.Attribute // the attributes of a schema that there is something to check of

	row   store.Record
	stage stage
}

// misfitKey tells misfits apart. Their number is bounded by what definitions say, but for locales, of which a store has a bounded number.
type misfitKey struct{ typ, attribute, problem string }

func (k misfitKey) compare(l misfitKey) int {
	return cmp.Or(strings.Compare(k.typ, l.typ), strings.Compare(k.attribute, l.attribute), strings.Compare(k.problem, l.problem))
}

type misfit struct {
	Misfit
	counted int // the version that was counted last: one with several components counts once
}

// version checks one version of a document.
func (au *auditor) version(r store.Record) {
	if r.Status() == store.Draft && !au.typ.DraftAndPublish {
		return // drafts go when their type has none
	}
	au.Versions++
	au.row, au.stage = r, publishStage
	if r.Status() == store.Draft {
		au.stage = draftStage
	}
	if l := r.Locale(); au.typ.Localized && l != "" && !slices.Contains(au.locales, l) {
		m := au.misfit("", "has content in the locale "+l+", which config/plugins.yaml does not list")
		m.Locale = l
		au.count(m)
	}
	au.record(&au.typ.Schema, r)
	if au.stage == publishStage {
		for _, a := range au.unique {
			if au.taken(a) {
				au.count(au.misfit(attributeOf(a), "is unique and has a value that another document has"))
			}
		}
	}
}

func attributeOf(a *contenttypes.Attribute) string { return a.Owner.UID + "." + a.Name }

func (au *auditor) misfit(attribute, problem string) *misfit {
	key := misfitKey{au.typ.UID, attribute, problem}
	m := au.found[key]
	if m == nil {
		m = &misfit{Misfit: Misfit{Type: au.typ.UID, Attribute: attribute, Problem: problem}}
		au.found[key] = m
	}
	return m
}

func (au *auditor) count(m *misfit) {
	if m.counted == au.Versions {
		return
	}
	m.counted = au.Versions
	m.Versions++
	if len(m.Examples) < maxExamples {
		status := "published"
		if au.row.Status() == store.Draft {
			status = "draft"
		}
		m.Examples = append(m.Examples, Example{text(au.row.JSON(au.typ.Attribute("documentId"))), au.row.Locale(), status})
	}
}

// missing counts a required value that is null. Drafts may lack it, but whoever asks for one over GraphQL gets an error.
func (au *auditor) missing(a *contenttypes.Attribute) {
	m := au.misfit(attributeOf(a), requiredAndMissing)
	if !m.Missing {
		m.Misfit = *missingMisfit(au.typ, a)
	}
	if au.stage != draftStage {
		au.count(m)
	} else if m.counted != au.Versions {
		m.counted = au.Versions
		m.Drafts++
	}
}

const requiredAndMissing = "is required and missing"

func missingMisfit(t *contenttypes.ContentType, a *contenttypes.Attribute) *Misfit {
	return &Misfit{Type: t.UID, Attribute: attributeOf(a), Problem: requiredAndMissing, Missing: true, Fillable: fillable(a) == nil, Default: a.HasDefault}
}

// record checks a version, or a component in one.
func (au *auditor) record(s *contenttypes.Schema, r store.Record) {
	checked, ok := au.rules[s]
	if !ok {
		checked = slices.DeleteFunc(slices.Clone(s.Attributes), func(a *contenttypes.Attribute) bool { return !hasRules(a) })
		au.rules[s] = checked
	}
	for _, a := range checked {
		if a.IsScalar() {
			au.scalar(a, au.preview.JSON(r, a))
			continue
		}
		n := 0
		var values map[*contenttypes.Attribute][][]byte
		r.Each(a, func(item store.Record) bool {
			n++
			au.record(&item.Component().Schema, item)
			if s.UID == au.typ.UID {
				values = au.uniqueIn(item, values)
			}
			return true
		})
		au.items(a, n)
		for attr, list := range values {
			slices.SortFunc(list, bytes.Compare)
			if len(slices.CompactFunc(list, bytes.Equal)) < len(values[attr]) {
				au.count(au.misfit(attributeOf(attr), "is unique and has one value in several components of a version"))
			}
		}
	}
}

// hasRules reports whether stored values of an attribute may be ones that no write would be let pass with.
func hasRules(a *contenttypes.Attribute) bool {
	switch {
	case a.System || a.Type == contenttypes.ID || a.IsRelation():
		return false
	case !a.IsScalar() || a.Required:
		return true
	}
	switch a.Type.Kind() {
	case contenttypes.EnumValue:
		return true
	case contenttypes.TextValue:
		_, bounded := a.LengthBound()
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
		return // its hash says nothing about it
	case a.Type.Kind() == contenttypes.JSONValue:
		return
	}
	if most, bounded := a.LengthBound(); a.Type == contenttypes.String && bounded && len(raw) <= most && a.MinLength == nil && a.Regex == nil {
		return // no rule that it could break
	}
	_, issues := castScalar(a, []string{"it"}, decode(raw), true, au.stage)
	for _, f := range issues {
		problem := strings.TrimSuffix(strings.TrimPrefix(f.message, "it "), ", ")
		if strings.Contains(problem, "but the final value was") { // which differs from one to the other
			problem = "has a value of another type"
		}
		au.count(au.misfit(attributeOf(a), problem))
	}
}

// items checks how many components an attribute has.
func (au *auditor) items(a *contenttypes.Attribute, n int) {
	switch {
	case a.Type == contenttypes.ComponentType && !a.Repeatable:
		if n == 0 && a.Required {
			au.missing(a)
		}
	case au.stage != draftStage && a.Min != nil && (a.Required || n > 0) && float64(n) < *a.Min:
		au.count(au.misfit(attributeOf(a), "must have at least "+jsontree.FormatNumber(*a.Min)+" items"))
	case au.stage != draftStage && a.Max != nil && float64(n) > *a.Max:
		au.count(au.misfit(attributeOf(a), "must have at most "+jsontree.FormatNumber(*a.Max)+" items"))
	}
}

// uniqueIn gathers the values of unique attributes of a component and of those in it: they are compared within one attribute of a
// document.
func (au *auditor) uniqueIn(item store.Record, values map[*contenttypes.Attribute][][]byte) map[*contenttypes.Attribute][][]byte {
	for _, a := range item.Component().Attributes {
		switch {
		case a.IsRelation() || a.Type == contenttypes.ID:
		case !a.IsScalar():
			item.Each(a, func(inner store.Record) bool {
				values = au.uniqueIn(inner, values)
				return true
			})
		case isUnique(a) && au.stage != draftStage:
			if raw := au.preview.JSON(item, a); raw != nil && len(raw) > len(`""`) {
				if values == nil {
					values = map[*contenttypes.Attribute][][]byte{}
				}
				values[a] = append(values[a], raw)
			}
		}
	}
	return values
}

// taken reports whether another document has the value that the version has of a unique attribute.
func (au *auditor) taken(a *contenttypes.Attribute) (taken bool) {
	raw := au.preview.JSON(au.row, a)
	if raw == nil || len(raw) == len(`""`) && raw[0] == '"' {
		return false
	}
	locales := []string{au.row.Locale()}
	if au.typ.Localized && !perLocale(a) {
		locales = au.preview.Locales()
	}
	for _, l := range locales {
		au.preview.Equal(au.typ, store.Published, l, a, raw, func(r store.Record) bool {
			taken = r.Doc() != au.row.Doc() && bytes.Equal(r.JSON(a), raw)
			return !taken
		})
		if taken {
			return true
		}
	}
	return false
}
