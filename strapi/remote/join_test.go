package remote

import (
	"slices"
	"testing"

	"lectern/jsontree"
)

// TestResolve finds the rows that a target stands for, in lists of versions and in those of users, which show a
// document in both versions.
func TestResolve(t *testing.T) {
	typ := &schema{uid: "api::item.item", drafts: true}
	j := newJoiner(nil, nil)
	j.ids[version{typ.uid, "a", "", "draft"}] = 1
	j.ids[version{typ.uid, "a", "", "published"}] = 7
	for _, test := range []struct {
		name, relation, listing, document string
		id                                jsontree.Number
		want                              []uint64
	}{
		{"draft of a user", "manyToMany", "", "a", "1", []uint64{1}},
		{"published version of a user", "manyToMany", "", "a", "7", []uint64{7}},
		{"id from before a publication", "manyToMany", "", "a", "4", []uint64{1, 7}},
		{"list of drafts", "manyToMany", "draft", "a", "7", []uint64{1}},
		{"list of published versions", "manyToMany", "published", "a", "1", []uint64{7}},
		{"draft linked by a polymorphic relation, among published versions", "morphToMany", "published", "a", "1",
			[]uint64{1}},
		{"published version linked by a polymorphic relation, among drafts", "morphToOne", "draft", "a", "7",
			[]uint64{7}},
		{"unknown document", "manyToMany", "", "b", "1", nil},
	} {
		target := jsontree.ObjectOf("id", test.id, "documentId", test.document)
		if got := j.resolve(&listing{status: test.listing}, &attribute{relation: test.relation}, typ,
			target); !slices.Equal(got, test.want) {
			t.Errorf("%s: rows %v, want %v", test.name, got, test.want)
		}
	}
}
