package documents_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"lectern/documents"
	"lectern/documents/apierror"
	"lectern/documents/permission"
	"lectern/internal/storetest"
	"lectern/store"
)

// A heavy is a service for tests of heavy writes: articles with many components, all of which are linked to the same
// tags.
type heavy struct {
	*documents.Service
	t    *testing.T
	st   *store.Store
	tags []string // documentIds
}

const heavyTags = 20

func newHeavy(t *testing.T) *heavy {
	model := testModel(t)
	h := &heavy{t: t, st: storetest.Open(t, model)}
	h.Service = documents.NewService(h.st, model, "en")
	for i := range heavyTags {
		h.tags = append(h.tags, h.create("api::tag.tag", fmt.Sprintf(`{"name":"tag %d"}`, i), store.Published))
	}
	return h
}

// write returns a write of a document with the body data, or without one if data is "".
func (h *heavy) write(uid, id, data string, st store.Status) documents.Write {
	w := documents.Write{Type: h.Model().Type(uid), DocumentID: id, Status: st, Access: permission.FullAccess}
	if data != "" {
		w.Data = body(h.t, data)
	}
	return w
}

// create creates a document and returns its documentId.
func (h *heavy) create(uid, data string, st store.Status) (id string) {
	h.t.Helper()
	w := h.write(uid, "", data, st)
	w.After = func(_ *store.Snapshot, r store.Record) error {
		id = strings.Trim(string(r.JSON(w.Type.Attribute("documentId"))), `"`)
		return nil
	}
	if err := h.Create(h.t.Context(), w); err != nil {
		h.t.Fatal(err)
	}
	return id
}

// zone returns the body of an article with n components, each linked to all tags.
func (h *heavy) zone(n int) string {
	item := `{"__component":"part.box","title":"x","tags":["` + strings.Join(h.tags, `","`) + `"]}`
	return `{"title":"heavy","zone":[` + strings.Repeat(item+",", n-1) + item + `]}`
}

// allocated returns how many bytes f allocates.
func allocated(t *testing.T, f func() error) uint64 {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if err := f(); err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// TestTheWorkOfAWriteIsLinear carries out each kind of write on a document, and on one with four times as many links.
// The second write may allocate at most six times as many bytes as the first.
func TestTheWorkOfAWriteIsLinear(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine")
	}
	const components, times = 60, 4
	steps := []struct {
		name string
		do   func(h *heavy, id, data string) error
	}{
		{"publish", func(h *heavy, id, _ string) error {
			return h.Publish(t.Context(), h.write("api::article.article", id, "", store.Published))
		}},
		{"publish again", func(h *heavy, id, _ string) error {
			return h.Publish(t.Context(), h.write("api::article.article", id, "", store.Published))
		}},
		{"discard the draft", func(h *heavy, id, _ string) error {
			return h.DiscardDraft(t.Context(), h.write("api::article.article", id, "", store.Draft))
		}},
		{"update", func(h *heavy, id, data string) error {
			return h.Update(t.Context(), h.write("api::article.article", id, data, store.Published))
		}},
		{"another localization", func(h *heavy, id, data string) error {
			w := h.write("api::article.article", id, data, store.Published)
			w.Locale = "fr"
			return h.Update(t.Context(), w)
		}},
		{"delete", func(h *heavy, id, _ string) error {
			w := h.write("api::article.article", id, "", store.Published)
			w.Locale = "*"
			return h.Delete(t.Context(), w)
		}},
	}
	measure := func(n int) []uint64 {
		h := newHeavy(t)
		var costs []uint64
		id, data := "", h.zone(n)
		costs = append(costs,
			allocated(t, func() error { id = h.create("api::article.article", data, store.Draft); return nil }))
		for _, s := range steps {
			costs = append(costs, allocated(t, func() error { return s.do(h, id, data) }))
		}
		return costs
	}
	few, many := measure(components), measure(times*components)
	for i, cost := range many {
		name := "create"
		if i > 0 {
			name = steps[i-1].name
		}
		if cost > few[i]*times*3/2 {
			t.Errorf("%s: %d bytes allocated for %d links, %d for %d times as many", name, few[i], components*heavyTags,
				cost, times)
		}
	}
}

