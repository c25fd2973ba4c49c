package changes_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"lectern/contenttypes"
	"lectern/documents"
	"lectern/documents/changes"
	"lectern/documents/permission"
	"lectern/internal/storetest"
	"lectern/jsontree"
	"lectern/store"
)

var ruledProject = map[string]string{
	"content-types/person.yaml": `
kind: collectionType
info: {singularName: person, pluralName: people, displayName: Person}
attributes:
  title: {type: string}
  notes: {type: relation, relation: oneToMany, target: api::note.note, mappedBy: owner}
`,
	"content-types/team.yaml": `
kind: collectionType
info: {singularName: team, pluralName: teams, displayName: Team}
options: {draftAndPublish: true}
attributes:
  title: {type: string}
`,
	"content-types/note.yaml": `
kind: collectionType
info: {singularName: note, pluralName: notes, displayName: Note}
attributes:
  title: {type: string}
  owner: {type: relation, relation: manyToOne, target: api::person.person, inversedBy: notes}
  team: {type: relation, relation: manyToOne, target: api::team.team}
  parts: {type: component, component: note.part, repeatable: true}
`,
	"components/note/part.yaml": `
info: {displayName: Part}
attributes:
  person: {type: relation, relation: oneToOne, target: api::person.person}
`,
	"content-types/page.yaml": `
kind: collectionType
info: {singularName: page, pluralName: pages, displayName: Page}
options: {draftAndPublish: true}
pluginOptions: {i18n: {localized: true}}
attributes:
  title: {type: string, pluginOptions: {i18n: {localized: true}}}
  owner: {type: relation, relation: manyToOne, target: api::person.person}
`,
}

// A ruledSite is a store whose documents have titles of one letter, and are linked.
type ruledSite struct {
	*site
	types        []*contenttypes.ContentType // with rules
	person, team *contenttypes.ContentType
	sees         map[string]bool // every version that a rule ever showed, by its name
}

func newRuledSite(t testing.TB) *ruledSite {
	t.Helper()
	model := storetest.Model(t, storetest.Files(ruledProject))
	st := storetest.Open(t, model)
	s := &ruledSite{site: &site{t: t, store: st, docs: documents.NewService(st, model, "en"),
		note: model.Type("api::note.note"), page: model.Type("api::page.page")},
		person: model.Type("api::person.person"), team: model.Type("api::team.team"), sees: map[string]bool{}}
	s.types = []*contenttypes.ContentType{s.note, s.page}
	return s
}

// fixed are conditions that are no more than a filter.
type fixed struct{ store.Filter }

func (f fixed) Condition(*contenttypes.ContentType, any) (permission.Condition, error) { return f, nil }
func (f fixed) CheckVariable(string) error                                             { return nil }
func (f fixed) Variables() []string                                                    { return nil }
func (f fixed) Bind(permission.Values) (store.Filter, bool)                            { return f.Filter, true }

// ruled returns the Access of a reader who may find documents of these types that meet a filter; all, if it is nil.
func (s *ruledSite) ruled(filters map[*contenttypes.ContentType]store.Filter) *permission.Access {
	s.t.Helper()
	var actions []string
	var rules []*permission.Rule
	for t, f := range filters {
		actions = append(actions, t.UID+".find")
		if f == nil {
			continue
		}
		text := jsontree.NewObjectOf(1)
		where := jsontree.NewObjectOf(1)
		where.Set("filter", fmt.Sprintf("%#v", describe(f)))
		text.Set("where", where)
		rule, err := permission.ReadRule(s.model(), t.UID+".find", text, fixed{f})
		if err != nil {
			s.t.Fatal(err)
		}
		rules = append(rules, rule)
	}
	return permission.NewAccess(actions, rules...)
}

func (s *ruledSite) model() (m *contenttypes.Model) {
	_ = s.store.View(func(snap *store.Snapshot) error { m = snap.Model(); return nil })
	return m
}

// describe returns a text that tells filters apart.
func describe(f store.Filter) string {
	switch f := f.(type) {
	case store.And:
		return fmt.Sprint("and", len(f), describe(f[0]), describe(f[1]))
	case store.Not:
		return "not " + describe(f.Filter)
	case store.Through:
		return f.Attr.Name + "." + describe(f.Filter)
	case store.Compare:
		return fmt.Sprint(f.Attr.Name, f.Op, f.Values)
	}
	return ""
}

