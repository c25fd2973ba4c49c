package store_test

import (
	"errors"
	"fmt"
	"testing"

	"lectern/store"
)

// TestProblemsReserve expects a check to reserve memory for what it remembers of rows and index entries, and to end if
// there is no memory left.
func TestProblemsReserve(t *testing.T) {
	const rows = 10_000
	s := newStore(t)
	tag := s.Model().Type("api::tag.tag")
	write(t, s, func(tx *store.Tx) error {
		var b store.Batch
		for i := range rows {
			b.PutRow(newRow(tx, tag, tx.NewDoc(), store.Published, "",
				map[string]string{"name": fmt.Sprintf(`"tag %d"`, i)}))
		}
		return tx.Apply(&b)
	})
	var reserved int64
	problems, err := s.Problems(t.Context(), func(bytes int64) error {
		reserved = bytes
		return nil
	})
	if err != nil || len(problems) > 0 || reserved < rows*200 {
		t.Errorf("%d bytes reserved for %d rows; %v %v", reserved, rows, problems, err)
	}
	none := errors.New("nothing is left")
	calls := 0
	if problems, err = s.Problems(t.Context(), func(int64) error { calls++; return none }); !errors.Is(err, none) ||
		calls != 1 || len(problems) > 0 {
		t.Errorf("after %d refusals: %v %v", calls, problems, err)
	}
}
