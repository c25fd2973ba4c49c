package evolve

import (
	"encoding/json"
	"fmt"
)

// A Step is a part of a conversion, as a store keeps it until it is done.
type Step struct {
	Work Work
	At   Position
}

// Work is what a Step does. Its exported fields are kept in the file.
type Work interface {
	// Kind is its name in kinds.
	Kind() string
	// What says in words what is done.
	What() string
}

// A Position is how far a step is.
type Position struct {
	After []byte `json:"after,omitempty"` // the last key that was looked at
	Done  int    `json:"done,omitempty"`
	Total int    `json:"total,omitempty"`
}

// kinds are the names under which steps are kept in files: add to them, but change none.
var kinds = map[string]func() Work{
	"define":     func() Work { return new(Define) },
	"dropIndex":  func() Work { return new(DropIndex) },
	"buildIndex": func() Work { return new(BuildIndex) },
	"values":     func() Work { return new(EditValues) },
	"moveLocale": func() Work { return new(MoveLocale) },
	"moveRefs":   func() Work { return new(MoveRefs) },
	"addDrafts":  func() Work { return new(AddDrafts) },
	"dropDrafts": func() Work { return new(DropDrafts) },
	"prune":      func() Work { return new(Prune) },
	"share":      func() Work { return new(Share) },
	"copyPlane":  func() Work { return new(CopyPlane) },
	"dropPlane":  func() Work { return new(DropPlane) },
	"dropLinks":  func() Work { return new(DropLinks) },
	"trimLinks":  func() Work { return new(TrimLinks) },
	"flipLinks":  func() Work { return new(FlipLinks) },
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
	return json.Marshal(stepJSON{s.Work.Kind(), s.At, work})
}

// UnmarshalJSON implements json.Unmarshaler.
func (s *Step) UnmarshalJSON(raw []byte) error {
	var j stepJSON
	if err := json.Unmarshal(raw, &j); err != nil {
		return err
	}
	make := kinds[j.Kind]
	if make == nil {
		return fmt.Errorf("a conversion that was begun has a step %q, which this version of Lectern does not know; go on with the one that began it", j.Kind)
	}
	s.Work, s.At = make(), j.At
	return json.Unmarshal(j.Work, s.Work)
}

func steps(work ...Work) []*Step {
	list := make([]*Step, len(work))
	for i, w := range work {
		list[i] = &Step{Work: w}
	}
	return list
}

// DropIndex removes the entries of one attribute in all slots, with their counts.
type DropIndex struct {
	Schema uint16 `json:"schema"`
	Field  uint16 `json:"field"`
	Name   string `json:"name"` // for progress
}

// BuildIndex completes the indexes of a type: an entry for each row, null ones included, since queries rely on finding every row in
// each index.
type BuildIndex struct {
	Type string `json:"type"`
}

// EditValues changes values in the rows of one type, wherever in them their attribute is.
type EditValues struct {
	Type  string      `json:"type"`
	Edits []ValueEdit `json:"edits"`
}

// A ValueEdit changes what an attribute of a type or component holds. One of Retype, Replace and Clear is set.
type ValueEdit struct {
	Schema  string       `json:"schema"`
	Attr    string       `json:"attr"`
	Retype  *Retyping    `json:"retype,omitempty"`
	Replace *Replacement `json:"replace,omitempty"`
	Clear   *Clearing    `json:"clear,omitempty"`
}

// A Replacement puts one text for another; without New, null.
type Replacement struct {
	Old string  `json:"old"`
	New *string `json:"new,omitempty"`
}

// A Clearing empties an attribute. Of components it may take away those of one definition, or all but the first.
type Clearing struct {
	Component string `json:"component,omitempty"`
	KeepFirst bool   `json:"keepFirst,omitempty"`
}

// MoveLocale moves the rows of a type from one locale to another; "" is that of types without locales.
type MoveLocale struct {
	Type string `json:"type"`
	From string `json:"from"`
	To   string `json:"to"`
}

// MoveRefs makes the links to and from documents of a type follow them to another locale.
type MoveRefs struct {
	Type string `json:"type"`
	From string `json:"from"`
	To   string `json:"to"`
}

// AddDrafts gives each published version of a type that has drafts now a draft like it. The links that a component of the published
// version has in the draft plane become those of the component's copy.
type AddDrafts struct {
	Type string `json:"type"`
}

// DropDrafts removes the drafts of a type that still has them: what is published stays, and is what requests for drafts
// see from then on. It runs when no draft holds anything else, or after those were given up.
type DropDrafts struct {
	Type string `json:"type"`
}