func titled(t *contenttypes.ContentType, op store.Op, values ...any) store.Filter {
	return store.Compare{Attr: t.Attribute("title"), Op: op, Values: values}
}

// randomRule returns a filter on documents of t.
func (s *ruledSite) randomRule(rnd *rand.Rand, t *contenttypes.ContentType) store.Filter {
	owner := t.Attribute("owner")
	id := s.person.Attribute("documentId")
	letter := string(rune('a' + rnd.IntN(4)))
	owned := store.Through{Attr: owner, Filter: store.Compare{Attr: id, Op: store.Eq, Values: []any{"person1"}}}
	switch rnd.IntN(12) {
	case 0:
		return titled(t, store.Eq, letter)
	case 1:
		return titled(t, store.Gt, "b")
	case 2:
		return store.Not{Filter: titled(t, store.In, letter, "a")}
	case 3:
		return owned
	case 4:
		return store.Not{Filter: owned}
	case 5:
		return store.Through{Attr: owner, Filter: store.Compare{Attr: id, Op: store.Null}}
	case 6:
		return store.And{titled(t, store.Ne, letter), owned}
	case 7:
		return store.Through{Attr: owner, Filter: titled(s.person, store.Eq, letter)}
	case 8: // others of the owner
		return store.Through{Attr: owner, Filter: store.Through{Attr: s.person.Attribute("notes"),
			Filter: titled(s.note, store.Eq, letter)}}
	}
	if t != s.note {
		return nil
	}
	switch rnd.IntN(3) {
	case 0:
		parts := t.Attribute("parts")
		return store.Through{Attr: parts, Filter: store.Through{Attr: parts.Component.Attribute("person"),
			Filter: titled(s.person, store.Ne, letter)}}
	case 1:
		return store.Not{Filter: store.Through{Attr: t.Attribute("team"), Filter: titled(s.team, store.Eq, letter)}}
	}
	return store.Through{Attr: t.Attribute("team"), Filter: store.Compare{Attr: s.team.Attribute("documentId"),
		Op: store.Eq, Values: []any{"team1"}}}
}

// randomWrite writes a document, or one that it is linked to, from either side.
func (s *ruledSite) randomWrite(rnd *rand.Rand) {
	s.t.Helper()
	letter := string(rune('a' + rnd.IntN(4)))
	id := func(t *contenttypes.ContentType, n int) string { return fmt.Sprint(t.Singular, rnd.IntN(n)) }
	var w documents.Write
	actions := []string{"update", "update", "update", "update", "delete"}
	switch rnd.IntN(9) {
	case 0:
		w = s.write(s.person, id(s.person, 3), letter)
		if rnd.IntN(2) == 0 {
			w.Data.Set("notes", s.links(id(s.note, 6), id(s.note, 6)))
		}
	case 1:
		w = s.write(s.team, id(s.team, 2), letter)
		actions = append(actions, "publish", "publish", "unpublish")
	case 2, 3, 4, 5:
		w = s.write(s.note, id(s.note, 6), letter)
		if rnd.IntN(2) == 0 {
			w.Data.Set("team", s.links(id(s.team, 2)))
		}
		if person := s.links(id(s.person, 3)); rnd.IntN(2) == 0 {
			part := jsontree.NewObjectOf(1)
			part.Set("person", person)
			w.Data.Set("parts", []any{part})
		}
	default:
		w = s.write(s.page, id(s.page, 4), letter)
		w.Locale = []string{"en", "de"}[rnd.IntN(2)]
		actions = append(actions, "publish", "publish", "unpublish", "discard")
	}
	if w.Type == s.note || w.Type == s.page {
		switch rnd.IntN(4) {
		case 0:
			w.Data.Set("owner", s.links(id(s.person, 3)))
		case 1:
			w.Data.Set("owner", nil)
		}
	}
	w.Status = store.Status(rnd.IntN(2))
	action := actions[rnd.IntN(len(actions))]
	if action == "update" && !s.exists(w) {
		action = "create"
	}
	s.do(action, w)
}

