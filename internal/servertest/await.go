package servertest

import (
	"errors"
	"testing"
	"time"
)

const (
	patience  = time.Minute          // of Await; machines that run many tests are slow
	pollEvery = 5 * time.Millisecond // what Await waits for is mostly in another process, or on a disk
)

// Await calls try again and again until it returns nil. It is for what nothing in this process tells of, such as the
// state of another process. what says what is awaited. If that does not come within a minute, Await fails the test with
// the last error.
func Await(t testing.TB, what string, try func() error) {
	t.Helper()
	// It sleeps between two tries, since nothing tells when the next may succeed.
	for end := time.Now().Add(patience); ; time.Sleep(pollEvery) {
		err := try()
		if err == nil {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("never: %s: %v", what, err)
		}
	}
}

// Until is Await for a condition that needs no explanation.
func Until(t testing.TB, what string, holds func() bool) {
	t.Helper()
	Await(t, what, func() error {
		if holds() {
			return nil
		}
		return errNot
	})
}

var errNot = errors.New("it is not so")
