package documents_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"lectern/contenttypes"
	"lectern/documents"
	"lectern/documents/apierror"
	"lectern/documents/permission"
	"lectern/documents/transfer"
	"lectern/internal/storetest"
	"lectern/jsontree"
	"lectern/store"
)

var hooksProject = fstest.MapFS{
	"content-types/article.yaml": {Data: []byte(`
kind: collectionType
info: {singularName: article, pluralName: articles, displayName: Article}
options: {draftAndPublish: true}
pluginOptions: {i18n: {localized: true}}
attributes:
  title: {type: string, required: true, pluginOptions: {i18n: {localized: true}}}
  slug: {type: string, unique: true}
  tags: {type: json}
  owner: {type: relation, relation: manyToOne, target: "api::owner.owner"}
`)},
	"content-types/owner.yaml": {Data: []byte(`
kind: collectionType
info: {singularName: owner, pluralName: owners, displayName: Owner}
attributes:
  name: {type: string, required: true, maxLength: 10}
  secret: {type: password}
`)},
	"content-types/home.yaml": {Data: []byte(`
kind: singleType
info: {singularName: home, pluralName: homes, displayName: Home}
attributes: {title: {type: string}}
`)},
}

// A hooked is a service of hooksProject.
type hooked struct {
	*documents.Service
	t     *testing.T
	store *store.Store
	model *contenttypes.Model
	told  []error // the errors of hooks after writes
}

func newHooked(t *testing.T) *hooked {
	model := storetest.Model(t, hooksProject)
	h := &hooked{t: t, store: storetest.Open(t, model), model: model}
	h.Service = documents.NewService(h.store, model, "en")
	h.Failed = func(err error) { h.told = append(h.told, err) }
	return h
}

func (h *hooked) hook(hooks documents.Hooks, uids ...string) {
	h.t.Helper()
	if err := h.Hook(hooks, uids...); err != nil {
		h.t.Fatal(err)
	}
}

// write returns a write of a draft of api::NAME.NAME with the body data, or without one if data is "".
func (h *hooked) write(name, id, data string) documents.Write {
	w := documents.Write{Type: h.model.Type("api::" + name + "." + name), DocumentID: id, Status: store.Draft,
		Access: permission.FullAccess}
	if data != "" {
		w.Data = body(h.t, data)
	}
	return w
}

// create creates a document with the documentId id.
func (h *hooked) create(name, id, data string) {
	h.t.Helper()
	if err := h.Create(h.t.Context(), h.write(name, id, data)); err != nil {
		h.t.Fatal(err)
	}
}

// everything returns hooks that call f before and after all actions.
func everything(f func(when string, e *documents.Event) error) documents.Hooks {
	before := func(_ context.Context, e *documents.Event) error { return f("before", e) }
	after := func(_ context.Context, e *documents.Event) error { return f("after", e) }
	return documents.Hooks{
		BeforeCreate: before, AfterCreate: after, BeforeUpdate: before, AfterUpdate: after,
		BeforeDelete: before, AfterDelete: after, BeforePublish: before, AfterPublish: after,
		BeforeUnpublish: before, AfterUnpublish: after, BeforeDiscardDraft: before, AfterDiscardDraft: after,
	}
}

var statusNames = map[store.Status]string{store.Draft: "draft", store.Published: "published"}

