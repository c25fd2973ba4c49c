package documents_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"lectern/documents"
	"lectern/documents/apierror"
	"lectern/documents/permission"
	"lectern/internal/storetest"
	"lectern/jsontree"
	"lectern/store"
)

// anyValue draws a JSON value for a relation or component of a body. Many of the values are nearly valid.
func anyValue(rt *rapid.T, ids []string, keys []string, depth int) any {
	kinds := 6
	if depth > 0 {
		kinds = 9
	}
	switch rapid.IntRange(0, kinds).Draw(rt, "kind") {
	case 0:
		return nil
	case 1:
		return rapid.Bool().Draw(rt, "bool")
	case 2:
		return jsontree.Number(
			rapid.SampledFrom([]string{"0", "1", "2", "3", "5.5", "-1", "1e3", "99999999999999999999"}).Draw(
				rt, "number"))
	case 3, 4:
		return rapid.SampledFrom(ids).Draw(rt, "id")
	case 5, 6:
		return rapid.SampledFrom([]string{"", "x", "2024-01-02", "1", "part.box", "part.leaf", "api::tag.tag",
			"api::holder.holder", "en", "fr", "draft"}).Draw(rt, "text")
	case 7:
		list := make([]any, rapid.IntRange(0, 4).Draw(rt, "n"))
		for i := range list {
			list[i] = anyValue(rt, ids, keys, depth-1)
		}
		return list
	}
	o := jsontree.NewObject()
	for _, k := range rapid.SliceOfNDistinct(rapid.SampledFrom(keys), 0, 4, rapid.ID[string]).Draw(rt, "keys") {
		o.Set(k, anyValue(rt, ids, keys, depth-1))
	}
	return o
}

// TestAnyBody writes documents with random bodies. Each write succeeds or is refused with a status 4xx, and the store
// stays consistent.
func TestAnyBody(t *testing.T) {
	model := testModel(t)
	common := []string{"set", "connect", "disconnect", "options", "documentId", "id", "position", "before", "after",
		"start", "end",
		"locale", "status", "strict", "__component", "__type", "title", "size", "tags", "leaf", "links", "pic", "mark"}
	rapid.Check(t, func(rt *rapid.T) {
		st := storetest.Open(rt, model)
		svc := documents.NewService(st, model, "en")
		ids := []string{"nobody"}
		for range rapid.IntRange(1, 30).Draw(rt, "writes") {
			typ := rapid.SampledFrom(model.Types).Draw(rt, "type")
			if typ.BuiltIn {
				continue
			}
			data := jsontree.NewObject()
			for _, a := range typ.Attributes {
				switch {
				case a.System || a.Name == "secret" || rapid.IntRange(0, 2).Draw(rt, "given") == 0:
				case a.IsScalar():
					data.Set(a.Name, rapid.SampledFrom([]any{nil, "some text", jsontree.Number("3"), "2024-01-02",
						"a@example.com", "calm"}).Draw(rt, a.Name))
				case rapid.Bool().Draw(rt, "plain"):
					data.Set(a.Name, []any{rapid.SampledFrom(ids).Draw(rt, a.Name)})
				default:
					data.Set(a.Name, anyValue(rt, ids, common, 4))
				}
			}
			w := documents.Write{
				Type: typ, Data: data, Access: permission.FullAccess,
				DocumentID: rapid.SampledFrom(ids).Draw(rt, "document"),
				Locale:     rapid.SampledFrom([]string{"", "fr", "de", "*"}).Draw(rt, "locale"),
				Status:     store.Status(rapid.IntRange(0, 1).Draw(rt, "status")),
			}
			id := ""
			w.After = func(_ *store.Snapshot, r store.Record) error {
				raw := string(r.JSON(typ.Attribute("documentId")))
				id = raw[1 : len(raw)-1]
				return nil
			}
			verb := rapid.IntRange(0, 8).Draw(rt, "verb")
			verbs := []func(context.Context,
				documents.Write) error{svc.Update, svc.Update, svc.SaveSingle, svc.Delete, svc.Publish, svc.Unpublish,
				svc.DiscardDraft, svc.Create, svc.Create}
			if verb >= 7 {
				w.DocumentID = ""
			}
			err := verbs[verb](context.Background(), w)
			if err == nil && id != "" && !slices.Contains(ids, id) {
				ids = append(ids, id)
			}
			var e *apierror.Error
			if err != nil && (!errors.As(err, &e) || e.Status < 400 || e.Status > 499) {
				rt.Fatalf("%s: %v\n%s", typ.UID, err, jsontree.Append(nil, data))
			}
		}
	})
}