// A countdown is a context that ends after left calls of Err.
type countdown struct {
	context.Context
	looks, left int
}

func (c *countdown) Err() error {
	c.looks++
	if c.looks > c.left {
		return context.Canceled
	}
	return nil
}

// TestAWriteEndsWithItsContext repeats a write with contexts that end at the first call of Err, the second, and so on,
// until the write succeeds. The writes that fail store nothing.
func TestAWriteEndsWithItsContext(t *testing.T) {
	h := newHeavy(t)
	data := body(t, h.zone(400))
	before := h.st.Stats()
	var ctx *countdown
	for left := 0; ; left++ {
		ctx = &countdown{Context: t.Context(), left: left}
		err := h.Create(ctx, documents.Write{Type: h.Model().Type("api::article.article"), Status: store.Published,
			Data: data, Access: permission.FullAccess})
		if err == nil {
			break
		}
		if !errors.Is(err, context.Canceled) {
			t.Fatalf("after %d looks: %v", left, err)
		}
		if n := h.st.Stats().Writes - before.Writes; n != 0 {
			t.Fatalf("after %d looks: something was written", left)
		}
	}
	// The context is checked before the write's turn, every 4096 steps (a link is several steps), and before the write
	// is applied.
	if ctx.looks < 8 {
		t.Errorf("the context of a write of 8,000 links was looked at %d times", ctx.looks)
	}
	if n := h.st.Stats().Writes - before.Writes; n != 1 {
		t.Errorf("%d writes, want 1", n)
	}
}

func TestLimits(t *testing.T) {
	h := newHeavy(t)
	h.Limits = documents.WriteLimits{Links: 5, Components: 2}
	tags := func(n int) string { return `["` + strings.Join(h.tags[:n], `","`) + `"]` }
	for _, c := range []struct{ name, data, refused string }{
		{"as many links as may be", `{"title":"ab","tags":` + tags(5) + `}`, ""},
		{"too many links", `{"title":"ab","tags":` + tags(6) + `}`,
			"The body has 6 links to documents, and limits.links allows 5 in one write"},
		{"in parts", `{"title":"ab","tags":{"connect":` + tags(3) + `,"disconnect":` + tags(2) + `}}`, ""},
		{"too many in parts", `{"title":"ab","tags":{"connect":` + tags(3) + `,"disconnect":` + tags(3) + `}}`,
			"The body has 6 links to documents, and limits.links allows 5 in one write"},
		{"too many in components", `{"title":"ab","tags":` + tags(2) + `,"box":{"title":"x","tags":{"set":` + tags(4) +
			`}}}`,
			"The body has 6 links to documents, and limits.links allows 5 in one write"},
		{"as many components as may be", `{"title":"ab","boxes":[{"title":"x"},{"title":"y"}]}`, ""},
		{"too many components",
			`{"title":"ab","box":{"title":"x"},"boxes":[{"title":"x"}],"zone":[{"__component":"part.leaf","size":3}]}`,
			"The body has 3 components, and limits.components allows 2 in one write"},
		{"too many inside others", `{"title":"ab","boxes":[{"title":"x","leaf":{"size":3}},{"title":"y"}]}`,
			"The body has 3 components, and limits.components allows 2 in one write"},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := h.Create(t.Context(), h.write("api::article.article", "", c.data, store.Draft))
			var told *apierror.Error
			switch {
			case c.refused == "" && err == nil:
			case !errors.As(err, &told) || told.Status != 413 || told.Name != "PayloadTooLargeError" ||
				told.Message != c.refused:
				t.Errorf("%v, want 413 %q", err, c.refused)
			}
		})
	}
}
