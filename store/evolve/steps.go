package evolve

import (
	"encoding/json"
	"fmt"
	"reflect"

	"lectern/contenttypes"
)

// Version grows with each change of what conversions leave in a file or in the log: the steps and what they hold, the
// Catalog, and the definitions of built-in types. A version of Lectern knows nothing of those that are newer than its
// own.
const Version = 2

// A Step is one part of a conversion. The store keeps it in its file until it is done.
type Step struct {
	Work Work
	At   Position
}

// Work is what a Step does: one of the types in kinds. Its exported fields are kept in the file.
type Work interface {
	// String says what is being done, for progress and errors: "indexing api::article.article".
	String() string
}

// A Position is how far a step has come.
type Position struct {
	After []byte `json:"after,omitempty"` // the last key that was done
	Done  int    `json:"done,omitempty"`
	Total int    `json:"total,omitempty"`
}

// kinds are the names of steps in files. Names may be added, but none may change.
var kinds = map[string]reflect.Type{
	"define":     reflect.TypeFor[Define](),
	"dropIndex":  reflect.TypeFor[DropIndex](),
	"buildIndex": reflect.TypeFor[BuildIndex](),
	"buildInner": reflect.TypeFor[BuildInner](),
	"values":     reflect.TypeFor[EditValues](),
	"moveLocale": reflect.TypeFor[MoveLocale](),
	"moveRefs":   reflect.TypeFor[MoveRefs](),
	"addDrafts":  reflect.TypeFor[AddDrafts](),
	"dropDrafts": reflect.TypeFor[DropDrafts](),
	"prune":      reflect.TypeFor[Prune](),
	"share":      reflect.TypeFor[Share](),
	"copyPlane":  reflect.TypeFor[AddDraftLinks](),
	"dropPlane":  reflect.TypeFor[DropDraftLinks](),
	"dropLinks":  reflect.TypeFor[DropLinks](),
	"trimLinks":  reflect.TypeFor[TrimLinks](),
	"flipLinks":  reflect.TypeFor[FlipLinks](),
}

type stepJSON struct {
	Kind string          `json:"kind"`
	At   Position        `json:"at"`
	Work json.RawMessage `json:"work"`
}

// MarshalJSON implements json.Marshaler.
func (s *Step) MarshalJSON() ([]byte, error) {
	work, err := json.Marshal(s.Work)
	if err != nil {
		return nil, err
	}
	for kind, t := range kinds {
		if reflect.TypeOf(s.Work).Elem() == t {
			return json.Marshal(stepJSON{kind, s.At, work})
		}
	}
	return nil, fmt.Errorf("the step %T has no name", s.Work)
}

// UnmarshalJSON implements json.Unmarshaler.
func (s *Step) UnmarshalJSON(raw []byte) error {
	var j stepJSON
	if err := json.Unmarshal(raw, &j); err != nil {
		return err
	}
	t := kinds[j.Kind]
	if t == nil {
		return fmt.Errorf("a conversion that was begun has a step %q, which this version of Lectern does not know; "+
			"go on with the one that began it", j.Kind)
	}
	s.Work, s.At = reflect.New(t).Interface().(Work), j.At
	return json.Unmarshal(j.Work, s.Work)
}

func steps(work ...Work) []*Step {
	list := make([]*Step, len(work))
	for i, w := range work {
		list[i] = &Step{Work: w}
	}
	return list
}

// DropIndex removes the index of one attribute, with its counts.
type DropIndex struct {
	Schema uint16 `json:"schema"`
	Field  uint16 `json:"field"`
	Name   string `json:"name"` // for String
}

// dropText plans to remove a text index.
func dropText(schema, field uint16, a *contenttypes.Attribute) *DropIndex {
	return &DropIndex{schema, TextField(field), "the text of " + attributeName(a)}
}

func (s *DropIndex) String() string { return "removing the index of " + s.Name }

// BuildIndex builds the indexes that a type lacks: those of values and those of texts. One of values gets an entry for
// every row, also where the value is null: queries rely on that.
type BuildIndex struct {
	Type string `json:"type"`
}

func (s *BuildIndex) String() string { return "indexing " + s.Type }

// BuildInner builds the inner indexes that a type lacks: those of unique attributes inside its components.
type BuildInner struct {
	Type string `json:"type"`
}

func (s *BuildInner) String() string { return "indexing components of " + s.Type }

// EditValues changes values in the rows of one type, and in the components inside them.
type EditValues struct {
	Type  string      `json:"type"`
	Edits []ValueEdit `json:"edits"`
}

func (s *EditValues) String() string { return "converting " + s.Type }

// A ValueEdit changes the values of one attribute. One of Retype, Replace and Clear is set.
type ValueEdit struct {
	Schema  string       `json:"schema"`
	Attr    string       `json:"attr"`
	Retype  *Retyping    `json:"retype,omitempty"`
	Replace *Replacement `json:"replace,omitempty"`
	Clear   *Clearing    `json:"clear,omitempty"`
}

