package store_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/rogpeppe/go-internal/txtar"

	"lectern/contenttypes"
	"lectern/documents"
	"lectern/documents/permission"
	"lectern/jsontree"
	"lectern/store"
	"lectern/store/evolve"
)

var update = flag.Bool("update", false, "write what comes out into the cases")

// TestDefinitionsChange runs the cases in testdata/definitions, each an archive of
//
//	before/…    definitions
//	writes      content that is written under them: see (*change).write
//	after/…     the definitions that changed; an empty file is one that is gone
//	refused     what Open says of them, where it refuses
//	migrate     the migrations that are then done, with what each removes
//	converts    what Open does
//	content     what there is in the end
//
// Each is run once in one go, once with a kill after every transaction, and once while the store is in use (see
// (*change).redefine), with the same outcome.
func TestDefinitionsChange(t *testing.T) {
	files, err := filepath.Glob("testdata/definitions/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal("no cases", err)
	}
	for i, file := range files {
		if testing.Short() && i%3 > 0 {
			continue
		}
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := runChange(t, archive, inOneGo)
			if *update {
				if err := os.WriteFile(file, txtar.Format(got), 0o644); err != nil {
					t.Fatal(err)
				}
			} else if want, is := string(txtar.Format(archive)), string(txtar.Format(got)); want != is {
				t.Errorf("want:\n%s\ngot:\n%s", want, is)
			}
			others := []how{inUse, killed}
			if testing.Short() {
				others = others[:1]
			}
			for _, how := range others {
				if other := runChange(t, archive, how); outcome(other) != outcome(got) {
					t.Errorf("%s it comes out otherwise; want:\n%s\ngot:\n%s", how, outcome(got), outcome(other))
				}
			}
		})
	}
}

// outcome is what a case expects.
func outcome(a *txtar.Archive) string {
	var b strings.Builder
	for _, f := range a.Files {
		if slices.Contains([]string{"refused", "migrate", "content"}, f.Name) {
			fmt.Fprintf(&b, "-- %s --\n%s", f.Name, f.Data)
		}
	}
	return b.String()
}

// The ways to run a case.
type how string

const (
	inOneGo how = "in one go"
	killed  how = "with kills" // after each transaction
	inUse   how = "while the store is in use"
)

// A change is a case that is being run.
type change struct {
	*testing.T
	path          string
	how           how
	before, after *contenttypes.Model
	store         *store.Store
	steps         []string // what conversions said of their progress
}

var errKilled = errors.New("killed")

func runChange(t *testing.T, in *txtar.Archive, how how) *txtar.Archive {
	c := &change{T: t, path: filepath.Join(t.TempDir(), "content.db"), how: how}
	before, after := fstest.MapFS{"content-types/.keep": {}}, fstest.MapFS{"content-types/.keep": {}}
	for _, f := range in.Files {
		if name, ok := strings.CutPrefix(f.Name, "before/"); ok {
			before[name], after[name] = &fstest.MapFile{Data: f.Data}, &fstest.MapFile{Data: f.Data}
		}
	}
	for _, f := range in.Files {
		if name, ok := strings.CutPrefix(f.Name, "after/"); ok {
			if after[name] = (&fstest.MapFile{Data: f.Data}); len(f.Data) == 0 {
				delete(after, name)
			}
		}
	}
	c.before, c.after = c.load(before), c.load(after)
	out := &txtar.Archive{Comment: in.Comment}
	opened := false
	for _, f := range in.Files {
		switch f.Name {
		case "writes":
			c.write(string(f.Data))
		case "refused":
			f.Data = []byte(c.refused())
		case "migrate":
			f.Data = []byte(c.migrate(string(f.Data)))
		case "converts":
			c.open(c.after)
			opened = true
			f.Data = []byte(strings.Join(c.steps, "\n") + "\n")
		case "content":
			if !opened {
				c.open(c.after)
			}
			f.Data = []byte(c.dump())
			c.close()
		}
		out.Files = append(out.Files, f)
	}
	return out
}

func (c *change) load(project fstest.MapFS) *contenttypes.Model {
	c.Helper()
	delete(project, "content-types/.keep")
	m, problems := contenttypes.LoadFS(project, contenttypes.Options{})
	if len(problems) > 0 {
		c.Fatal(problems)
	}
	return m
}

// options returns the options of a conversion that reports its progress. In a run with kills the conversion ends after
// each transaction.
func (c *change) options() store.Options {
	opts := store.Options{DefaultLocale: "en", Progress: func(what string, done, total int) {
		if done > total {
			c.Errorf("%s: %d of %d", what, done, total)
		}
		if len(c.steps) == 0 || c.steps[len(c.steps)-1] != what {
			c.steps = append(c.steps, what)
		}
	}}
	if c.how == killed {
		return store.Interrupted(opts, 2, func() error { return errKilled })
	}
	return opts
}