// TestHooks checks which hooks each kind of write calls, in which order, and what the event of each holds: the
// document, its locale and status, and the title of the version that the hook can read.
func TestHooks(t *testing.T) {
	type operation = func(*hooked, documents.Write) error
	with := func(do func(*documents.Service, context.Context, documents.Write) error) operation {
		return func(h *hooked, w documents.Write) error { return do(h.Service, h.t.Context(), w) }
	}
	published := func(do func(*documents.Service, context.Context, documents.Write) error) operation {
		return func(h *hooked, w documents.Write) error {
			w.Status = store.Published
			return do(h.Service, h.t.Context(), w)
		}
	}
	in := func(locale string, do func(*documents.Service, context.Context, documents.Write) error) operation {
		return func(h *hooked, w documents.Write) error {
			w.Locale = locale
			return do(h.Service, h.t.Context(), w)
		}
	}
	create, update, remove := (*documents.Service).Create, (*documents.Service).Update, (*documents.Service).Delete
	for _, c := range []struct {
		name           string
		do             operation
		typ, id, data  string
		want, notFound string
	}{
		{"create", with(create), "article", "b", `{"title":"B"}`,
			`before create b en draft - {"title":"B"}; after create b en draft B {"title":"B"}`, ""},
		{"create without an id", with(create), "owner", "", `{"name":"B"}`,
			`before create  published - {"name":"B"}; after create ID published B {"name":"B"}`, ""},
		{"create published", published(create), "article", "b", `{"title":"B"}`,
			`before create b en published - {"title":"B"}; before publish b en published - {"title":"B"}; ` +
				`after create b en published B {"title":"B"}; after publish b en published B {"title":"B"}`, ""},
		{"update", with(update), "article", "a", `{"title":"B"}`,
			`before update a en draft A {"title":"B"}; after update a en draft B {"title":"B"}`, ""},
		{"update published", published(update), "article", "a", `{"title":"B"}`,
			`before update a en published A {"title":"B"}; before publish a en published A {"title":"B"}; ` +
				`after update a en published B {"title":"B"}; after publish a en published B {"title":"B"}`, ""},
		{"add a localization", in("fr", update), "article", "a", `{"title":"B"}`,
			`before update a fr draft - {"title":"B"}; after update a fr draft B {"title":"B"}`, ""},
		{"update what is not there", with(update), "article", "b", `{"title":"B"}`, ``, "404"},
		{"make a single", with((*documents.Service).SaveSingle), "home", "", `{"title":"B"}`,
			`before create  published - {"title":"B"}; after create ID published B {"title":"B"}`, ""},
		{"delete", with(remove), "article", "a", "", `before delete a en draft A; after delete a en draft -`, ""},
		{"delete all", in("*", remove), "article", "p", "", `before delete p * draft Q; after delete p * draft -`, ""},
		{"delete a localization that is not there", in("fr", remove), "article", "a", "", `before delete a fr draft -`,
			""},
		{"delete what is not there", with(remove), "article", "b", "", ``, ""},
		{"delete each", func(h *hooked,
			w documents.Write) error {
			return h.DeleteEach(h.t.Context(), w, []string{"en", "fr"})
		}, "article", "a", "",
			`before delete a en draft A; before delete a fr draft -; after delete a en draft -`, ""},
		{"publish", with((*documents.Service).Publish), "article", "a", "",
			`before publish a en published A; after publish a en published A`, ""},
		{"publish a type without drafts", with((*documents.Service).Publish), "owner", "o", "", ``, "404"},
		{"unpublish", with((*documents.Service).Unpublish), "article", "p", "",
			`before unpublish p en draft P; after unpublish p en draft Q`, ""},
		{"unpublish what is not published", with((*documents.Service).Unpublish), "article", "a", "",
			`before unpublish a en draft -`, "404"},
		{"discard a draft", with((*documents.Service).DiscardDraft), "article", "p", "",
			`before discardDraft p en draft Q; after discardDraft p en draft P`, ""},
		{"a body that is refused", with(create), "article", "b", `{"nope":1}`, ``, "400"},
		{"a value that is refused", with(create), "owner", "b", `{"name":"more than ten letters"}`,
			`before create b published - {"name":"more than ten letters"}`, "400"},
		{"make several", func(h *hooked, w documents.Write) error {
			v := w
			v.DocumentID = "c"
			return h.CreateAll(h.t.Context(), []documents.Write{w, v}, nil)
		}, "owner", "b", `{"name":"B"}`,
			`before create b published - {"name":"B"}; before create c published - {"name":"B"}; ` +
				`after create b published B {"name":"B"}; after create c published B {"name":"B"}`, ""},
		{"in a transaction", func(h *hooked, w documents.Write) error {
			p, err := h.PrepareHooked(h.t.Context(), documents.UpdateAction, w)
			if err != nil {
				return err
			}
			return h.Transact(h.t.Context(), func(tx *documents.Transaction) error { return tx.Update("o", p) })
		}, "owner", "", `{"name":"B"}`,
			`before update  published - {"name":"B"}; after update o published B {"name":"B"}`, ""},
		{"in a transaction, without hooks", func(h *hooked, w documents.Write) error {
			p, err := h.Prepare(h.t.Context(), w)
			if err != nil {
				return err
			}
			return h.Transact(h.t.Context(), func(tx *documents.Transaction) error { return tx.Create(p) })
		}, "owner", "", `{"name":"B"}`, ``, ""},
		{"an import", func(h *hooked, _ documents.Write) error {
			file := exported(h.t, h.store, h.model)
			_, err := transfer.Import(h.t.Context(), h.Service, bytes.NewReader(file), transfer.ImportOptions{})
			return err
		}, "article", "", "", ``, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := newHooked(t)
			h.create("article", "a", `{"title":"A"}`)
			h.create("owner", "o", `{"name":"O"}`)
			p := h.write("article", "p", `{"title":"P"}`)
			p.Status = store.Published
			if err := h.Create(t.Context(), p); err != nil {
				t.Fatal(err)
			}
			if err := h.Update(t.Context(), h.write("article", "p", `{"title":"Q"}`)); err != nil {
				t.Fatal(err)
			}
			var lines []string
			h.hook(everything(func(when string, e *documents.Event) error {
				values, err := e.Values()
				title := "-"
				if values != nil {
					title = fmt.Sprint(values.Value("title"), values.Value("name"))
					title = strings.ReplaceAll(title, "<nil>", "")
					title = strings.TrimSpace(title)
				}
				id := e.DocumentID
				if len(id) == 24 {
					id = "ID"
				}
				line := fmt.Sprint(when, " ", e.Action, " ", id, " ", e.Locale)
				line = strings.TrimSuffix(line, " ") + fmt.Sprint(" ", statusNames[e.Status], " ", title)
				if e.Data != nil {
					line += " " + string(jsontree.Append(nil, e.Data))
				}
				lines = append(lines, line)
				return err
			}))
			err := c.do(h, h.write(c.typ, c.id, c.data))
			var told *apierror.Error
			if errors.As(err, &told); (c.notFound != "") != (told != nil && fmt.Sprint(told.Status) == c.notFound) ||
				told == nil && err != nil {
				t.Errorf("error %v, want %q", err, c.notFound)
			}
			if got := strings.Join(lines, "; "); got != c.want {
				t.Errorf("called\n%s\nwant\n%s", got, c.want)
			}
			if len(h.told) > 0 {
				t.Error(h.told)
			}
		})
	}
}

