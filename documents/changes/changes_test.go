package changes_test

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"lectern/contenttypes"
	"lectern/documents"
	"lectern/documents/apierror"
	"lectern/documents/changes"
	"lectern/documents/permission"
	"lectern/internal/storetest"
	"lectern/jsontree"
	"lectern/store"
)

var project = map[string]string{
	"content-types/article.yaml": `
kind: collectionType
info: {singularName: article, pluralName: articles, displayName: Article}
options: {draftAndPublish: true}
pluginOptions: {i18n: {localized: true}}
attributes:
  title: {type: string, pluginOptions: {i18n: {localized: true}}}
  rank: {type: integer}
`,
	"content-types/page.yaml": `
kind: collectionType
info: {singularName: page, pluralName: pages, displayName: Page}
options: {draftAndPublish: true}
attributes:
  title: {type: string}
`,
	"content-types/note.yaml": `
kind: collectionType
info: {singularName: note, pluralName: notes, displayName: Note}
options: {draftAndPublish: false}
attributes:
  title: {type: string}
`,
}

// A site is a store with a service.
type site struct {
	t       testing.TB
	store   *store.Store
	docs    *documents.Service
	article *contenttypes.ContentType
	page    *contenttypes.ContentType
	note    *contenttypes.ContentType
}

func newSite(t testing.TB) *site {
	t.Helper()
	model := storetest.Model(t, storetest.Files(project))
	st := storetest.Open(t, model)
	return &site{t, st, documents.NewService(st, model, "en"), model.Type("api::article.article"),
		model.Type("api::page.page"), model.Type("api::note.note")}
}

// write returns a Write of a document with this title.
func (s *site) write(typ *contenttypes.ContentType, id, title string) documents.Write {
	data := jsontree.NewObject()
	data.Set("title", title)
	return documents.Write{Type: typ, DocumentID: id, Data: data, Status: store.Draft, Access: permission.FullAccess}
}

// do carries out an action on a document. One that is not possible, such as publishing a document that is gone, has no
// effect.
func (s *site) do(action string, w documents.Write) {
	s.t.Helper()
	do := map[string]func() error{
		"create":    func() error { return s.docs.Create(s.t.Context(), w) },
		"update":    func() error { return s.docs.Update(s.t.Context(), w) },
		"delete":    func() error { return s.docs.Delete(s.t.Context(), w) },
		"publish":   func() error { return s.docs.Publish(s.t.Context(), w) },
		"unpublish": func() error { return s.docs.Unpublish(s.t.Context(), w) },
		"discard":   func() error { return s.docs.DiscardDraft(s.t.Context(), w) },
	}[action]
	var known *apierror.Error
	if err := do(); err != nil && !errors.As(err, &known) {
		s.t.Fatal(err)
	}
}

// read returns the next page.
func (s *site) read(q *changes.Query) (page changes.Page) {
	s.t.Helper()
	if err := s.store.View(
		func(snap *store.Snapshot) (err error) { page, err = changes.Read(snap, q); return err }); err != nil {
		s.t.Fatal(err)
	}
	return page
}

// told reads pages until none is pending, and returns what they tell, one text for each change.
func (s *site) told(q *changes.Query) (list []string) {
	s.t.Helper()
	for {
		page := s.read(q)
		for _, c := range page.Changes {
			list = append(list, strings.TrimSpace(fmt.Sprintf("%s %s %s %s", c.Action, c.Type.Singular, c.DocumentID,
				c.Locale)))
		}
		if page.Reset {
			list = append(list, "reset")
		}
		if q.Since = page.Next; page.Pending == 0 || page.Reset {
			return list
		}
	}
}

func (s *site) tells(q *changes.Query, want ...string) {
	s.t.Helper()
	if got := s.told(q); !slices.Equal(got, want) {
		s.t.Errorf("the reader is told %q, want %q", got, want)
	}
}

