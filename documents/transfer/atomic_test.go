package transfer_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"lectern/contenttypes"
	"lectern/documents"
	"lectern/documents/permission"
	"lectern/documents/transfer"
	"lectern/internal/storetest"
	"lectern/store"
)

// A contentGenerator writes files to import: documents of several types with components, and with links between all of
// them, also in circles and to documents of later lines.
type contentGenerator struct {
	rng  *rand.Rand
	name string // goes into each value, so that two files of the same documents differ
	ids  bool   // whether rows and components have ids
	last uint64
}

// generatedDocuments is how many documents of each type a contentGenerator may make.
const generatedDocuments = 12

// file returns lines in random order. Each document is in the file with a probability of share, and articles, whose
// codes are unique, are all in it.
func (g *contentGenerator) file(share float64) string {
	in := map[string][]int{}
	for _, typ := range []string{"tag", "writer", "page", "remark", "article", "any"} {
		for i := range generatedDocuments {
			if typ == "article" || g.rng.Float64() < share {
				in[typ] = append(in[typ], i)
			}
		}
	}
	var lines []string
	for _, typ := range []string{"tag", "writer", "page", "remark", "article", "any"} {
		for _, i := range in[typ] {
			lines = append(lines, g.document(typ, i, in)...)
		}
	}
	g.rng.Shuffle(len(lines), func(i, j int) { lines[i], lines[j] = lines[j], lines[i] })
	return strings.Join(lines, "\n")
}

// document returns the lines of a document. in lists the documents that links may lead to.
func (g *contentGenerator) document(typ string, i int, in map[string][]int) (lines []string) {
	links := func(to string, most int) []any {
		list := []any{}
		for _, n := range g.rng.Perm(len(in[to]))[:min(len(in[to]), g.rng.IntN(most+1))] {
			list = append(list, map[string]any{"documentId": fmt.Sprint(to, in[to][n]), "order": g.rng.IntN(5)})
		}
		return list
	}
	data := func() map[string]any {
		d := map[string]any{"name": fmt.Sprint(g.name, typ, i)}
		switch typ {
		case "tag":
			d["parent"] = links("tag", 1)
		case "writer":
			d["friends"] = links("writer", 3)
		case "page":
			d["boxes"] = g.boxes(links)
		case "remark":
			d["article"] = slices.Collect(localizedLinks(links("article", 1), "en"))
		case "article":
			delete(d, "name")
			d["title"], d["code"] = fmt.Sprint(g.name, i), fmt.Sprint("code", (i+len(g.name))%generatedDocuments)
			d["tags"], d["writer"], d["boxes"] = links("tag", 4), links("writer", 1), g.boxes(links)
			if slices.Contains(in["page"], i) {
				d["page"] = fmt.Sprint("page", i)
			}
		case "any":
			d["many"] = []any{}
			for _, to := range []string{"tag", "writer", "any"} {
				for _, l := range links(to, 2) {
					l.(map[string]any)["type"] = "api::" + to + "." + to
					d["many"] = append(d["many"].([]any), l)
				}
			}
		}
		return d
	}
	statuses := []string{"draft", "published"}
	if typ == "writer" || typ == "page" || typ == "remark" {
		statuses = statuses[1:]
	}
	locales := []string{""}
	if typ == "article" {
		locales = []string{"en", "fr"}
	}
	for _, locale := range locales {
		for _, status := range statuses {
			line := map[string]any{"type": "api::" + typ + "." + typ, "documentId": fmt.Sprint(typ, i),
				"status": status, "data": data()}
			for _, name := range []string{"createdAt", "updatedAt", "publishedAt"} {
				line[name] = "2026-01-02T03:04:05.678Z"
			}
			if locale != "" {
				line["locale"] = locale
				if locale == "fr" {
					delete(line["data"].(map[string]any), "code")
				}
			}
			if g.ids {
				g.last++
				line["id"] = g.last
			}
			text, err := json.Marshal(line)
			if err != nil {
				panic(err)
			}
			lines = append(lines, string(text))
		}
	}
	return lines
}

// localizedLinks adds a locale to links.
func localizedLinks(list []any, locale string) func(yield func(any) bool) {
	return func(yield func(any) bool) {
		for _, l := range list {
			l.(map[string]any)["locale"] = locale
			if !yield(l) {
				return
			}
		}
	}
}

