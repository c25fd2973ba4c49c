package documents_test

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"lectern/contenttypes"
	"lectern/documents"
	"lectern/documents/apierror"
	"lectern/documents/permission"
	"lectern/internal/storetest"
	"lectern/jsontree"
	"lectern/store"
)

func body(t testing.TB, text string) *jsontree.Object {
	v, err := jsontree.Parse([]byte(text), 100)
	if err != nil {
		t.Fatal(err)
	}
	return v.(*jsontree.Object)
}

// TestTimesRise writes a document several times while the clock stands still. updatedAt grows with each write.
func TestTimesRise(t *testing.T) {
	model := testModel(t)
	svc := documents.NewService(storetest.Open(t, model), model, "en")
	svc.Now = func() time.Time { return time.Date(2026, 1, 1, 0, 0, 0, 999_999_999, time.UTC) }
	tag := model.Type("api::tag.tag")
	var id string
	var times []string
	w := documents.Write{Type: tag, Data: body(t, `{"name":"x"}`), Access: permission.FullAccess}
	w.After = func(_ *store.Snapshot, r store.Record) error {
		id = string(r.JSON(tag.Attribute("documentId")))
		times = append(times, string(r.JSON(tag.Attribute("updatedAt"))))
		return nil
	}
	if err := svc.Create(t.Context(), w); err != nil {
		t.Fatal(err)
	}
	if !regexp.MustCompile(`^"[a-z][a-z0-9]{23}"$`).MatchString(id) {
		t.Errorf("documentId %s", id)
	}
	w.DocumentID = id[1 : len(id)-1]
	for i := range 6 {
		w.Status = store.Status(i % 2)
		if err := svc.Update(t.Context(), w); err != nil {
			t.Fatal(err)
		}
	}
	if times[0] != `"2026-01-01T00:00:00.999Z"` || times[1] != `"2026-01-01T00:00:01.000Z"` {
		t.Error(times)
	}
	if !slices.IsSorted(times) || len(slices.Compact(times)) != 7 {
		t.Error(times)
	}
}

// TestAfterFails checks that a write stores nothing if its function After fails.
func TestAfterFails(t *testing.T) {
	model := testModel(t)
	st := storetest.Open(t, model)
	svc := documents.NewService(st, model, "en")
	failed := errors.New("cannot be shown")
	w := documents.Write{Type: model.Type("api::tag.tag"), Data: body(t, `{"name":"x"}`), Access: permission.FullAccess}
	w.After = func(*store.Snapshot, store.Record) error { return failed }
	if err := svc.Create(t.Context(), w); !errors.Is(err, failed) {
		t.Fatal(err)
	}
	if n := count(t, st, w.Type, store.Draft); n != 0 {
		t.Errorf("%d drafts", n)
	}
}