var (
	full      = permission.FullAccess
	onlyNotes = permission.NewAccess([]string{"api::note.note.find"})
)

// TestActions tells readers of published versions and readers of drafts of each action.
func TestActions(t *testing.T) {
	s := newSite(t)
	published, drafts := changes.Query{Access: full, Limit: 10},
		changes.Query{Access: full, Limit: 10, Filter: changes.Filter{Status: store.Draft}}
	s.tells(&published)
	s.tells(&drafts)
	for _, step := range []struct {
		action, id string
		typ        *contenttypes.ContentType
		published  []string
		drafts     []string
	}{
		{"create", "one", s.article, nil, []string{"create article one en"}},
		{"update", "one", s.article, nil, []string{"update article one en"}},
		{"publish", "one", s.article, []string{"publish article one en"}, []string{"publish article one en"}},
		{"update", "one", s.article, nil, []string{"update article one en"}},
		{"discard", "one", s.article, nil, []string{"update article one en"}},
		{"publish", "one", s.article, []string{"publish article one en"}, []string{"publish article one en"}},
		{"unpublish", "one", s.article, []string{"delete article one en"}, []string{"unpublish article one en"}},
		{"publish", "one", s.article, []string{"publish article one en"}, []string{"publish article one en"}},
		{"delete", "one", s.article, []string{"delete article one en"}, []string{"delete article one en"}},
		{"create", "two", s.note, []string{"create note two"}, []string{"create note two"}},
		{"update", "two", s.note, []string{"update note two"}, []string{"update note two"}},
		{"delete", "two", s.note, []string{"delete note two"}, []string{"delete note two"}},
	} {
		s.do(step.action, s.write(step.typ, step.id, "a title"))
		s.tells(&published, step.published...)
		s.tells(&drafts, step.drafts...)
	}
}

// TestCompaction changes documents several times between two pages.
func TestCompaction(t *testing.T) {
	s := newSite(t)
	q := changes.Query{Access: full, Limit: 10,
		Filter: changes.Filter{Types: []*contenttypes.ContentType{s.note, s.page}}}
	each := q
	each.Each = true
	s.do("create", s.write(s.note, "old", "x"))
	s.told(&q)
	s.told(&each)
	s.do("update", s.write(s.note, "old", "y"))
	s.do("create", s.write(s.note, "new", "x"))
	s.do("create", s.write(s.note, "gone", "x"))
	s.do("create", s.write(s.page, "shown", "x"))
	s.do("publish", s.write(s.page, "shown", "x"))
	s.do("publish", s.write(s.page, "shown", "x"))
	s.do("delete", s.write(s.note, "gone", "x"))
	s.do("update", s.write(s.note, "new", "y"))
	s.do("delete", s.write(s.note, "old", "x"))
	s.do("create", s.write(s.note, "old", "x"))
	s.tells(&q, "publish page shown", "delete note gone", "create note new", "create note old")
	s.tells(&each, "update note old", "create note new", "create note gone", "publish page shown", "publish page shown",
		"delete note gone", "update note new", "delete note old", "create note old")
}