// boxes returns up to three components with links.
func (g *contentGenerator) boxes(links func(string, int) []any) []any {
	list := []any{}
	for n := range g.rng.IntN(4) {
		leaf := map[string]any{"size": n}
		box := map[string]any{"title": fmt.Sprint(g.name, n), "tags": links("tag", 2), "leaf": leaf}
		if g.ids {
			g.last++
			box["id"], leaf["id"] = g.last, g.last
		}
		list = append(list, box)
	}
	return list
}

// documentStates returns the lines of an export by document, without what belongs to the other side of links. In the
// second map documents have no links.
func documentStates(t *testing.T, exported []byte) (states, bare map[string]string) {
	t.Helper()
	states, bare = map[string]string{}, map[string]string{}
	for line := range bytes.Lines(bytes.TrimSpace(exported)) {
		var v map[string]any
		if err := json.Unmarshal(line, &v); err != nil {
			t.Fatal(err)
		}
		if v["status"] == "published" {
			v["data"] = storetest.InBothSets(v["data"])
		}
		name := fmt.Sprint(v["type"], " ", v["documentId"])
		for i, into := range []map[string]string{states, bare} {
			text, err := json.Marshal(withoutLinks(v, i == 1))
			if err != nil {
				t.Fatal(err)
			}
			into[name] += string(text) + "\n"
		}
	}
	return states, bare
}

// withoutLinks returns a value without the order of links, or without links at all.
func withoutLinks(v any, all bool) any {
	switch v := v.(type) {
	case []any:
		var list []any
		for _, x := range v {
			if x := withoutLinks(x, all); x != nil {
				list = append(list, x)
			}
		}
		if list != nil {
			return list
		}
		return nil
	case map[string]any:
		_, isDocument := v["status"]
		if _, isLink := v["documentId"]; isLink && !isDocument && all {
			return nil
		}
		o := map[string]any{}
		for name, x := range v {
			if x := withoutLinks(x, all); x != nil && name != "order" {
				o[name] = x
			}
		}
		return o
	}
	return v
}

// between returns an error unless each document is as before or as after. A document that did not exist before may also
// be missing, or be there without its links.
func between(t *testing.T, before, now, after []byte) error {
	was, _ := documentStates(t, before)
	is, _ := documentStates(t, now)
	will, bare := documentStates(t, after)
	for name, state := range is {
		if strings.HasPrefix(name, "api::front.front ") { // another client writes it
			continue
		}
		former, existed := was[name]
		if state != will[name] && (!existed || state != former) && (existed || state != bare[name]) {
			return fmt.Errorf("%s is\n%s, was\n%s, will be\n%s", name, state, former, will[name])
		}
	}
	for name := range was {
		if is[name] == "" {
			return fmt.Errorf("%s is gone", name)
		}
	}
	return nil
}

// TestImportIsAtomic ends an import after each of its transactions. What it leaves is sound, each document in it is as
// it was before or as it is in the file, and repeating the import gives the same as one that was not interrupted.
func TestImportIsAtomic(t *testing.T) {
	transfer.SetImportChunk(t, 6000)
	model := testModel(t)
	seeds := uint64(2)
	if testing.Short() {
		seeds = 1
	}
	for seed := range seeds {
		g := &contentGenerator{rng: rand.New(rand.NewPCG(seed, 1)), name: "before", ids: true}
		first := g.file(0.6)
		g.name = "after"
		second := g.file(0.8)
		before, after := imported(t, model, first), imported(t, model, first, second)
		for stop := int64(1); ; stop++ {
			ctx, cancel := context.WithCancel(t.Context())
			st, left := openStopped(t, model, cancel)
			svc := documents.NewService(st, model, "en")
			importInto(t, svc, first)
			left.Store(stop)
			_, err := transfer.Import(ctx, svc, strings.NewReader(second), transfer.ImportOptions{})
			cancel()
			if err != nil && !errors.Is(err, context.Canceled) {
				t.Fatal(err)
			}
			if err := errors.Join(between(t, before, export(t, st, model), after), st.Check()); err != nil {
				t.Fatalf("seed %d, after %d transactions: %v", seed, stop, err)
			}
			if err == nil {
				if stop < 8 {
					t.Errorf("seed %d: the import took %d transactions", seed, stop)
				}
				break
			}
			importInto(t, svc, second)
			if got := export(t, st, model); storetest.ComparableExport(t, got) != storetest.ComparableExport(t, after) {
				t.Fatalf("seed %d, repeated after %d transactions: %s", seed, stop,
					storetest.Difference(storetest.ComparableExport(t, after), storetest.ComparableExport(t, got)))
			}
		}
	}
}