// links returns the value of a relation to those of some documents that are there.
func (s *ruledSite) links(ids ...string) any {
	list := []any{}
	for _, id := range ids {
		for _, t := range []*contenttypes.ContentType{s.person, s.team, s.note} {
			if s.exists(documents.Write{Type: t, DocumentID: id}) {
				list = append(list, id)
			}
		}
	}
	return list
}

// listed returns what a reader must have: the versions that a list shows.
func (s *ruledSite) listed(q *changes.Query) copied {
	s.t.Helper()
	found := copied{}
	if err := s.store.View(func(snap *store.Snapshot) error {
		for _, t := range s.types {
			if !q.Finds(t) || q.Types != nil && !slices.Contains(q.Types, t) {
				continue
			}
			page, err := snap.Find(&store.Query{Type: t, Status: q.Status, Locales: store.LocaleSet{All: true},
				Filter: q.Access.Visible(t, q.Status), Limit: -1})
			if err != nil {
				return err
			}
			for _, r := range page.Rows {
				found[fmt.Sprint(t.UID, " ", r.DocumentID(), " ", r.Locale())] = true
			}
		}
		return nil
	}); err != nil {
		s.t.Fatal(err)
	}
	return found
}

// TestRuledReadersConverge lets readers with random rules follow random writes. Whenever one has read all, it has what
// a list shows; and it is told of no document that no list ever showed it.
func TestRuledReadersConverge(t *testing.T) {
	resets, told := 0, 0
	for seed := range uint64(6) {
		rnd := rand.New(rand.NewPCG(seed, 2))
		s := newRuledSite(t)
		type reader struct {
			changes.Query
			copy copied
			ever copied // what a list would have shown it
			anew bool   // its rules have changed
		}
		var readers []*reader
		access := func() *permission.Access {
			return s.ruled(map[*contenttypes.ContentType]store.Filter{s.note: s.randomRule(rnd, s.note),
				s.page: s.randomRule(rnd, s.page)})
		}
		for i := range 8 {
			readers = append(readers, &reader{changes.Query{Filter: changes.Filter{Status: store.Status(i % 2)},
				Access: access(), Each: i == 3 || i == 4}, copied{}, copied{}, false})
		}
		codec := changes.NewCodec([]byte("secret"))
		for range 120 {
			for range rnd.IntN(5) {
				s.randomWrite(rnd)
				for _, r := range readers {
					maps.Copy(r.ever, s.listed(&r.Query))
				}
			}
			r := readers[rnd.IntN(len(readers))]
			switch rnd.IntN(20) {
			case 0:
				r.Access, r.anew = access(), true
				maps.Copy(r.ever, s.listed(&r.Query))
			case 1:
				r.Types, r.anew = s.types[:1+rnd.IntN(2)], true
				maps.Copy(r.ever, s.listed(&r.Query))
			}
			for range 1 + rnd.IntN(4) {
				r.Limit = 1 + rnd.IntN(6)
				page := s.read(&r.Query)
				for _, c := range page.Changes {
					told++
					if key := fmt.Sprint(c.Type.UID, " ", c.DocumentID, " ", c.Locale); !r.ever[key] {
						t.Fatalf("seed %d: a reader is told of %s, which it never saw: %v", seed, key, c.Action)
					}
				}
				if n := len(page.Changes); n > 0 && rnd.IntN(3) == 0 { // the reader stores a part, and is killed
					page.Changes = page.Changes[:1+rnd.IntN(n)]
					page.Next, page.Pending = page.Changes[len(page.Changes)-1].Position, 1
				}
				if r.copy.apply(page.Changes); page.Reset {
					if !r.anew {
						t.Fatalf("seed %d: a reader of %s begins anew without other rules", seed, s.rulesOf(&r.Query))
					}
					r.copy, r.anew = copied{}, false
					resets++
				}
				var err error
				if r.Since, err = codec.Parse(string(codec.Append(nil, page.Next))); err != nil ||
					r.Since != page.Next {
					t.Fatalf("seed %d: position %+v is parsed as %+v (%v)", seed, page.Next, r.Since, err)
				}
				if want := s.listed(&r.Query); page.Pending == 0 && !maps.Equal(r.copy, want) {
					t.Fatalf("seed %d: a reader of %s has\n%v, want\n%v", seed, s.rulesOf(&r.Query), r.copy, want)
				}
			}
		}
	}
	if resets == 0 || resets > told/4 {
		t.Errorf("%d resets, and %d changes", resets, told)
	}
}

