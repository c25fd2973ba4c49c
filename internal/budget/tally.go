package budget

import "errors"

// ErrNever is returned when a reservation does not fit into the budget even when nothing else is reserved.
var ErrNever = errors.New("it takes more memory than all requests together may have")

const (
	// unreservedTally is how many bytes a Tally may count without a reservation: what small requests are parsed to.
	unreservedTally = 64 << 10
	// tallyUnit is the unit in which a Tally reserves memory, in bytes.
	tallyUnit = 64 << 10
)

// A Tally counts the memory of something that is built in many small parts, such as the values of a JSON text. It
// reserves memory only for what is large. Only one goroutine at a time may use a Tally, and it must not be copied after
// the first Add. A nil Tally counts nothing.
type Tally struct {
	reservation Reservation
	counted     int64
}

// Tally returns an empty Tally.
func (b *Budget) Tally() Tally { return Tally{reservation: b.Reservation()} }

// Add must be called before so many more bytes are allocated. It fails with ErrExhausted if they are not free, and with
// ErrNever if they cannot be. The caller then drops what was built and calls Release.
func (t *Tally) Add(bytes int64) error {
	if t == nil {
		return nil
	}
	t.counted += bytes
	if t.counted <= unreservedTally {
		return nil
	}
	total := (t.counted + tallyUnit - 1) / tallyUnit * tallyUnit
	if !t.reservation.budget.Fits(total) {
		return ErrNever
	}
	return t.reservation.Grow(total)
}

// Counted returns how many bytes were counted.
func (t *Tally) Counted() int64 {
	if t == nil {
		return 0
	}
	return t.counted
}

// Release gives back the reservation and counts from zero.
func (t *Tally) Release() {
	t.reservation.Release()
	t.counted = 0
}