// tryOpen opens the store. It tries again after each kill.
func (c *change) tryOpen(m *contenttypes.Model) (*store.Store, error) {
	if c.how == inUse {
		return c.redefine(m)
	}
	for range 500 {
		outlook, refusal := c.foresee(m)
		s, err := store.Open(c.path, m, c.options())
		c.cameTrue(outlook, refusal, s, m, err)
		if !errors.Is(err, errKilled) {
			return s, err
		}
	}
	c.Fatal("a conversion does not come to an end")
	return nil, nil
}

// foresee asks what Open would do. That must not change the file.
func (c *change) foresee(m *contenttypes.Model) (store.Outlook, error) {
	c.Helper()
	before, missing := os.ReadFile(c.path)
	outlook, err := store.Inspect(c.path, m, store.Options{DefaultLocale: "en"}, nil)
	if after, _ := os.ReadFile(c.path); !bytes.Equal(before, after) {
		c.Error("foreseeing what Open does changed the file")
	}
	if _, found := os.Stat(c.path); missing != nil && (found == nil || outlook != store.Outlook{} || err != nil) {
		c.Errorf("of a store that is not there was foreseen %+v, %v", outlook, err)
	}
	return outlook, err
}

// cameTrue compares the forecast with what Open did.
func (c *change) cameTrue(o store.Outlook, refusal error, s *store.Store, m *contenttypes.Model, err error) {
	c.Helper()
	var refused *evolve.DefinitionError
	switch {
	case errors.As(err, &refused):
		if refusal == nil || refusal.Error() != err.Error() {
			c.Errorf("foreseen was %v, Open says %v", refusal, err)
		}
	case refusal != nil:
		c.Errorf("foreseen was %v, Open says %v", refusal, err)
	case errors.Is(err, errKilled):
		if left, err := c.foresee(m); left.First == "" || err != nil {
			c.Errorf("of an interrupted conversion is foreseen %+v, %v", left, err)
		}
		if o == (store.Outlook{}) {
			c.Error("a conversion was not foreseen")
		}
	case err == nil:
		if left, err := s.Inspect(m, store.Options{}, nil); left != (store.Outlook{}) || err != nil {
			c.Errorf("under the definitions that it has is foreseen %+v, %v", left, err)
		}
	}
}

func (c *change) open(m *contenttypes.Model) {
	c.Helper()
	s, err := c.tryOpen(m)
	if err != nil {
		c.Fatal(err)
	}
	if err := s.Check(); err != nil {
		c.Errorf("check: %v", err)
	}
	c.store = s
}

func (c *change) close() {
	c.Helper()
	closeChecked(c.T, c.store)
}

// refused expects Open to return this text, and the file to stay as it was.
func (c *change) refused() string {
	c.Helper()
	c.open(c.before)
	before := c.dump()
	c.close()
	_, err := c.tryOpen(c.after)
	var refusal *evolve.DefinitionError
	if !errors.As(err, &refusal) {
		c.Fatalf("not refused: %v", err)
	}
	c.open(c.before)
	if after := c.dump(); before != after {
		c.Errorf("a refused start changed content from\n%sto\n%s", before, after)
	}
	c.close()
	return err.Error() + "\n"
}

// migrate carries out migrations, one a line. Lines that begin with # are the expected answers.
func (c *change) migrate(lines string) string {
	c.Helper()
	var out strings.Builder
	for line := range strings.Lines(lines) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		out.WriteString(line)
		var words []string
		for _, w := range strings.Fields(line) {
			words = append(words, strings.Trim(w, "'"))
		}
		ms, err := evolve.ParseMigrations(words)
		if err != nil {
			fmt.Fprintf(&out, "# %v\n", err)
			continue
		}
		removed, err := c.do(ms)
		if err != nil {
			fmt.Fprintf(&out, "# %s\n", strings.ReplaceAll(err.Error(), "\n", "\n# "))
			continue
		}
		fmt.Fprintf(&out, "# %+v\n", removed)
	}
	return out.String()
}

// do carries out migrations. It tries again after each kill.
func (c *change) do(ms evolve.Migrations) (evolve.Removed, error) {
	removed, err := store.Migrate(c.path, ms, c.after, c.options())
	for errors.Is(err, errKilled) {
		removed, err = store.Migrate(c.path, ms, c.after, c.options())
	}
	return removed, err
}

