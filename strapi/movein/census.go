package movein

import (
	"cmp"
	"maps"
	"slices"

	"lectern/contenttypes"
	"lectern/store"
)

// A Census counts what a source has and what has arrived of it. Whatever is in the source either is left out, with a
// Note that says why, or must be in the store.
type Census struct {
	Versions []VersionCount `json:"versions"`
	Links    []LinkCount    `json:"links"`
	Files    FileCount      `json:"files"`
}

// A VersionCount counts the versions of a type in one locale and status.
type VersionCount struct {
	Type    string `json:"type"`
	Locale  string `json:"locale,omitempty"`
	Status  string `json:"status"`
	Source  int    `json:"source"`
	LeftOut int    `json:"leftOut"`
	Arrived int    `json:"arrived"`
}

// A LinkCount counts the links of a relation or media attribute.
type LinkCount struct {
	Field   string `json:"field"` // uid of the type or component, and the attribute
	Source  int    `json:"source"`
	LeftOut int    `json:"leftOut"`
	// Joined counts links that became one with another: a row of a type without drafts has one link to the draft of a
	// document and one to its published version in Strapi, and one link to the document in Lectern.
	Joined  int `json:"joined"`
	Arrived int `json:"arrived"`

	written int // links in the lines of the second pass
}

// A FileCount counts uploaded files, with the formats of images.
type FileCount struct {
	Source  int `json:"source"`
	Missing int `json:"missing"` // named by a document, but not in the source
	Arrived int `json:"arrived"`
}

// Expected returns how many versions must arrive.
func (c VersionCount) Expected() int { return c.Source - c.LeftOut }

// Expected returns how many links must arrive.
func (c LinkCount) Expected() int { return c.Source - c.LeftOut - c.Joined }

// Expected returns how many files must arrive.
func (c FileCount) Expected() int { return c.Source - c.Missing }

// A counter counts for a Census.
type counter struct {
	versions map[versionGroup]*VersionCount
	links    map[string]*LinkCount
	files    FileCount
}

type versionGroup struct{ uid, locale, status string }

func newCounter() *counter {
	return &counter{versions: map[versionGroup]*VersionCount{}, links: map[string]*LinkCount{}}
}

func (c *counter) version(t *contenttypes.ContentType, locale string, status store.Status) *VersionCount {
	key := versionGroup{t.UID, locale, status.String()}
	n := c.versions[key]
	if n == nil {
		n = &VersionCount{Type: key.uid, Locale: key.locale, Status: key.status}
		c.versions[key] = n
	}
	return n
}

// link returns the count of an attribute, by its name from fieldName.
func (c *counter) link(field string) *LinkCount {
	n := c.links[field]
	if n == nil {
		n = &LinkCount{Field: field}
		c.links[field] = n
	}
	return n
}

// fieldName names an attribute with its type or component.
func fieldName(a *contenttypes.Attribute) string { return a.Owner.UID + "." + a.Name }

// resume makes a counter that goes on from a census.
func (c *counter) resume(from Census) {
	for _, v := range from.Versions {
		c.versions[versionGroup{v.Type, v.Locale, v.Status}] = &v
	}
	for _, l := range from.Links {
		c.links[l.Field] = &l
	}
	c.files = from.Files
}

func (c *counter) census() Census {
	census := Census{Versions: []VersionCount{}, Links: []LinkCount{}, Files: c.files}
	for _, v := range slices.SortedFunc(maps.Values(c.versions), func(a, b *VersionCount) int {
		return cmp.Or(cmp.Compare(a.Type, b.Type), cmp.Compare(a.Locale, b.Locale), cmp.Compare(a.Status, b.Status))
	}) {
		census.Versions = append(census.Versions, *v)
	}
	for _, l := range slices.SortedFunc(maps.Values(c.links),
		func(a, b *LinkCount) int { return cmp.Compare(a.Field, b.Field) }) {
		census.Links = append(census.Links, *l)
	}
	return census
}
