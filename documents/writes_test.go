package documents_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"lectern/contenttypes"
	"lectern/documents"
	"lectern/documents/apierror"
	"lectern/documents/permission"
	"lectern/internal/storetest"
	"lectern/jsontree"
	"lectern/store"
)

var update = flag.Bool("update", false, "write what the scripts answer into them")

// TestWrites runs the scripts in testdata/writes. A line that begins with "> " is a call; its answer follows:
//
//	> create TYPE [draft] [LOCALE] {…} [as NAME]     also single TYPE …
//	> update NAME [draft] [LOCALE] {…}               also delete, publish, unpublish, discard, without a body
//	> show NAME [draft] [LOCALE] ATTRIBUTE …
//
// In a body, $NAME is the documentId of the document that was written as NAME, and $NAME.id is the id of the row that
// this call wrote.
func TestWrites(t *testing.T) {
	files, err := filepath.Glob("testdata/writes/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal("no scripts", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			raw, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := newScript(t).run(string(raw))
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if got != string(raw) {
				t.Errorf("%s answers differently:\n%s", file, storetest.Difference(string(raw), got))
			}
		})
	}
}

type script struct {
	t     *testing.T
	model *contenttypes.Model
	store *store.Store
	svc   *documents.Service
	vars  map[string]string // the values of $NAME and $NAME.id
	types map[string]*contenttypes.ContentType
	now   time.Time
}

// testModel loads testdata/model.txtar.
func testModel(t testing.TB) *contenttypes.Model {
	return storetest.Model(t, storetest.Archive(t, "testdata/model.txtar"))
}

func newScript(t *testing.T) *script {
	model := testModel(t)
	st := storetest.Open(t, model)
	s := &script{t: t, model: model, store: st, svc: documents.NewService(st, model, "en"), vars: map[string]string{},
		types: map[string]*contenttypes.ContentType{}}
	s.now = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	s.svc.Now = func() time.Time { return s.now }
	return s
}

func (s *script) run(text string) string {
	var out strings.Builder
	for _, line := range strings.SplitAfter(text, "\n") {
		if line == "\n" || strings.HasPrefix(line, "#") {
			out.WriteString(line)
		}
		if call, ok := strings.CutPrefix(line, "> "); ok {
			s.now = s.now.Add(time.Minute)
			out.WriteString(line + s.call(strings.TrimSpace(call)) + "\n")
		}
	}
	return out.String()
}

var reference = regexp.MustCompile(`"?\$([a-z0-9]+(?:\.id)?)"?`)

// call carries out a call and returns its answer.
func (s *script) call(line string) string {
	line, as, _ := strings.Cut(line, " as ")
	head, body, hasBody := strings.Cut(line, " {")
	words := strings.Fields(head)
	w := documents.Write{Access: permission.FullAccess}
	verb, subject, rest := words[0], words[1], words[2:]
	if subject == "nobody" {
		w.Type, w.DocumentID = s.typeOf("article"), subject
	} else if w.Type = s.types[subject]; w.Type == nil {
		w.Type = s.typeOf(subject)
	} else {
		w.DocumentID = s.vars[subject]
	}
	var attributes []string
	for _, word := range rest {
		switch {
		case word == "draft":
			w.Status = store.Draft
		case slices.Contains([]string{"en", "fr", "de", "it", "*"}, word):
			w.Locale = word
		default:
			attributes = append(attributes, word)
		}
	}
	if verb == "show" {
		return s.show(w, attributes)
	}
	if hasBody {
		body = reference.ReplaceAllStringFunc("{"+body, func(ref string) string {
			name := strings.Trim(ref, `"$`)
			if strings.HasSuffix(name, ".id") {
				return s.vars[name]
			}
			if s.vars[name] == "" {
				return ref
			}
			return `"` + s.vars[name] + `"`
		})
		v, err := jsontree.Parse([]byte(body), 100)
		if err != nil {
			s.t.Fatal(line, err)
		}
		w.Data = v.(*jsontree.Object)
	}
	answer := "ok"
	w.After = func(_ *store.Snapshot, r store.Record) error {
		answer = "ok, row " + fmt.Sprint(r.ID())
		if as != "" {
			s.vars[as] = strings.Trim(string(r.JSON(w.Type.Attribute("documentId"))), `"`)
			s.vars[as+".id"] = fmt.Sprint(r.ID())
			s.types[as] = w.Type
		}
		return nil
	}
	verbs := map[string]func(context.Context, documents.Write) error{
		"create": s.svc.Create, "update": s.svc.Update, "delete": s.svc.Delete, "single": s.svc.SaveSingle,
		"publish": s.svc.Publish, "unpublish": s.svc.Unpublish, "discard": s.svc.DiscardDraft,
	}
	err := verbs[verb](context.Background(), w)
	var e *apierror.Error
	switch {
	case errors.As(err, &e):
		answer = fmt.Sprintf("%d %s: %s", e.Status, e.Name, e.Message)
		if o, ok := e.Details.(*jsontree.Object); ok {
			answer += " " + string(jsontree.Append(nil, o))
		}
		return s.named(answer)
	case err != nil:
		return "INTERNAL " + err.Error()
	}
	return answer
}

