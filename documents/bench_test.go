package documents_test

import (
	"fmt"
	"testing"

	"lectern/documents"
	"lectern/documents/permission"
	"lectern/internal/storetest"
	"lectern/store"
)

// BenchmarkWrites measures creations by many concurrent writers, which share each fsync.
func BenchmarkWrites(b *testing.B) {
	for _, bench := range []struct{ name, typ, body string }{
		{"scalars", "api::remark.remark", `{"name":"x"}`},
		{"published", "api::article.article",
			`{"title":"x title","rank":5,"slug":"s%d","boxes":[{"title":"a"},{"title":"b"}],"tags":[%q]}`},
	} {
		b.Run(bench.name, func(b *testing.B) {
			model := testModel(b)
			svc := documents.NewService(storetest.Open(b, model), model, "en")
			var id string
			tag := model.Type("api::tag.tag")
			err := svc.Create(b.Context(), documents.Write{Type: tag, Data: body(b, `{"name":"x"}`),
				Access: permission.FullAccess, After: func(_ *store.Snapshot, r store.Record) error {
					id = string(r.JSON(tag.Attribute("documentId")))
					id = id[1 : len(id)-1]
					return nil
				}})
			if err != nil {
				b.Fatal(err)
			}
			b.SetParallelism(64)
			b.ReportAllocs()
			n := make(chan int, 1)
			n <- 0
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					i := <-n
					n <- i + 1
					text := bench.body
					if bench.name == "published" {
						text = fmt.Sprintf(text, i, id)
					}
					if err := svc.Create(b.Context(), documents.Write{Type: model.Type(bench.typ), Data: body(b, text),
						Access: permission.FullAccess}); err != nil {
						b.Error(err)
						return
					}
				}
			})
		})
	}
}