// TestHooksChangeData changes or replaces the data of a write in a hook before it. The result is checked like a body
// from a client, but a hook may write attributes that the client may not. The data of the caller is not changed.
func TestHooksChangeData(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(e *documents.Event)
		want   string // the values stored, or the error
	}{
		{"set", func(e *documents.Event) { e.Data.Set("slug", "new") }, `New new ["x"] 0`},
		{"within", func(e *documents.Event) { e.Data.Value("tags").([]any)[0] = "y" }, `New <nil> ["y"] 0`},
		{"replace", func(e *documents.Event) { e.Data = body(t, `{"title":"Other"}`) }, `Other <nil> null 0`},
		{"link to what the sender may not find", func(e *documents.Event) { e.Data.Set("owner", "o") },
			`New <nil> ["x"] 1`},
		{"an unknown key", func(e *documents.Event) { e.Data.Set("nope", "x") }, `ValidationError: Invalid key nope`},
		{"a value that is none", func(e *documents.Event) { e.Data.Set("slug", body(t, "{}")) },
			"ValidationError: slug must be a `string` type, but the final value was: `{}`."},
		{"nothing at all", func(e *documents.Event) { e.Data = nil }, `<nil> <nil> null 0`},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := newHooked(t)
			h.create("owner", "o", `{"name":"O"}`)
			h.hook(documents.Hooks{BeforeCreate: func(_ context.Context, e *documents.Event) error {
				c.change(e)
				return nil
			}}, "api::article.article")
			w := h.write("article", "a", `{"title":"New","tags":["x"]}`)
			w.Access = permission.NewAccess([]string{"api::article.article.create"})
			got := ""
			w.After = func(s *store.Snapshot, r store.Record) error {
				attr := w.Type.Attribute
				value := func(name string) any {
					v, _ := jsontree.Parse(r.JSON(attr(name)), 10)
					return v
				}
				owners := 0
				s.Related(r, attr("owner"), store.Draft, func(store.Record) bool { owners++; return true })
				got = fmt.Sprint(value("title"), " ", value("slug"), " ", string(jsontree.Append(nil, value("tags"))),
					" ", owners)
				return nil
			}
			if err := h.Create(t.Context(), w); err != nil {
				got = err.Error()
			}
			if got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
			if sent := string(jsontree.Append(nil, w.Data)); sent != `{"title":"New","tags":["x"]}` {
				t.Errorf("the caller's data is %s now", sent)
			}
		})
	}
}

