package transfer_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"lectern/contenttypes"
	"lectern/documents"
	"lectern/documents/transfer"
	"lectern/internal/storetest"
)

var errNothingLeft = errors.New("nothing is left")

// limited returns a function that reserves up to limit bytes, and the largest number of bytes that it has reserved.
func limited(limit int64) (reserve func(int64) error, reserved *int64) {
	reserved = new(int64)
	return func(bytes int64) error {
		if bytes > limit {
			return errNothingLeft
		}
		*reserved = max(*reserved, bytes)
		return nil
	}, reserved
}

// noteModel returns a model with one type, which has a text of any length.
func noteModel(t *testing.T) *contenttypes.Model {
	return storetest.Model(t, storetest.Files(map[string]string{"content-types/note.yaml": `
kind: collectionType
info: {singularName: note, pluralName: notes, displayName: Note}
attributes: {text: {type: text}}
`}))
}

// importedNotes returns n lines of an import, each a note with a text of length letters.
func importedNotes(n, length int) []byte {
	var lines strings.Builder
	for i := range n {
		fmt.Fprintf(&lines, `{"type":"api::note.note","documentId":"note%d","data":{"text":"%d %s"}}`+"\n", i, i,
			strings.Repeat("x", length))
	}
	return []byte(lines.String())
}

// TestExportReserves checks that an export reserves memory for its longest line, not for all lines, and that it fails
// if there is not enough.
func TestExportReserves(t *testing.T) {
	const length, lines = 10_000, 100
	model := noteModel(t)
	st := storetest.Open(t, model)
	if _, err := transfer.Import(t.Context(), documents.NewService(st, model, "en"),
		bytes.NewReader(importedNotes(lines, length)), transfer.ImportOptions{}); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	reserve, reserved := limited(1 << 30)
	if err := transfer.Export(context.Background(), st, model, &out, reserve); err != nil || out.Len() < lines*length {
		t.Fatalf("%d bytes, %v", out.Len(), err)
	}
	if *reserved < 2*length || *reserved > 10*length {
		t.Errorf("%d bytes were reserved for lines of %d", *reserved, length)
	}
	reserve, _ = limited(length)
	out.Reset()
	if err := transfer.Export(context.Background(), st, model, &out, reserve); !errors.Is(err, errNothingLeft) ||
		out.Len() > 100 {
		t.Errorf("%d bytes, %v", out.Len(), err)
	}
}

// TestImportReserves checks that an import reserves memory for its longest line and for what it remembers of each line.
// If there is not enough, the import fails and stores nothing.
func TestImportReserves(t *testing.T) {
	model := noteModel(t)
	for _, test := range []struct {
		lines, length int
		least         int64
	}{{1, 2 << 20, 16 << 20}, {20_000, 10, 2<<20 + 3_000_000}} {
		st := storetest.Open(t, model)
		svc, file := documents.NewService(st, model, "en"), importedNotes(test.lines, test.length)
		reserve, _ := limited(test.least)
		if _, err := transfer.Import(t.Context(), svc, bytes.NewReader(file),
			transfer.ImportOptions{Reserve: reserve}); !errors.Is(err, errNothingLeft) {
			t.Errorf("%+v: %v", test, err)
		}
		if got := export(t, st, model); bytes.Count(got, []byte("\n")) != 1 {
			t.Errorf("%+v: a refused import has stored %d bytes", test, len(got))
		}
		reserve, reserved := limited(1 << 30)
		result, err := transfer.Import(t.Context(), svc, bytes.NewReader(file),
			transfer.ImportOptions{Reserve: reserve})
		if err != nil || result.Versions != test.lines || *reserved > 3*test.least {
			t.Errorf("%+v: %+v, %d bytes reserved, %v", test, result, *reserved, err)
		}
	}
}

// TestImportReservesDenseLines checks that an import reserves the values of a line that takes far more memory when it
// is parsed than it has bytes.
func TestImportReservesDenseLines(t *testing.T) {
	model := noteModel(t)
	line := `{"type":"api::note.note","documentId":"a","data":{"text":[` + strings.Repeat(`{"":0},`, 200_000) + "0]}}\n"
	least := int64(30 * len(line))
	for _, limit := range []int64{least, 1 << 30} {
		svc := documents.NewService(storetest.Open(t, model), model, "en")
		reserve, reserved := limited(limit)
		_, err := transfer.Import(t.Context(), svc, strings.NewReader(line), transfer.ImportOptions{Reserve: reserve})
		if refused := errors.Is(err, errNothingLeft); refused != (limit == least) || !refused && *reserved < least {
			t.Errorf("%d bytes at most: %d reserved, %v", limit, *reserved, err)
		}
	}
}
