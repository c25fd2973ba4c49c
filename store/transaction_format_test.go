package store

import (
	"testing"

	"lectern/store/evolve"
	"lectern/store/internal/logentry"
)

// TestTransactionFormat asserts that the format of transactions grows with each of the numbers that it is made of.
func TestTransactionFormat(t *testing.T) {
	format := TransactionFormat
	for i, n := range []int{logentry.Version, evolve.Version, int(Format), logentry.TransactionVersion} {
		if got := format >> (8 * i) & 0xFF; got != n {
			t.Errorf("number %d of the format of transactions is %d, want %d", i, got, n)
		}
	}
}