func (s *ruledSite) rulesOf(q *changes.Query) (text string) {
	for _, t := range s.types {
		text += t.UID + ": " + describe(q.Access.Visible(t, q.Status)) + "; "
	}
	return text
}

// TestHiddenWritesShowNothing makes the same writes in two stores, and others in one of them that the reader's rules
// hide. The pages of both stores are the same, to the length of their positions.
func TestHiddenWritesShowNothing(t *testing.T) {
	for seed := range uint64(4) {
		hidden := rand.New(rand.NewPCG(seed, 3))
		sites := []*ruledSite{newRuledSite(t), newRuledSite(t)}
		var readers [2][]*changes.Query
		for i, s := range sites {
			for _, id := range []string{"person1", "person2"} {
				s.do("create", s.write(s.person, id, "a"))
			}
			for _, id := range []string{"team1", "team2"} {
				w := s.write(s.team, id, "a")
				w.Status = store.Published
				if id == "team2" {
					w.Data.Set("title", "z")
				}
				s.do("create", w)
			}
			owned := store.Through{Attr: s.note.Attribute("owner"),
				Filter: store.Compare{Attr: s.person.Attribute("documentId"), Op: store.Eq, Values: []any{"person1"}}}
			teams := store.Through{Attr: s.note.Attribute("team"), Filter: titled(s.team, store.Lt, "m")}
			for k, f := range []store.Filter{titled(s.note, store.In, "a", "b"),
				store.Not{Filter: titled(s.note, store.Eq, "z")}, owned, teams} {
				access := s.ruled(map[*contenttypes.ContentType]store.Filter{s.note: f, s.person: nil,
					s.page: titled(s.page, store.Lt, "m")})
				readers[i] = append(readers[i], &changes.Query{Access: access, Limit: 3, Each: k == 1,
					Filter: changes.Filter{Status: store.Status(k % 2)}})
			}
		}
		write := func(s *ruledSite, rnd *rand.Rand, prefix, titles, owner string) {
			typ := s.types[rnd.IntN(2)]
			w := s.write(typ, fmt.Sprint(prefix, rnd.IntN(5)), string(titles[rnd.IntN(len(titles))]))
			w.Data.Set("owner", s.links(owner))
			if typ == s.note {
				w.Data.Set("team", s.links(strings.Replace(owner, "person", "team", 1)))
			}
			w.Status, w.Locale = store.Status(rnd.IntN(2)), "en"
			action := []string{"update", "update", "delete", "publish"}[rnd.IntN(4)]
			if action == "update" && !s.exists(w) {
				action = "create"
			}
			s.do(action, w)
		}
		codec := changes.NewCodec([]byte("secret"))
		rnds := []*rand.Rand{rand.New(rand.NewPCG(seed, 4)), rand.New(rand.NewPCG(seed, 4))}
		for step := range 60 {
			for i, s := range sites {
				for range step % 4 {
					if i == 1 {
						write(s, hidden, "hidden", "z", "person2")
					}
					write(s, rnds[i], "shown", "ab", "person1")
				}
			}
			if step%3 == 0 {
				write(sites[1], hidden, "hidden", "z", "person2")
				w := sites[1].write(sites[1].team, "team2", string("xyz"[hidden.IntN(3)]))
				w.Status = store.Status(hidden.IntN(2))
				sites[1].do("update", w)
			}
			for k := range readers[0] {
				var pages [2]string
				for i, s := range sites {
					q := readers[i][k]
					page := s.read(q)
					var text string
					for _, c := range page.Changes {
						text += fmt.Sprint(c.Action, " ", c.Type.UID, " ", c.DocumentID, " ", c.Locale, " ",
							len(codec.Append(nil, c.Position)), "\n")
					}
					next := codec.Append(nil, page.Next)
					if again := codec.Append(nil, page.Next); string(again) == string(next) {
						t.Fatalf("a position is printed twice as %s", next)
					}
					pages[i] = fmt.Sprintf("%s%d pending, reset %v, %d", text, page.Pending, page.Reset, len(next))
					q.Since = page.Next
				}
				if pages[0] != pages[1] {
					t.Fatalf("seed %d: reader %d is told\n%s\nand with hidden writes\n%s", seed, k, pages[0], pages[1])
				}
			}
		}
	}
}
