package budget_test

import (
	"bytes"
	"errors"
	"testing"

	"lectern/internal/budget"
)

// print appends n parts to an answer as printers do, and returns the text.
func print(a *budget.Answer, text []byte, n int, part []byte) ([]byte, error) {
	for range n {
		told := 0
		if len(part) > budget.Small {
			told = len(part)
		}
		if !a.Fits(len(text), told) {
			var err error
			if text, err = a.Grow(text, told); err != nil {
				return text, err
			}
		}
		text = append(text, part...)
	}
	return text, nil
}

// TestAnswer checks the reservations for answers of several lengths: none for a small answer, otherwise at least the
// length of the text and at most about twice that.
func TestAnswer(t *testing.T) {
	for _, test := range []struct {
		parts, length int
		err           error
	}{
		{0, 0, nil},
		{1000, 50, nil},
		{80, 1000, nil},
		{300, 1000, nil},
		{3000, 1000, nil},
		{1, 3 << 20, nil},
		{4, 1 << 20, nil},
		{4, 1<<20 + 1, budget.ErrTooLong},
		{1, 5 << 20, budget.ErrTooLong},
		{4 << 10, 1 << 10, nil},
		{5 << 10, 1 << 10, budget.ErrTooLong},
	} {
		b := budget.New(64 << 20)
		a := b.Answer(4 << 20)
		text, err := print(&a, nil, test.parts, make([]byte, test.length))
		reserved := b.Stats().Reserved
		if !errors.Is(err, test.err) {
			t.Errorf("%+v: %v", test, err)
		}
		switch {
		case len(text) <= budget.Unreserved-budget.Slack && reserved != 0:
			t.Errorf("%+v: %d bytes reserved", test, reserved)
		case reserved != 0 &&
			(int(reserved) < cap(text)-16<<10 || int(reserved) > 2*len(text)+2*test.length+4*budget.Slack):
			t.Errorf("%+v: %d bytes reserved for %d, %d of them used", test, reserved, cap(text), len(text))
		}
		if a.Release(); b.Stats().Reserved != 0 {
			t.Errorf("%+v: not all is released", test)
		}
	}
}

// TestAnswerBeginsAnew checks that an answer whose reservation failed gets all the memory it needs from Wait.
func TestAnswerBeginsAnew(t *testing.T) {
	b := budget.New(16 << 20)
	other := b.Reservation()
	if err := other.Grow(11 << 20); err != nil {
		t.Fatal(err)
	}
	a := b.Answer(8 << 20)
	part := bytes.Repeat([]byte("x"), 1000)
	text, err := print(&a, nil, 2000, part)
	if !errors.Is(err, budget.ErrExhausted) || len(text) == 0 {
		t.Fatalf("%d bytes, %v", len(text), err)
	}
	if err := a.Wait(ended()); !errors.Is(err, budget.ErrExhausted) || b.Stats().Reserved != 11<<20 {
		t.Errorf("%v, %+v", err, b.Stats())
	}
	other.Release()
	if err := a.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	wanted := b.Stats().Reserved
	a.Restart()
	if text, err = print(&a, nil, 1000, part); err != nil || cap(text) < int(wanted) || b.Stats().Reserved != wanted {
		t.Errorf("%v: of %d bytes that were waited for the text has %d", err, wanted, cap(text))
	}
}

// TestHold checks that Hold reserves memory in units.
func TestHold(t *testing.T) {
	b := budget.New(1 << 20)
	a := b.Answer(1 << 20)
	for _, step := range []struct {
		bytes, reserved int64
		fits            bool
	}{
		{budget.Unreserved, 0, true},
		{budget.Unreserved + 1, 256 << 10, true},
		{256 << 10, 256 << 10, true},
		{700 << 10, 768 << 10, true},
		{2 << 20, 768 << 10, false},
	} {
		if err := a.Hold(step.bytes); (err == nil) != step.fits || b.Stats().Reserved != step.reserved {
			t.Errorf("hold %d: %v, %d reserved", step.bytes, err, b.Stats().Reserved)
		}
	}
}

// TestAdopt checks that an earlier text is reused if its memory can be reserved, and is counted once.
func TestAdopt(t *testing.T) {
	b := budget.New(1 << 20)
	kept := make([]byte, 100, 600<<10)
	one, other := b.Answer(1<<20), b.Answer(1<<20)
	text := one.Adopt(kept)
	if cap(text) != cap(kept) || len(text) != 0 || b.Stats().Reserved != 600<<10 {
		t.Errorf("%d of %d, %+v", len(text), cap(text), b.Stats())
	}
	if text, err := print(&one, text, 500, make([]byte, 1000)); err != nil || b.Stats().Reserved != 600<<10 ||
		cap(text) != cap(kept) {
		t.Errorf("%v, %+v", err, b.Stats())
	}
	if text := other.Adopt(make([]byte, 0, 600<<10)); text != nil {
		t.Error("a text was adopted for which there is no memory")
	}
	if text := other.Adopt(make([]byte, 0, 1000)); cap(text) != 1000 {
		t.Error("a small text was not adopted")
	}
}
