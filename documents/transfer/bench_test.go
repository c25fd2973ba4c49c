package transfer_test

import (
	"bytes"
	"crypto/md5"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"

	"lectern/contenttypes"
	"lectern/documents"
	"lectern/documents/transfer"
	"lectern/internal/storetest"
)

// benchModel returns the types of the benchmarks of imports: articles with drafts, a component, three indexed scalars
// and links to categories and to other articles.
func benchModel(b *testing.B) *contenttypes.Model {
	return storetest.Model(b, storetest.Files(map[string]string{"content-types/category.yaml": `
kind: collectionType
info: {singularName: category, pluralName: categories, displayName: Category}
options: {draftAndPublish: true}
attributes: {name: {type: string, unique: true}}
`, "content-types/article.yaml": `
kind: collectionType
info: {singularName: article, pluralName: articles, displayName: Article}
options: {draftAndPublish: true}
attributes:
  title: {type: string}
  rank: {type: integer}
  slug: {type: uid, targetField: title}
  body: {type: richtext}
  parts: {type: component, component: part.text, repeatable: true}
  category: {type: relation, relation: manyToOne, target: api::category.category}
  related: {type: relation, relation: manyToMany, target: api::article.article}
`, "components/part/text.yaml": `
info: {displayName: Text}
attributes: {heading: {type: string}}
`}))
}

// exportedArticles returns an export of n articles, each as a draft and published, in 20 categories, and with links to
// the next two.
func exportedArticles(n int) []byte {
	var lines bytes.Buffer
	lines.WriteString(`{"format":"lectern-content","version":1}` + "\n")
	item, order := 0, 0
	for s, status := range []string{"draft", "published"} {
		for i := range n {
			fmt.Fprintf(&lines, `{"type":"api::article.article","documentId":"%s","status":%q,"id":%d,"createdAt":"2026-01-01T00:00:00.000Z","updatedAt":"2026-01-02T00:00:00.000Z","publishedAt":"2026-01-02T00:00:00.000Z","data":{"title":"Article %d","rank":%d,"slug":"article-%d","body":%q,"parts":[`,
				benchID("a", i), status, s*n+i+1, i, i*7919%n, i, strings.Repeat("Some words of an article. ", 8))
			for p := range 2 {
				item++
				fmt.Fprintf(&lines, `%s{"id":%d,"heading":"Part %d"}`, strings.Repeat(",", p), item, p)
			}
			order++
			fmt.Fprintf(&lines, `],"category":{"documentId":"%s","order":%d},"related":[`, benchID("c", i%20), order)
			for r := range 2 {
				order++
				fmt.Fprintf(&lines, `%s{"documentId":"%s","order":%d}`, strings.Repeat(",", r), benchID("a", (i+r+1)%n),
					order)
			}
			lines.WriteString("]}}\n")
		}
	}
	for s, status := range []string{"draft", "published"} {
		for i := range 20 {
			fmt.Fprintf(&lines, `{"type":"api::category.category","documentId":"%s","status":%q,"id":%d,"data":{"name":"Category %d"}}`+"\n", benchID("c", i), status, s*20+i+1, i)
		}
	}
	return lines.Bytes()
}

// benchID returns a documentId in no order.
func benchID(prefix string, i int) string {
	sum := md5.Sum(fmt.Appendf(nil, "%s%d", prefix, i))
	return prefix + hex.EncodeToString(sum[:])[:23]
}

// BenchmarkImport imports articles into an empty store, and then again into the same store.
func BenchmarkImport(b *testing.B) {
	const articles = 5000
	model, file := benchModel(b), exportedArticles(articles)
	for _, name := range []string{"new", "again"} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for range b.N {
				b.StopTimer()
				svc := documents.NewService(storetest.Open(b, model), model, "en")
				load := func() {
					if _, err := transfer.Import(b.Context(), svc, bytes.NewReader(file),
						transfer.ImportOptions{}); err != nil {
						b.Fatal(err)
					}
				}
				if name == "again" {
					load()
				}
				b.StartTimer()
				load()
			}
			b.ReportMetric(float64(articles*b.N)/b.Elapsed().Seconds(), "documents/s")
		})
	}
}