// TestEveryPositionResumes goes on from the position of each change. What was told before and what is told then are
// together what one reader is told at once.
func TestEveryPositionResumes(t *testing.T) {
	s := newSite(t)
	for i := range 4 {
		s.do("create", s.write(s.note, fmt.Sprintf("note%d", i), "x"))
		w := s.write(s.article, fmt.Sprintf("article%d", i), "x")
		w.Status = store.Published
		s.do("create", w)
		w.Locale = "de"
		s.do("update", w)
	}
	codec := changes.NewCodec([]byte("secret"))
	for _, since := range []changes.Position{{}, s.startOfLog()} {
		q := changes.Query{Access: full, Limit: 100, Since: since}
		page := s.read(&q)
		if len(page.Changes) != 12 || page.Pending != 0 {
			t.Fatalf("%d changes are read, and %d pending", len(page.Changes), page.Pending)
		}
		for i, c := range page.Changes {
			at, err := codec.Parse(string(codec.Append(nil, c.Position)))
			if err != nil || at != c.Position {
				t.Fatalf("position %+v is parsed as %+v (%v)", c.Position, at, err)
			}
			rest := s.read(&changes.Query{Access: full, Limit: 100, Since: at})
			want := slices.Clone(page.Changes[i+1:])
			if !slices.EqualFunc(rest.Changes, want,
				func(a, b changes.Change) bool { return a.DocumentID == b.DocumentID && a.Locale == b.Locale }) {
				t.Errorf("after change %d come %v, want %v", i, rest.Changes, want)
			}
			if one := s.read(&changes.Query{Access: full, Limit: 1, Since: at}); i < 11 &&
				(len(one.Changes) != 1 || one.Changes[0].Position != want[0].Position) {
				t.Errorf("after change %d comes %v alone, want %v", i, one, want[0])
			}
		}
	}
}

func (s *site) startOfLog() (at changes.Position) {
	s.t.Helper()
	if err := s.store.View(func(snap *store.Snapshot) error {
		oldest, err := snap.OldestPosition()
		at = changes.Position{Position: oldest}
		return err
	}); err != nil {
		s.t.Fatal(err)
	}
	return at
}

// TestPermissions takes permissions from a reader and gives them back. The reader is told of the documents that leave
// its sight, but not of those that were made while it had no permission.
func TestPermissions(t *testing.T) {
	s := newSite(t)
	for _, id := range []string{"one", "two", "three"} {
		s.do("create", s.write(s.note, id, "x"))
	}
	page := s.write(s.page, "page", "x")
	page.Status = store.Published
	s.do("create", page)
	q := changes.Query{Access: full, Limit: 2}
	s.tells(&q, "create note one", "create note two", "create note three", "create page page")

	s.do("delete", s.write(s.note, "two", ""))
	s.do("create", s.write(s.note, "late", "x"))
	s.do("create", s.write(s.note, "short", "x"))
	s.do("delete", s.write(s.note, "short", ""))
	s.do("update", page)
	q.Access = permission.NewAccess([]string{"api::page.page.find"})
	s.tells(&q, "delete note one", "delete note two", "delete note three", "publish page page")
	s.tells(&q)
	s.do("delete", s.write(s.note, "one", ""))
	s.tells(&q)
	q.Access = onlyNotes
	s.tells(&q, "delete page page", "create note three", "create note late")
	q.Access = permission.NewAccess(nil)
	s.tells(&q, "delete note three", "delete note late")
}