func count(t testing.TB, st *store.Store, typ *contenttypes.ContentType, status store.Status) (n int) {
	err := st.View(func(s *store.Snapshot) error {
		page, err := s.Find(&store.Query{Type: typ, Status: status, Locales: store.LocaleSet{All: true}, Limit: -1,
			Count: true})
		n = page.Total
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestUniqueAtTheSameTime lets 16 writers create documents with the same unique value at the same time. Exactly one
// succeeds.
func TestUniqueAtTheSameTime(t *testing.T) {
	model := testModel(t)
	st := storetest.Open(t, model)
	svc := documents.NewService(st, model, "en")
	writer := model.Type("api::writer.writer")
	var done sync.WaitGroup
	refused := make([]bool, 16)
	for i := range refused {
		done.Go(func() {
			data := body(t, fmt.Sprintf(`{"name":"%d","email":"one@example.com"}`, i))
			var e *apierror.Error
			err := svc.Create(context.Background(),
				documents.Write{Type: writer, Data: data, Access: permission.FullAccess})
			refused[i] = errors.As(err, &e) && e.Status == 400
		})
	}
	done.Wait()
	if n := count(t, st, writer, store.Published); n != 1 {
		t.Errorf("%d have it", n)
	}
	if slices.Index(refused, false) < 0 || len(slices.DeleteFunc(refused, func(b bool) bool { return b })) != 1 {
		t.Error("not all others were refused")
	}
}

// A twin holds the links between articles and tags as plain lists of names, for comparison with the store.
type twin struct{ lists map[twinList][]string }

// A twinList identifies the list of one document.
type twinList struct {
	set  store.LinkSet
	from bool // the document is an article
	name string
}

func (tw *twin) set(set store.LinkSet, from bool, name string, order []string) {
	l := twinList{set, from, name}
	for _, other := range tw.lists[l] {
		if !slices.Contains(order, other) {
			o := twinList{set, !from, other}
			tw.lists[o] = slices.DeleteFunc(slices.Clone(tw.lists[o]), func(s string) bool { return s == name })
		}
	}
	for _, other := range order {
		if o := (twinList{set, !from, other}); !slices.Contains(tw.lists[o], name) {
			tw.lists[o] = append(slices.Clone(tw.lists[o]), name)
		}
	}
	tw.lists[l] = order
}

// TestLinksAgainstTwin sets, connects, disconnects and publishes random links from both sides, and compares the lists
// of both sides in both link sets with a twin. After a publication, the order of the lists on the other side is not
// compared: the twin appends new links, while the store gives them their positions among the drafts.
func TestLinksAgainstTwin(t *testing.T) {
	model := testModel(t)
	article, tag := model.Type("api::article.article"), model.Type("api::tag.tag")
	rapid.Check(t, func(rt *rapid.T) {
		st := storetest.Open(rt, model)
		svc := documents.NewService(st, model, "en")
		tw := &twin{lists: map[twinList][]string{}}
		names := map[bool][]string{}
		ids := map[string]string{}
		write := func(f func(context.Context, documents.Write) error, w documents.Write) {
			w.Access = permission.FullAccess
			if err := f(context.Background(), w); err != nil {
				rt.Fatal(err)
			}
		}
		for _, from := range []bool{true, false} {
			for i := range 4 {
				typ, key, name := tag, "name", fmt.Sprintf("t%d", i)
				if from {
					typ, key, name = article, "title", fmt.Sprintf("a%d", i)
				}
				names[from] = append(names[from], name)
				write(svc.Create, documents.Write{Type: typ, Data: body(t, fmt.Sprintf(`{%q:%q}`, key, name)),
					After: func(_ *store.Snapshot, r store.Record) error {
						id := string(r.JSON(typ.Attribute("documentId")))
						ids[name] = id[1 : len(id)-1]
						return nil
					}})
			}
		}
		loose := map[twinList]bool{} // the lists whose order is not compared
		for range rapid.IntRange(1, 25).Draw(rt, "steps") {
			from := rapid.Bool().Draw(rt, "from articles")
			typ, attr := tag, "articles"
			if from {
				typ, attr = article, "tags"
			}
			name := rapid.SampledFrom(names[from]).Draw(rt, "document")
			w := documents.Write{Type: typ, DocumentID: ids[name], Status: store.Draft}
			present := tw.lists[twinList{store.DraftLinks, from, name}]
			some := rapid.SliceOfNDistinct(rapid.SampledFrom(names[!from]), 0, 4, rapid.ID[string]).Draw(rt, "targets")
			list := ""
			for i, s := range some {
				if i > 0 {
					list += ","
				}
				list += fmt.Sprintf("%q", ids[s])
			}
			rest := slices.DeleteFunc(slices.Clone(present), func(s string) bool { return slices.Contains(some, s) })
			switch rapid.SampledFrom([]string{"set", "connect", "disconnect", "publish"}).Draw(rt, "call") {
			case "set":
				w.Data = body(t, fmt.Sprintf(`{%q:[%s]}`, attr, list))
				tw.set(store.DraftLinks, from, name, some)
			case "connect":
				w.Data = body(t, fmt.Sprintf(`{%q:{"connect":[%s]}}`, attr, list))
				tw.set(store.DraftLinks, from, name, append(rest, some...))
			case "disconnect":
				w.Data = body(t, fmt.Sprintf(`{%q:{"disconnect":[%s]}}`, attr, list))
				tw.set(store.DraftLinks, from, name, rest)
			case "publish":
				w.Data, w.Status = body(t, `{}`), store.Published
				for _, other := range present {
					loose[twinList{store.PublishedLinks, !from, other}] = true
				}
				delete(loose, twinList{store.PublishedLinks, from, name})
				tw.set(store.PublishedLinks, from, name, present)
			}
			write(svc.Update, w)
		}
		err := st.View(func(s *store.Snapshot) error {
			for _, from := range []bool{true, false} {
				typ, attr, locale := tag, "articles", ""
				if from {
					typ, attr, locale = article, "tags", "en"
				}
				for _, name := range names[from] {
					for _, status := range []store.Status{store.Draft, store.Published} {
						doc, _ := s.Document(typ, ids[name])
						got := []string{}
						s.Related(s.Version(typ, doc, status, locale), typ.Attribute(attr), status,
							func(r store.Record) bool {
								first := r.Type().Attributes[2]
								text := string(r.JSON(first))
								got = append(got, text[1:len(text)-1])
								return true
							})
						key := twinList{status.Links(), from, name}
						want := slices.Clone(tw.lists[key])
						if loose[key] {
							slices.Sort(got)
							slices.Sort(want)
						}
						if !slices.Equal(got, want) {
							rt.Errorf("%s.%s, status %d: %v, want %v", name, attr, status, got, want)
						}
					}
				}
			}
			return nil
		})
		if err != nil {
			rt.Fatal(err)
		}
	})
}

// TestDeleteEach deletes several localizations of a document at once. Locales may be repeated, or have no localization.
// The others stay.
func TestDeleteEach(t *testing.T) {
	model := testModel(t)
	st := storetest.Open(t, model)
	svc := documents.NewService(st, model, "en")
	w := documents.Write{Type: model.Type("api::plan.plan"), DocumentID: "plan", Access: permission.FullAccess}
	for i, locale := range []string{"en", "fr", "de", "it"} {
		w.Data, w.Locale = body(t, fmt.Sprintf(`{"name":"%d"}`, i)), locale
		save := svc.Update
		if i == 0 {
			save = svc.Create
		}
		if err := save(t.Context(), w); err != nil {
			t.Fatal(err)
		}
	}
	for _, step := range []struct {
		locales []string
		left    int
	}{{nil, 4}, {[]string{"fr", "de", "xx", "fr"}, 2}, {[]string{""}, 1}, {[]string{"*", "it"}, 0},
		{[]string{"en"}, 0}} {
		if err := svc.DeleteEach(t.Context(), w, step.locales); err != nil {
			t.Fatal(err)
		}
		if n := count(t, st, w.Type, store.Published); n != step.left {
			t.Errorf("after %q: %d are left, want %d", step.locales, n, step.left)
		}
	}
}