// openStopped opens a store that calls stop when as many transactions were committed as left says.
func openStopped(t *testing.T, model *contenttypes.Model, stop func()) (*store.Store, *atomic.Int64) {
	t.Helper()
	var left atomic.Int64
	st, err := store.Open(filepath.Join(t.TempDir(), "content.db"), model, store.Options{Committed: func(store.Commit) {
		if left.Add(-1) == 0 {
			stop()
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := st.Close(); err != nil {
			t.Error(err)
		}
	})
	return st, &left
}

// TestImportAmongReaders reads all documents again and again during an import, and writes others. Each document is as
// it was before or as it is in the file.
func TestImportAmongReaders(t *testing.T) {
	transfer.SetImportChunk(t, 4000)
	model := testModel(t)
	g := &contentGenerator{rng: rand.New(rand.NewPCG(7, 7)), name: "before", ids: true}
	first := g.file(0.6)
	g.name = "after"
	second := g.file(0.8)
	before, after := imported(t, model, first), imported(t, model, first, second)
	st := storetest.Open(t, model)
	svc := documents.NewService(st, model, "en")
	importInto(t, svc, first)
	ended, reads := make(chan struct{}), 0
	var readers sync.WaitGroup
	readers.Go(func() {
		for {
			if err := between(t, before, export(t, st, model), after); err != nil {
				t.Error(err)
				return
			}
			reads++
			select {
			case <-ended:
				return
			default:
			}
		}
	})
	written := 0
	_, err := transfer.Import(t.Context(), svc, strings.NewReader(second),
		transfer.ImportOptions{Progress: func(p transfer.ImportProgress) {
			if p.Phase == "checking" {
				return
			}
			// Another client links to a document of the import.
			w := documents.Write{Type: model.Type("api::front.front"),
				Data:   body(t, `{"title":"x","featured":[{"documentId":"article1","locale":"en"}]}`),
				Access: permission.FullAccess}
			if err := svc.SaveSingle(t.Context(), w); err != nil {
				t.Error(err)
			}
			written++
		}})
	close(ended)
	readers.Wait()
	if err != nil || reads == 0 || written < 10 {
		t.Errorf("%d reads, %d writes, %v", reads, written, err)
	}
}

func importInto(t *testing.T, svc *documents.Service, file string) {
	t.Helper()
	if _, err := transfer.Import(t.Context(), svc, strings.NewReader(file), transfer.ImportOptions{}); err != nil {
		t.Fatal(err)
	}
}

// imported returns an export of a store into which files were imported.
func imported(t *testing.T, model *contenttypes.Model, files ...string) []byte {
	t.Helper()
	st := storetest.Open(t, model)
	svc := documents.NewService(st, model, "en")
	for _, file := range files {
		importInto(t, svc, file)
	}
	return export(t, st, model)
}

// TestImportReplacesInParts replaces long documents by short ones: the log keeps what was replaced, so its length
// bounds a transaction too.
func TestImportReplacesInParts(t *testing.T) {
	transfer.SetImportReplaced(t, 4000)
	model := testModel(t)
	file := func(text string) string {
		var lines strings.Builder
		for i := range 20 {
			fmt.Fprintf(&lines, `{"type":"api::tag.tag","documentId":"tag%d","status":"published","data":{"name":"%[1]d%s"}}`+"\n", i, text)
		}
		return lines.String()
	}
	st, left := openStopped(t, model, func() {})
	svc := documents.NewService(st, model, "en")
	for _, step := range []struct {
		what    string
		file    string
		several bool
	}{
		{"new", file(strings.Repeat("x", 200)), false},
		{"long ones replaced", file("short"), true},
		{"short ones replaced", file("other"), false},
	} {
		left.Store(0)
		importInto(t, svc, step.file)
		if n := -left.Load(); n < 1 || (n > 1) != step.several {
			t.Errorf("%s: %d transactions, want several: %t", step.what, n, step.several)
		}
	}
	if err := st.Check(); err != nil {
		t.Error(err)
	}
}
