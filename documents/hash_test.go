package documents_test

import (
	"context"
	"errors"
	"net/netip"
	"runtime"
	"sync"
	"testing"

	"golang.org/x/crypto/bcrypt"

	"lectern/documents"
	"lectern/documents/apierror"
	"lectern/internal/admission"
)

// forClient returns the context of a request from an address.
func forClient(addr string) context.Context {
	return admission.WithClient(context.Background(), admission.ClientAt(netip.MustParseAddr(addr)))
}

// TestHashingTakesTurns checks passwords for a client that sends many wrong ones. When MaxHashesWaiting of them are waiting, the next one
// is refused. The password of another client does not wait for them.
func TestHashingTakesTurns(t *testing.T) {
	cost := 12 // so high that all guesses are waiting before the first one is checked
	if testing.Short() {
		cost = 9 // takes as long under the race detector
	}
	hash, err := bcrypt.GenerateFromPassword([]byte("right"), cost)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(forClient("192.0.2.1"))
	var all sync.WaitGroup
	guess := func() {
		all.Go(func() {
			if _, err := documents.SamePassword(ctx, string(hash), "guess"); err != nil && !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
		})
	}
	for range runtime.GOMAXPROCS(0) {
		guess()
	}
	for documents.Hashing().Waiting == 0 {
		runtime.Gosched()
	}
	for n := documents.Hashing().Waiting + documents.Hashing().Held; n < documents.MaxHashesWaiting+max(1, runtime.GOMAXPROCS(0)-1); n++ {
		guess()
	}
	for documents.Hashing().Waiting < documents.MaxHashesWaiting {
		runtime.Gosched()
	}

	var told *apierror.Error
	if _, err := documents.SamePassword(ctx, string(hash), "guess"); !errors.As(err, &told) || told.Status != 429 || told.Name != "RateLimitError" {
		t.Errorf("one guess more than may wait: %v", err)
	}
	if same, err := documents.SamePassword(forClient("192.0.2.2"), string(hash), "right"); !same || err != nil {
		t.Errorf("another client: %t, %v", same, err)
	}
	// In the order of arrival, the other client's password would have been checked last.
	if waiting := documents.Hashing().Waiting; waiting < documents.MaxHashesWaiting/2 {
		t.Errorf("only %d guesses were left waiting when another client's password had been looked at", waiting)
	}
	stop()
	all.Wait()
	if left := documents.Hashing(); left.Held != 0 || left.Waiting != 0 || left.Clients != 0 {
		t.Errorf("in the end: %+v", left)
	}
}