// TestReset reads after positions that the log does not reach, and after those of another filter.
func TestReset(t *testing.T) {
	s := newSite(t)
	s.do("create", s.write(s.note, "one", "x"))
	q := changes.Query{Access: full, Limit: 10}
	s.tells(&q, "create note one")
	for name, since := range map[string]changes.Position{
		"another epoch": changes.Position{Position: store.Position{Sequence: 1}},
		"the future":    changes.Position{Position: store.Position{Epoch: q.Since.Epoch, Sequence: 99}},
	} {
		if page := s.read(&changes.Query{Access: full, Limit: 10, Since: since}); !page.Reset ||
			page.Next != (changes.Position{}) || page.Pending != 1 || len(page.Changes) != 0 {
			t.Errorf("%s: %+v", name, page)
		}
	}
	for name, filter := range map[string]changes.Filter{"drafts": {Status: store.Draft},
		"a locale": {Locales: []string{"de"}}} {
		if page := s.read(&changes.Query{Access: full, Limit: 10, Since: q.Since, Filter: filter}); !page.Reset {
			t.Errorf("%s: %+v", name, page)
		}
	}
	if err := s.store.BeginEpoch(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.tells(&q, "reset")
	s.tells(&q, "create note one")
}

// A copy is what a reader makes of the changes that it is told: the versions that it sees.
type copied map[string]bool

func (c copied) apply(list []changes.Change) {
	for _, change := range list {
		key := fmt.Sprint(change.Type.UID, " ", change.DocumentID, " ", change.Locale)
		if change.Action == store.Deleted {
			delete(c, key)
		} else {
			c[key] = true
		}
	}
}

// listed returns what a reader must have: the versions that it may find.
func (s *site) listed(q *changes.Query) copied {
	s.t.Helper()
	found := copied{}
	if err := s.store.View(func(snap *store.Snapshot) error {
		for _, t := range []*contenttypes.ContentType{s.article, s.page, s.note} {
			if !q.Finds(t) || q.Types != nil && !slices.Contains(q.Types, t) {
				continue
			}
			page, err := snap.Find(
				&store.Query{Type: t, Status: q.Status,
					Locales: store.LocaleSet{All: q.Locales == nil, Codes: q.Locales}, Limit: -1})
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

// TestReadersConverge lets readers with several filters follow random writes, with pages of random length, while their
// permissions change. Whenever one has read all, it has what it may find.
func TestReadersConverge(t *testing.T) {
	for seed := range uint64(5) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		s := newSite(t)
		types := []*contenttypes.ContentType{s.article, s.page, s.note}
		type reader struct {
			changes.Query
			copy copied
		}
		var readers []*reader
		for _, f := range []changes.Filter{
			{}, {Status: store.Draft}, {Locales: []string{"de", "fr"}}, {Status: store.Draft, Locales: []string{"en"}},
			{Types: types[:1]},
		} {
			readers = append(readers, &reader{changes.Query{Filter: f, Access: full, Each: rnd.IntN(4) == 0}, copied{}})
		}
		codec := changes.NewCodec([]byte("secret"))
		for range 150 {
			for range rnd.IntN(8) {
				s.randomWrite(rnd, types)
			}
			r := readers[rnd.IntN(len(readers))]
			if rnd.IntN(6) == 0 {
				r.Access = randomAccess(rnd, types)
			}
			if rnd.IntN(5) == 0 && r.Types != nil {
				r.Types = types[:1+rnd.IntN(3)]
			}
			for range 1 + rnd.IntN(4) {
				r.Limit = 1 + rnd.IntN(9)
				page := s.read(&r.Query)
				if page.Reset || len(page.Changes) > r.Limit {
					t.Fatalf("seed %d: a page of %d has %d changes (reset %v)", seed, r.Limit, len(page.Changes),
						page.Reset)
				}
				if n := len(page.Changes); n > 0 &&
					rnd.IntN(3) == 0 { // the reader is killed after it has stored a part
					page.Changes = page.Changes[:1+rnd.IntN(n)]
					page.Next, page.Pending = page.Changes[len(page.Changes)-1].Position, 1
				}
				r.copy.apply(page.Changes)
				var err error
				if r.Since, err = codec.Parse(string(codec.Append(nil, page.Next))); err != nil ||
					r.Since != page.Next {
					t.Fatalf("seed %d: position %+v is parsed as %+v (%v)", seed, page.Next, r.Since, err)
				}
				if want := s.listed(&r.Query); page.Pending == 0 && !maps.Equal(r.copy, want) {
					t.Fatalf("seed %d: a reader of %+v has\n%v, want\n%v", seed, r.Query, r.copy, want)
				}
			}
		}
		for _, r := range readers {
			for r.Limit = 7; ; {
				page := s.read(&r.Query)
				r.copy.apply(page.Changes)
				if r.Since = page.Next; page.Pending == 0 {
					break
				}
			}
			if want := s.listed(&r.Query); !maps.Equal(r.copy, want) {
				t.Fatalf("seed %d: in the end a reader of %+v has\n%v, want\n%v", seed, r.Query, r.copy, want)
			}
		}
	}
}

func (s *site) randomWrite(rnd *rand.Rand, types []*contenttypes.ContentType) {
	s.t.Helper()
	w := s.write(types[rnd.IntN(len(types))], fmt.Sprintf("d%d", rnd.IntN(12)), fmt.Sprint(rnd.IntN(1000)))
	w.Status, w.Locale = store.Status(rnd.IntN(2)), []string{"en", "de", "fr"}[rnd.IntN(3)]
	action := []string{"create", "create", "update", "update", "update", "delete", "publish", "unpublish",
		"discard"}[rnd.IntN(9)]
	if action == "create" && s.exists(w) {
		action = "update"
	}
	if action == "delete" && rnd.IntN(2) == 0 {
		w.Locale = "*"
	}
	s.do(action, w)
}

func (s *site) exists(w documents.Write) (there bool) {
	_ = s.store.View(func(snap *store.Snapshot) error { _, there = snap.Document(w.Type, w.DocumentID); return nil })
	return there
}

func randomAccess(rnd *rand.Rand, types []*contenttypes.ContentType) *permission.Access {
	var actions []string
	for _, t := range types {
		if rnd.IntN(3) > 0 {
			actions = append(actions, t.UID+".find")
		}
		if rnd.IntN(3) > 0 {
			actions = append(actions, t.UID+"."+permission.FindDrafts)
		}
	}
	return permission.NewAccess(actions)
}

// FuzzPosition parses any text as a position. One that is taken is printed as it was.
func FuzzPosition(f *testing.F) {
	codec := changes.NewCodec([]byte("secret"))
	s := newSite(f)
	s.do("create", s.write(s.note, "one", "x"))
	page := s.read(&changes.Query{Access: full, Limit: 1})
	for _, at := range []changes.Position{{}, page.Next, page.Changes[0].Position,
		changes.Position{Position: page.Next.Position}} {
		f.Add(string(codec.Append(nil, at)))
	}
	f.Add("0000000000000000-0")
	ruled := newRuledSite(f)
	access := ruled.ruled(map[*contenttypes.ContentType]store.Filter{ruled.note: titled(ruled.note, store.Eq, "a")})
	f.Add(string(codec.Append(nil, ruled.read(&changes.Query{Access: access, Limit: 1}).Next)))
	f.Fuzz(func(t *testing.T, text string) {
		at, err := codec.Parse(text)
		if err != nil {
			if !errors.Is(err, store.ErrOtherEpoch) {
				t.Errorf("%q: %v", text, err)
			}
			return
		}
		got := string(codec.Append(nil, at))
		again, err := codec.Parse(got)
		if err != nil || again != at || got != text && text != "" && !at.IsSealed() {
			t.Errorf("%q is printed as %q (%v)", text, got, err)
		}
	})
}

// TestForgedPositions changes each byte of positions, and takes those of a codec with another secret.
func TestForgedPositions(t *testing.T) {
	s := newSite(t)
	s.do("create", s.write(s.note, "one", "x"))
	codec := changes.NewCodec([]byte("secret"))
	r := newRuledSite(t)
	ruled := r.ruled(map[*contenttypes.ContentType]store.Filter{r.note: titled(r.note, store.Eq, "a")})
	for _, text := range [][]byte{
		codec.Append(nil, s.read(&changes.Query{Access: full, Limit: 1}).Next),
		codec.Append(nil, r.read(&changes.Query{Access: ruled, Limit: 1}).Next),
	} {
		if at, err := changes.NewCodec([]byte("another")).Parse(string(text)); err == nil {
			t.Errorf("a position of another secret is taken: %+v", at)
		}
		for i := range text {
			forged := slices.Clone(text)
			forged[i] ^= 1
			if at, err := codec.Parse(string(forged)); err == nil {
				t.Errorf("%s is taken for %s: %+v", forged, text, at)
			}
		}
	}
}