// Prune removes versions of a type, with the links of documents and localizations of which none is left.
type Prune struct {
	Type string    `json:"type"`
	Rule PruneRule `json:"rule"`
	// Locale or document that the rule is about.
	Locale   string `json:"locale,omitempty"`
	Document uint64 `json:"document,omitempty"`
}

// A PruneRule says which versions a Prune removes.
type PruneRule string

const (
	PruneAll            PruneRule = "all"
	PruneNeverPublished PruneRule = "neverPublished" // drafts without a published version in their locale
	PruneLocale         PruneRule = "locale"         // those in Locale
	PruneOtherLocales   PruneRule = "otherLocales"   // those not in Locale
	PruneOtherDocuments PruneRule = "otherDocuments" // those not of Document
)

// Share gives all localizations of a document the value that one of them has.
type Share struct {
	Type   string `json:"type"`
	Attr   string `json:"attr"`
	Locale string `json:"locale"` // whose value; documents that have none in it go by their first locale
}

// DropLinks removes the links of an attribute.
type DropLinks struct {
	Type string    `json:"type"`
	Attr string    `json:"attr"`
	Gone LinkCount `json:"gone"`
}

// A LinkCount counts links by plane. Most links are in both.
type LinkCount [2]int

// Links is how many links there are, those that are in both planes counted once.
func (n LinkCount) Links() int { return max(n[0], n[1]) }

// DropPlane removes the draft plane of a relation whose planes do not differ any more.
type DropPlane struct {
	Type string `json:"type"`
	Attr string `json:"attr"`
}

// CopyPlane gives a relation whose planes did not differ a draft plane: a copy of the published one.
type CopyPlane struct {
	Type string `json:"type"`
	Attr string `json:"attr"`
}

// TrimLinks leaves each end but the first of its links.
type TrimLinks struct {
	Type string    `json:"type"`
	Attr string    `json:"attr"` // of either side
	Gone LinkCount `json:"gone"`
}

// FlipLinks moves the links of a two-way relation to the attribute of the other side, which says inversedBy now.
type FlipLinks struct {
	Schema uint16 `json:"schema"`
	Field  uint16 `json:"field"`
	Type   string `json:"type"`
	Attr   string `json:"attr"`
}

// The names of the steps in files.

func (*Define) Kind() string     { return "define" }
func (*DropIndex) Kind() string  { return "dropIndex" }
func (*BuildIndex) Kind() string { return "buildIndex" }
func (*EditValues) Kind() string { return "values" }
func (*MoveLocale) Kind() string { return "moveLocale" }
func (*MoveRefs) Kind() string   { return "moveRefs" }
func (*AddDrafts) Kind() string  { return "addDrafts" }
func (*DropDrafts) Kind() string { return "dropDrafts" }
func (*Prune) Kind() string      { return "prune" }
func (*Share) Kind() string      { return "share" }
func (*CopyPlane) Kind() string  { return "copyPlane" }
func (*DropPlane) Kind() string  { return "dropPlane" }
func (*DropLinks) Kind() string  { return "dropLinks" }
func (*TrimLinks) Kind() string  { return "trimLinks" }
func (*FlipLinks) Kind() string  { return "flipLinks" }

// What they do, in words.

func (*Define) What() string       { return "taking over the definitions" }
func (s *DropIndex) What() string  { return "removing the index of " + s.Name }
func (s *BuildIndex) What() string { return "indexing " + s.Type }
func (s *EditValues) What() string { return "converting " + s.Type }
func (s *MoveRefs) What() string   { return "moving links of " + s.Type }
func (s *AddDrafts) What() string  { return "making drafts of " + s.Type }
func (s *DropDrafts) What() string { return "removing the drafts of " + s.Type }
func (s *Prune) What() string      { return "removing versions of " + s.Type }
func (s *Share) What() string      { return "sharing " + s.Type + "." + s.Attr }
func (s *CopyPlane) What() string  { return "copying links of " + s.Type + "." + s.Attr }
func (s *DropPlane) What() string  { return "removing draft links of " + s.Type + "." + s.Attr }
func (s *DropLinks) What() string  { return "removing links of " + s.Type + "." + s.Attr }
func (s *FlipLinks) What() string  { return "moving links to " + s.Type + "." + s.Attr }
func (s *TrimLinks) What() string {
	return "removing all but the first links of " + s.Type + "." + s.Attr
}

func (s *MoveLocale) What() string {
	if s.To == "" {
		return "taking the locale from " + s.Type
	}
	return "moving " + s.Type + " to locale " + s.To
}
