package transfer_test

import (
	"strings"
	"testing"

	"lectern/contenttypes"
	"lectern/internal/storetest"
	"lectern/jsontree"
	"lectern/store"
)

// testModel loads the definitions that the tests of documents use.
func testModel(t testing.TB) *contenttypes.Model {
	return storetest.Model(t, storetest.Archive(t, "../testdata/model.txtar"))
}

// body parses the data of a write.
func body(t testing.TB, text string) *jsontree.Object {
	v, err := jsontree.Parse([]byte(text), 100)
	if err != nil {
		t.Fatal(err)
	}
	return v.(*jsontree.Object)
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
