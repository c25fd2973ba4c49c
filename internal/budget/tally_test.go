package budget_test

import (
	"errors"
	"testing"

	"lectern/internal/budget"
)

// TestTally checks that a Tally reserves nothing for a small count and at least what it counts otherwise, and tells
// what is not free now from what can never be.
func TestTally(t *testing.T) {
	b := budget.New(1 << 20)
	one, other := b.Tally(), b.Tally()
	for _, step := range []struct {
		of       *budget.Tally
		bytes    int64
		err      error
		reserved int64
	}{
		{&one, 40 << 10, nil, 0},
		{&one, 24 << 10, nil, 0},
		{&one, 1, nil, 128 << 10},
		{&one, 64<<10 - 1, nil, 128 << 10},
		{&one, 1, nil, 192 << 10},
		{&other, 512 << 10, nil, 704 << 10},
		{&other, 384 << 10, budget.ErrExhausted, 704 << 10},
		{&other, 256 << 10, budget.ErrNever, 704 << 10},
	} {
		if err := step.of.Add(step.bytes); !errors.Is(err, step.err) || b.Stats().Reserved != step.reserved {
			t.Errorf("%+v: %v, %+v", step, err, b.Stats())
		}
	}
	other.Release()
	if err := other.Add(64 << 10); err != nil || b.Stats().Reserved != 192<<10 {
		t.Errorf("after a release: %v, %+v", err, b.Stats())
	}
	var none *budget.Budget
	unbounded := none.Tally()
	if err := unbounded.Add(1 << 60); err != nil {
		t.Error(err)
	}
}
