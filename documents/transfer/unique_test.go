package transfer_test

import (
	"errors"
	"strings"
	"testing"

	"lectern/documents"
	"lectern/documents/transfer"
	"lectern/internal/storetest"
)

// TestImportUniqueInside imports unique values in components: two lines may not have one at the same path, nor may a
// line have that of a document in the store, unless the file gives that document another one.
func TestImportUniqueInside(t *testing.T) {
	model := testModel(t)
	const (
		x = `{"type":"api::unit.unit","documentId":"x","locale":"en","data":{"zone":[{"__component":"part.coded","number":7,"marks":[{"tag":"m"}]}]}}` + "\n"
		y = `{"type":"api::unit.unit","documentId":"y","locale":"en","data":{"zone":[{"__component":"part.coded","number":7}]}}` + "\n"
		z = `{"type":"api::unit.unit","documentId":"z","locale":"en","data":{"zone":[{"__component":"part.coded","marks":[{"tag":"m"}]}]}}` + "\n"
	)
	for _, c := range []struct{ name, stored, file, want string }{
		{"other values", x, strings.NewReplacer(`"y"`, `"y"`, "7", "8").Replace(y), ""},
		{"the value of a line", "", x + y, "zone.part.coded.number: must be unique, and line 1 has 7 as well"},
		{"the value of a document", x, y, "zone.part.coded.number: must be unique, and document x has 7 as well"},
		{"the same, deeper", x, z, `zone.part.coded.marks.tag: must be unique, and document x has "m" as well`},
		{"a value that the file frees", x, strings.Replace(x, "7", "8", 1) + y, ""},
		{"a draft", x, strings.Replace(y, `"data"`, `"status":"draft","data"`, 1), ""},
		{"another locale", x, strings.Replace(y, `"en"`, `"fr"`, 1), ""},
		{"its own value", x, x, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			svc := documents.NewService(storetest.Open(t, model), model, "en")
			if _, err := transfer.Import(t.Context(), svc, strings.NewReader(c.stored),
				transfer.ImportOptions{}); err != nil {
				t.Fatal(err)
			}
			_, err := transfer.Import(t.Context(), svc, strings.NewReader(c.file), transfer.ImportOptions{})
			var wrong transfer.LineProblems
			if errors.As(err, &wrong); c.want == "" && err != nil || c.want != "" &&
				(len(wrong) != 1 || !strings.Contains(wrong[0].Message, c.want)) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}
