package schema_test

import (
	"path/filepath"
	"testing"

	"lectern/shadowcrud/graphql/schema"
)

func BenchmarkBuild(b *testing.B) {
	m := load(b, filepath.Join(projects, "kitchen"))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := schema.Build(m, schema.Options{}); err != nil {
			b.Fatal(err)
		}
	}
}
