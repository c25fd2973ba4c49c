package passwords_test

import (
	"context"
	"errors"
	"net/netip"
	"runtime"
	"sync"
	"testing"

	"golang.org/x/crypto/bcrypt"

	"lectern/documents/apierror"
	"lectern/documents/passwords"
	"lectern/internal/admission"
)

// forClient returns the context of a request from an address.
func forClient(addr string) context.Context {
	return admission.WithClient(context.Background(), admission.ClientAt(netip.MustParseAddr(addr)))
}

// TestHashingTakesTurns checks passwords for a client that sends many wrong ones. When MaxWaiting of them are waiting,
// the next one is refused. The password of another client does not wait for them.
func TestHashingTakesTurns(t *testing.T) {
	cost := 12 // so high that all guesses are waiting before the first one is checked
	if testing.Short() {
		cost = 9 // takes as long under the race detector
	}
	hash, err := bcrypt.GenerateFromPassword([]byte("right"), cost)
	if err != nil {
		t.Fatal(err)
	}
	hasher := passwords.NewHasher(bcrypt.MinCost)
	ctx, stop := context.WithCancel(forClient("192.0.2.1"))
	var all sync.WaitGroup
	guess := func() {
		all.Go(func() {
			if _, err := hasher.Same(ctx, string(hash), "guess"); err != nil && !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
		})
	}
	for range runtime.GOMAXPROCS(0) {
		guess()
	}
	for hasher.Stats().Waiting == 0 {
		runtime.Gosched()
	}
	for n := hasher.Stats().Waiting + hasher.Stats().Held; n < passwords.MaxWaiting+
		max(1, runtime.GOMAXPROCS(0)-1); n++ {
		guess()
	}
	for hasher.Stats().Waiting < passwords.MaxWaiting {
		runtime.Gosched()
	}

	var refused *apierror.Error
	if _, err := hasher.Same(ctx, string(hash), "guess"); !errors.As(err, &refused) || refused.Status != 429 ||
		refused.Name != "RateLimitError" {
		t.Errorf("one guess more than may wait: %v", err)
	}
	if same, err := hasher.Same(forClient("192.0.2.2"), string(hash), "right"); !same || err != nil {
		t.Errorf("another client: %t, %v", same, err)
	}
	// In the order of arrival, the other client's password would have been checked last.
	if waiting := hasher.Stats().Waiting; waiting < passwords.MaxWaiting/2 {
		t.Errorf("only %d guesses were left waiting when another client's password had been looked at", waiting)
	}
	stop()
	all.Wait()
	if left := hasher.Stats(); left.Held != 0 || left.Waiting != 0 || left.Clients != 0 {
		t.Errorf("in the end: %+v", left)
	}
}