// A Replacement replaces the text Old by New, or by null where New is nil.
type Replacement struct {
	Old string  `json:"old"`
	New *string `json:"new,omitempty"`
}

// A Clearing sets an attribute to null. With Component or KeepFirst it removes only some of the attribute's components.
type Clearing struct {
	Component string `json:"component,omitempty"` // remove those of this definition
	KeepFirst bool   `json:"keepFirst,omitempty"` // remove all but the first
}

// MoveLocale moves the rows of a type from one locale to another. "" is the locale of types that are not localized.
type MoveLocale struct {
	Type string `json:"type"`
	From string `json:"from"`
	To   string `json:"to"`
}

func (s *MoveLocale) String() string {
	if s.To == "" {
		return "taking the locale from " + s.Type
	}
	return "moving " + s.Type + " to locale " + s.To
}

// MoveRefs moves the links to and from documents of a type from one locale to another, as MoveLocale does with the
// rows.
type MoveRefs struct {
	Type string `json:"type"`
	From string `json:"from"`
	To   string `json:"to"`
}

func (s *MoveRefs) String() string { return "moving links of " + s.Type }

// moveLocale plans that the rows and links of a type move to another locale.
func moveLocale(uid, from, to string) []*Step {
	return steps(&MoveLocale{uid, from, to}, &MoveRefs{uid, from, to})
}

// AddDrafts gives each published version of a type a draft with the same content, for a type in which drafts were
// switched on. The draft links of a component in the published version move to the component's copy in the draft.
type AddDrafts struct {
	Type string `json:"type"`
}

func (s *AddDrafts) String() string { return "making drafts of " + s.Type }

// DropDrafts removes the drafts of a type, for a type in which drafts are switched off. Requests for drafts read the
// published versions from then on. Content that only drafts have is lost: the step is planned when there is none, or
// when drop-drafts was asked for.
type DropDrafts struct {
	Type string `json:"type"`
}

func (s *DropDrafts) String() string { return "removing the drafts of " + s.Type }

// Prune removes the versions of a type that a rule selects. Where no version of a localization is left, its links are
// removed too.
type Prune struct {
	Type     string    `json:"type"`
	Rule     PruneRule `json:"rule"`
	Locale   string    `json:"locale,omitempty"`   // for the rules about a locale
	Document uint64    `json:"document,omitempty"` // for PruneOtherDocuments
}

func (s *Prune) String() string { return "removing versions of " + s.Type }

// A PruneRule selects the versions that a Prune removes.
type PruneRule string

const (
	PruneAll            PruneRule = "all"
	PruneNeverPublished PruneRule = "neverPublished" // drafts without a published version in their locale
	PruneLocale         PruneRule = "locale"         // versions in Locale
	PruneOtherLocales   PruneRule = "otherLocales"   // versions not in Locale
	PruneOtherDocuments PruneRule = "otherDocuments" // versions of documents other than Document
)

// Share gives all localizations of each document the same value of an attribute: that of the localization in Locale or,
// in documents without one, of their first localization.
type Share struct {
	Type   string `json:"type"`
	Attr   string `json:"attr"`
	Locale string `json:"locale"`
}

func (s *Share) String() string { return "sharing " + s.Type + "." + s.Attr }

// DropLinks removes the links of an attribute.
type DropLinks struct {
	Type string    `json:"type"`
	Attr string    `json:"attr"`
	Gone LinkCount `json:"gone"`
}

func (s *DropLinks) String() string { return "removing links of " + s.Type + "." + s.Attr }

// A LinkCount counts links of either set: the published ones, then the draft ones.
type LinkCount [2]int

// Links returns the number of links. Links are usually in both link sets, so it is the greater of the two numbers.
func (n LinkCount) Links() int { return max(n[0], n[1]) }

// DropDraftLinks removes the draft links of a relation, once drafts and published versions show the same links.
type DropDraftLinks struct {
	Type string `json:"type"`
	Attr string `json:"attr"`
}

func (s *DropDraftLinks) String() string { return "removing draft links of " + s.Type + "." + s.Attr }

// AddDraftLinks gives a relation a draft link set: a copy of its published link set.
type AddDraftLinks struct {
	Type string `json:"type"`
	Attr string `json:"attr"`
}

func (s *AddDraftLinks) String() string { return "copying links of " + s.Type + "." + s.Attr }

// TrimLinks removes all links but the first from each list of links under an attribute.
type TrimLinks struct {
	Type string    `json:"type"`
	Attr string    `json:"attr"` // of either side of the relation
	Gone LinkCount `json:"gone"`
}

func (s *TrimLinks) String() string {
	return "removing all but the first links of " + s.Type + "." + s.Attr
}

// FlipLinks moves the links of a two-way relation to the attribute of the other side, when inversedBy has moved there.
type FlipLinks struct {
	Schema uint16 `json:"schema"` // of the attribute that has the links
	Field  uint16 `json:"field"`
	Type   string `json:"type"` // of the attribute that gets them
	Attr   string `json:"attr"`
}

func (s *FlipLinks) String() string { return "moving links to " + s.Type + "." + s.Attr }