// write carries out lines of the form
//
//	create TYPE NAME [draft] [LOCALE] {…}     the name is the documentId
//	update TYPE NAME [draft] [LOCALE] {…}     also delete, publish, unpublish, discard, without a body
func (c *change) write(lines string) {
	c.Helper()
	c.open(c.before)
	defer c.close()
	svc := documents.NewService(c.store, c.before, "en")
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	svc.Now = func() time.Time { now = now.Add(time.Minute); return now }
	verbs := map[string]func(context.Context, documents.Write) error{
		"create": svc.Create, "update": svc.Update, "delete": svc.Delete,
		"publish": svc.Publish, "unpublish": svc.Unpublish, "discard": svc.DiscardDraft,
	}
	for line := range strings.Lines(lines) {
		head, body, hasBody := strings.Cut(strings.TrimSpace(line), " {")
		words := strings.Fields(head)
		w := documents.Write{Type: c.before.Type("api::" + words[1] + "." + words[1]), DocumentID: words[2],
			Access: permission.FullAccess}
		if words[1] == "file" {
			w.Type = c.before.Type("plugin::upload.file")
		}
		for _, word := range words[3:] {
			if w.Locale = word; word == "draft" {
				w.Locale, w.Status = "", store.Draft
			}
		}
		if hasBody {
			v, err := jsontree.Parse([]byte("{"+body), 100)
			if err != nil {
				c.Fatal(line, err)
			}
			w.Data = v.(*jsontree.Object)
		}
		if err := verbs[words[0]](context.Background(), w); err != nil {
			c.Fatalf("%s%v", line, err)
		}
	}
}

// dump prints all versions of all types of the project, with the links that a reader of each status sees.
func (c *change) dump() string {
	c.Helper()
	out, err := c.contentOf(c.store)
	if err != nil {
		c.Fatal(err)
	}
	return out
}

func (c *change) contentOf(s *store.Store) (string, error) {
	var out strings.Builder
	err := s.View(func(snap *store.Snapshot) error {
		out.Reset()
		for _, t := range s.Model().Types {
			if t.BuiltIn && t.UID != "plugin::upload.file" {
				continue
			}
			statuses := []store.Status{store.Published}
			if t.DraftAndPublish {
				statuses = append(statuses, store.Draft)
			}
			for _, st := range statuses {
				page, err := snap.Find(
					&store.Query{Type: t, Status: st, Locales: store.LocaleSet{All: true}, Limit: -1})
				if err != nil {
					return err
				}
				for _, r := range page.Rows {
					out.WriteString(c.version(snap, r, st))
				}
			}
		}
		return nil
	})
	return out.String(), err
}

func (c *change) version(snap *store.Snapshot, r store.Record, st store.Status) string {
	t := r.Type()
	head := fmt.Sprintf("%s %s", t.UID[strings.LastIndex(t.UID, ".")+1:], label(r))
	if st == store.Draft {
		head += " draft"
	}
	o := jsontree.NewObject()
	c.fields(snap, r, st, o)
	if !t.DraftAndPublish { // seen by requests for either status
		drafts := jsontree.NewObject()
		c.fields(snap, r, store.Draft, drafts)
		if a, b := jsontree.Append(nil, o), jsontree.Append(nil, drafts); string(a) != string(b) {
			o.Set("DRAFT", drafts)
		}
	}
	return fmt.Sprintf("%s #%d %s\n", head, r.ID(), jsontree.Append(nil, o))
}

func (c *change) fields(snap *store.Snapshot, r store.Record, st store.Status, o *jsontree.Object) {
	schema := r.Component()
	attributes := []*contenttypes.Attribute(nil)
	if schema != nil {
		attributes = schema.Attributes
	} else {
		attributes = r.Type().Attributes
	}
	for _, a := range attributes {
		switch {
		case a.Name == "id" && schema != nil:
			o.Set("id", jsontree.Number(strconv.FormatUint(r.ID(), 10)))
		case a.System && a.Name != "locale":
		case a.IsRelation():
			list := []any{}
			snap.Related(r, a, st, func(target store.Record) bool {
				list = append(list, label(target))
				return true
			})
			if len(list) > 0 {
				o.Set(a.Name, list)
			}
		case a.IsScalar():
			if raw := r.JSON(a); raw != nil {
				v, err := jsontree.Parse(raw, 100)
				if err != nil {
					c.Errorf("%s holds %s: %v", a.Name, raw, err)
				}
				o.Set(a.Name, v)
			}
		default:
			var items []any
			r.Each(a, func(item store.Record) bool {
				inner := jsontree.NewObject()
				if a.Type == contenttypes.DynamicZone {
					inner.Set("is", item.Component().Name)
				}
				c.fields(snap, item, st, inner)
				items = append(items, inner)
				return true
			})
			if len(items) > 0 {
				o.Set(a.Name, items)
			}
		}
	}
}

// label returns the name of a document, with its locale if it has one.
func label(r store.Record) string {
	id := strings.Trim(string(r.JSON(r.Type().Attribute("documentId"))), `"`)
	if r.Locale() != "" {
		id += "@" + r.Locale()
	}
	return id
}
