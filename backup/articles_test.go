package backup

import (
	"fmt"
	"io/fs"
	"strings"

	"lectern/contenttypes"
	"lectern/documents"
	"lectern/documents/permission"
	"lectern/internal/storetest"
	"lectern/jsontree"
	"lectern/store"
)

// writeOthers creates the documents that articles refer to from then on.
func (p *project) writeOthers() {
	p.t.Helper()
	for uid, text := range map[string]string{
		"api::tag.tag": `{"name":"%d"}`, "api::writer.writer": `{"name":"%d"}`,
		contenttypes.FileUID: `{"name":"%[1]d.png","hash":"%[1]d","mime":"image/png","size":1,"url":"/%[1]d.png","provider":"local"}`,
	} {
		typ := p.store.Model().Type(uid)
		for n := range 2 {
			w := documents.Write{Type: typ, Access: permission.FullAccess, Data: p.parse(fmt.Sprintf(text, n))}
			w.After = func(_ *store.Snapshot, r store.Record) error {
				p.others[uid] = append(p.others[uid], documentID(r, typ))
				return nil
			}
			if err := p.service.Create(p.t.Context(), w); err != nil {
				p.t.Fatal(err)
			}
		}
	}
}

func documentID(r store.Record, typ *contenttypes.ContentType) string {
	return strings.Trim(string(r.JSON(typ.Attribute("documentId"))), `"`)
}

func (p *project) parse(text string) *jsontree.Object {
	p.t.Helper()
	v, err := jsontree.Parse([]byte(text), jsontree.MaxDepth)
	if err != nil {
		p.t.Fatal(err)
	}
	return v.(*jsontree.Object)
}

// body returns random data of an article in a locale, with links, media and components if there are documents to refer
// to.
func (p *project) body(locale string) *jsontree.Object {
	p.t.Helper()
	text := fmt.Sprintf(`{"title":"Number %d","rank":%d`, p.rnd.Int(), p.rnd.IntN(100))
	if p.redefined {
		text = fmt.Sprintf(`{"title":"Number %d","rank":"%d"`, p.rnd.Int(), p.rnd.IntN(100))
	}
	if len(p.others) > 0 {
		one := func(uid string) string { return p.others[uid][p.rnd.IntN(len(p.others[uid]))] }
		tag, file := one("api::tag.tag"), one(contenttypes.FileUID)
		text += fmt.Sprintf(`,"tags":[%q],"writer":%q,"cover":%q,"gallery":[%q,%q]`, tag, one("api::writer.writer"),
			file, p.others[contenttypes.FileUID][0], p.others[contenttypes.FileUID][1])
		text += fmt.Sprintf(
			`,"boxes":[{"title":"a","tags":[%q]},{"title":"b","leaf":{"size":3,"pic":%q}}],"zone":[{"__component":"part.box","title":"z"}]`, tag, file)
		if len(p.ids) > 0 && locale == "en" { // others need not have the other locale
			text += fmt.Sprintf(`,"related":[%q]`, p.ids[p.rnd.IntN(len(p.ids))])
		}
	}
	return p.parse(text + "}")
}

// redefine changes the definitions so that content is converted.
func (p *project) redefine() {
	p.t.Helper()
	files := map[string]string{}
	archive := storetest.Archive(p.t, "../documents/testdata/model.txtar")
	err := fs.WalkDir(archive, ".", func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		text, err := fs.ReadFile(archive, path)
		files[path] = strings.Replace(string(text), "rank: {type: integer, max: 100}",
			"rank: {type: string}\n  shade: {type: string, default: dark}", 1)
		return err
	})
	if err != nil {
		p.t.Fatal(err)
	}
	model := storetest.Model(p.t, storetest.Files(files))
	before := p.store.Revision()
	if p.store, err = p.store.Redefine(p.t.Context(), model, store.Options{}); err != nil {
		p.t.Fatal(err)
	}
	if p.store.Revision() == before {
		p.t.Fatal("the log does not have the conversion")
	}
	p.service, p.redefined = documents.NewService(p.store, model, "en"), true
}