func (s *script) typeOf(name string) *contenttypes.ContentType {
	for _, uid := range []string{"api::" + name + "." + name, "plugin::upload." + name} {
		if t := s.model.Type(uid); t != nil {
			return t
		}
	}
	s.t.Fatal("no type ", name)
	return nil
}

// named replaces documentIds in a text by the names of the documents.
func (s *script) named(text string) string {
	for name, id := range s.vars {
		if !strings.HasSuffix(name, ".id") {
			text = strings.ReplaceAll(text, id, "$"+name)
		}
	}
	return text
}

// show prints attributes of one version.
func (s *script) show(w documents.Write, attributes []string) string {
	answer := "none"
	if w.Locale == "" && w.Type.Localized {
		w.Locale = "en"
	}
	err := s.store.View(func(snap *store.Snapshot) error {
		doc, ok := snap.Document(w.Type, w.DocumentID)
		if !ok {
			answer = "no such document"
			return nil
		}
		r := snap.Version(w.Type, doc, w.Status, w.Locale)
		if !r.Exists() {
			return nil
		}
		o := jsontree.NewObject()
		for _, name := range attributes {
			a := w.Type.Attribute(name)
			if a == nil {
				s.t.Fatal("no attribute ", name)
			}
			o.Set(name, s.value(snap, r, a, w.Status))
		}
		answer = string(jsontree.Append(nil, o))
		return nil
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return s.named(answer)
}

func (s *script) value(snap *store.Snapshot, r store.Record, a *contenttypes.Attribute, st store.Status) any {
	list := []any{}
	switch {
	case a.IsRelation():
		targets := map[uint64]bool{}
		snap.Related(r, a, st, func(target store.Record) bool {
			list = append(list, label(target))
			targets[target.Doc()] = true
			return true
		})
		if !a.ToMany() && a.Name != "localizations" {
			if len(targets) > 1 {
				s.t.Errorf("%s has %d targets", a.Name, len(targets))
			}
			return append(list, nil)[0]
		}
	case a.IsScalar():
		raw := r.JSON(a)
		if raw == nil {
			return nil
		}
		v, err := jsontree.Parse(raw, 100)
		if err != nil {
			s.t.Fatal(err)
		}
		return v
	default:
		r.Each(a, func(item store.Record) bool {
			o := jsontree.NewObject()
			if a.Type == contenttypes.DynamicZone {
				o.Set("is", item.Component().Name)
			}
			o.Set("id", jsontree.Number(fmt.Sprint(item.ID())))
			for _, inner := range item.Component().Attributes {
				if v := s.value(snap, item, inner, st); inner.Type != contenttypes.ID && v != nil {
					if l, isList := v.([]any); !isList || len(l) > 0 {
						o.Set(inner.Name, v)
					}
				}
			}
			list = append(list, o)
			return true
		})
		if a.Type == contenttypes.ComponentType && !a.Repeatable {
			return append(list, nil)[0]
		}
	}
	return list
}

// label describes a linked document by its first text, and by its locale if it has one.
func label(r store.Record) string {
	for _, a := range r.Type().Attributes {
		if a.Type == contenttypes.String && !a.System {
			text := strings.Trim(string(r.JSON(a)), `"`)
			if r.Locale() != "" {
				text += "@" + r.Locale()
			}
			return text
		}
	}
	return "?"
}