// TestHooksWrite creates a document in a hook after a creation, so that the hook calls itself. The nesting ends at the
// maximum depth. The context of the hook outlives that of the request.
func TestHooksWrite(t *testing.T) {
	h := newHooked(t)
	deepest := 0
	h.hook(documents.Hooks{AfterCreate: func(ctx context.Context, e *documents.Event) error {
		deepest++
		return e.Documents().Create(
			ctx, documents.Write{Type: e.Type, Data: body(t, `{"name":"more"}`), Access: permission.FullAccess})
	}}, "api::owner.owner")
	ctx, cancel := context.WithCancel(t.Context())
	w := h.write("owner", "b", `{"name":"B"}`)
	w.After = func(*store.Snapshot, store.Record) error { cancel(); return nil }
	if err := h.Create(ctx, w); err != nil {
		t.Fatal(err)
	}
	if n := count(t, h.store, h.model.Type("api::owner.owner"), store.Published); n != 8 || deepest != 8 {
		t.Errorf("%d documents, %d calls", n, deepest)
	}
	if got := fmt.Sprint(h.told); !strings.Contains(got, "set off each other more than 8 deep") {
		t.Error(got)
	}
}

// TestHooksState passes the values of a document from a hook before its deletion to the hook after it. The values lack
// passwords.
func TestHooksState(t *testing.T) {
	h := newHooked(t)
	h.create("owner", "o", `{"name":"O","secret":"abcdef"}`)
	got := ""
	h.hook(documents.Hooks{
		BeforeDelete: func(_ context.Context, e *documents.Event) error {
			values, err := e.Values()
			e.State["was"] = values
			return err
		},
		AfterDelete: func(_ context.Context, e *documents.Event) error {
			was := e.State["was"].(*jsontree.Object)
			got = fmt.Sprint(was.Value("name"), " ", was.Value("documentId"), " ", was.Value("secret"))
			return nil
		},
	}, "api::owner.owner")
	if err := h.Delete(t.Context(), h.write("owner", "o", "")); err != nil {
		t.Fatal(err)
	}
	if got != "O o <nil>" {
		t.Error(got)
	}
}

// TestHookTypes expects hooks on unknown types, and on types whose documents the server itself maintains, to be
// refused. Hooks without uids apply to the types that the project defines.
func TestHookTypes(t *testing.T) {
	h := newHooked(t)
	nothing := documents.Hooks{BeforeCreate: func(context.Context, *documents.Event) error { return nil }}
	for uid, want := range map[string]string{
		"api::owner.owner": "", "plugin::users-permissions.user": "", "plugin::upload.file": "",
		"api::nope.nope": "there is no content-type", "plugin::users-permissions.role": "built-in",
		"lectern::api-token": "built-in",
	} {
		err := h.Hook(nothing, uid)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", uid, err, want)
		}
	}
	fresh := newHooked(t)
	fresh.hook(documents.Hooks{BeforeCreate: func(context.Context,
		*documents.Event) error {
		return errors.New("called")
	}})
	locale := fresh.model.Type("plugin::i18n.locale")
	if err := fresh.Create(t.Context(), documents.Write{Type: locale, Data: body(t, `{"code":"fr","name":"fr"}`),
		Access: permission.FullAccess}); err != nil {
		t.Error(err)
	}
	if err := fresh.Create(t.Context(), fresh.write("home", "", `{}`)); err == nil {
		t.Error("hooks of all types are not called")
	}
}

// TestHooksCostNothing checks that an update of a type without hooks allocates no more when another type has hooks.
func TestHooksCostNothing(t *testing.T) {
	measure := func(hooks bool) float64 {
		h := newHooked(t)
		if hooks {
			h.hook(everything(func(string, *documents.Event) error { return nil }), "api::article.article")
		}
		h.create("owner", "o", `{"name":"O"}`)
		w := h.write("owner", "o", `{"name":"P"}`)
		p, err := h.PrepareHooked(t.Context(), documents.UpdateAction, w)
		if err != nil || p == nil {
			t.Fatal(err)
		}
		return testing.AllocsPerRun(200, func() {
			if _, err := h.PrepareHooked(context.Background(), documents.UpdateAction, w); err != nil {
				t.Fatal(err)
			}
		})
	}
	if without, with := measure(false), measure(true); with > without {
		t.Errorf("%v allocations, without hooks of other types %v", with, without)
	}
}
