// Package passwords hashes passwords with bcrypt and compares them with hashes, a few at a time, and fairly among
// clients.
package passwords

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"runtime"
	"sync/atomic"

	"golang.org/x/crypto/bcrypt"

	"lectern/documents/apierror"
	"lectern/internal/admission"
)

const (
	// MaxLength is the maximum length of a password in bytes. bcrypt ignores the bytes after it, so longer ones are
	// refused.
	MaxLength = 72
	// TooLong is the message for a password that is longer than MaxLength.
	TooLong = "Password must be less than 73 bytes"
	// MaxWaiting is the maximum number of passwords of one client that wait to be hashed.
	MaxWaiting = 32
	// Cost is the cost of new hashes in a server.
	Cost = bcrypt.DefaultCost
	// maxCost is the maximum bcrypt cost of an imported hash.
	maxCost = 14
)

// hashPattern matches the bcrypt hash of a password.
var hashPattern = regexp.MustCompile(`^\$2[aby]\$[0-9]{2}\$[./A-Za-z0-9]{53}$`)

// IsHash reports whether a text has the form of the bcrypt hash of a password.
func IsHash(s string) bool { return hashPattern.MatchString(s) }

// nobodysHash is a hash of the Cost of servers.
const nobodysHash = "$2a$10$z39LUjMA.G5OwZ48Uw.c5ekMZfbA0ZGZxGsHoUtD/1ThteVt0myNO"

// A Hasher hashes passwords. It limits how many are hashed at a time, because each keeps a processor busy. The clients
// whose passwords wait (admission.ClientOf) take turns, so that a client with many passwords does not delay the others.
// So a process that serves clients has one. Its methods are safe for concurrent use.
type Hasher struct {
	cost   int    // of new hashes
	nobody []byte // a hash of that cost, to compare with if there is no other
	turns  *admission.Semaphore
	rounds atomic.Uint64
}

// NewHasher returns a Hasher that makes hashes of this cost, which must be one that bcrypt has: otherwise Hash fails.
func NewHasher(cost int) *Hasher {
	h := &Hasher{
		cost: cost, nobody: []byte(nobodysHash),
		turns: admission.New(admission.Limits{Places: max(1, runtime.GOMAXPROCS(0)-1), Waiting: MaxWaiting}),
	}
	if cost != Cost {
		h.nobody, _ = bcrypt.GenerateFromPassword([]byte("nobody"), cost)
	}
	return h
}

// Limits returns how many passwords may be hashed and may wait.
func (h *Hasher) Limits() admission.Limits { return h.turns.Limits() }

// Stats are the counters of a Hasher.
type Stats struct {
	admission.Stats        // of passwords being hashed and waiting
	Rounds          uint64 // rounds of bcrypt that were computed: 2 to the power of the cost for each password
}

// Stats returns the counters.
func (h *Hasher) Stats() Stats { return Stats{h.turns.Stats(), h.rounds.Load()} }

// Hash hashes a password. It may wait, since only a few passwords are hashed at a time.
func (h *Hasher) Hash(ctx context.Context, plain string) (hash string, err error) {
	err = h.inTurn(ctx, h.cost, func() error {
		b, err := bcrypt.GenerateFromPassword([]byte(plain), h.cost)
		hash = string(b)
		return err
	})
	return hash, err
}

// Same reports whether hash is the hash of a password. It does the same work if hash is invalid, as that of a user who
// does not exist, or the password is too long; so the time that it takes does not tell. It may wait, as Hash does.
func (h *Hasher) Same(ctx context.Context, hash, plain string) (same bool, err error) {
	fit := len(plain) <= MaxLength
	if !fit {
		plain = plain[:MaxLength]
	}
	against := []byte(hash)
	cost, err := bcrypt.Cost(against)
	if err != nil || cost > maxCost {
		against, cost, fit = h.nobody, h.cost, false
	}
	err = h.inTurn(ctx, cost, func() error {
		same = bcrypt.CompareHashAndPassword(against, []byte(plain)) == nil && fit
		return nil
	})
	return same, err
}

// errWaiting is the answer to a client of which MaxWaiting passwords wait.
var errWaiting = &apierror.Error{
	Status: 429, Name: "RateLimitError", Reason: apierror.Passwords,
	Message: fmt.Sprintf(
		"Too many requests, please try again later. %d passwords from this address wait to be hashed, and no more may.",
		MaxWaiting),
}

// inTurn waits until it is the turn of the client in ctx, and then calls f. It returns an error if ctx ends before.
func (h *Hasher) inTurn(ctx context.Context, cost int, f func() error) error {
	turn := h.turns.Share(admission.ClientOf(ctx))
	defer turn.Close()
	if err := turn.Acquire(ctx); errors.Is(err, admission.ErrWaiting) {
		return errWaiting
	} else if err != nil {
		return err
	}
	defer turn.Release()
	h.rounds.Add(1 << cost)
	return f()
}
