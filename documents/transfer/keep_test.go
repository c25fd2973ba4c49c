package transfer_test

import (
	"errors"
	"strings"
	"testing"

	"lectern/documents"
	"lectern/documents/transfer"
	"lectern/internal/storetest"
)

// TestImportNamesTheCause imports a line with a wrong value, which others link to. Links to its document are no
// problems of their own, unless the import goes on without it; and the line is stored as it is on request.
func TestImportNamesTheCause(t *testing.T) {
	const file = `{"type":"api::page.page","documentId":"a","data":{"next":{"documentId":"b"}}}
{"type":"api::page.page","documentId":"b","data":{"mood":"angry","next":{"documentId":"c"}}}
{"type":"api::page.page","documentId":"c","data":{"code":"1"}}
{"type":"api::page.page","documentId":"d","data":{"next":{"documentId":"b"}}}
`
	model := storetest.Model(t, storetest.Files(map[string]string{"content-types/page.yaml": `
kind: collectionType
info: {singularName: page, pluralName: pages, displayName: Page}
attributes:
  mood: {type: enumeration, enum: [calm, loud]}
  code: {type: string, unique: true}
  next: {type: relation, relation: oneToOne, target: api::page.page}
`}))
	const wrong = "line 2: mood must be one of the following values: calm, loud, "
	for _, c := range []struct {
		name, file string
		o          transfer.ImportOptions
		stored     int
		want       string
	}{
		{"all or nothing", file, transfer.ImportOptions{}, 0, wrong},
		{"partial", file, transfer.ImportOptions{Partial: true}, 1,
			"line 1: next: document b is left out, since line 2 is wrong\n" + wrong +
				"\nline 4: next: document b is left out, since line 2 is wrong"},
		{"keep", file, transfer.ImportOptions{Keep: true}, 4, ""},
		{"keep another type", strings.Replace(file, `"angry"`, `[1]`, 1), transfer.ImportOptions{Keep: true}, 0,
			"line 2: mood: has a value of another type"},
		{"keep a taken value", strings.Replace(file, `"mood":"angry"`, `"code":"1"`, 1),
			transfer.ImportOptions{Keep: true}, 0,
			`line 3: code: must be unique, and line 2 has "1" as well`},
		{"keep taken", strings.Replace(file, `"mood":"angry"`, `"code":"1"`, 1),
			transfer.ImportOptions{KeepTaken: true}, 4, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			result, err := transfer.Import(t.Context(), documents.NewService(storetest.Open(t, model), model, "en"),
				strings.NewReader(c.file), c.o)
			var problems transfer.LineProblems
			if err != nil && !errors.As(err, &problems) {
				t.Fatal(err)
			}
			if problems.Error() != c.want || result.Versions != c.stored {
				t.Errorf("%d versions, %q, want %d, %q", result.Versions, problems.Error(), c.stored, c.want)
			}
		})
	}
}
