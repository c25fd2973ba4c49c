package documents

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"

	"golang.org/x/crypto/bcrypt"

	"lectern/documents/apierror"
	"lectern/internal/admission"
)

// tooLong is the message for a password that is longer than bcrypt can hash.
const tooLong = "Password must be less than 73 bytes"

// hashCost is the bcrypt cost of new hashes. nobodysHash is a hash of that cost. If there is no hash to compare with, for example
// because the user does not exist, a password is compared with nobodysHash, so that the answer takes as long.
var (
	hashCost    = bcrypt.DefaultCost
	nobodysHash = []byte("$2a$10$z39LUjMA.G5OwZ48Uw.c5ekMZfbA0ZGZxGsHoUtD/1ThteVt0myNO")
)

// hashWork is the number that HashWork returns.
var hashWork atomic.Uint64

// HashWork returns how many rounds of bcrypt this process has computed. Tests use it to check that a login does the same work
// whether or not the user exists.
func HashWork() uint64 { return hashWork.Load() }

// SetHashCost changes the cost of new hashes, for tests that create many users. No other function of this package may run at
// the same time.
func SetHashCost(cost int) error {
	hash, err := bcrypt.GenerateFromPassword([]byte("nobody"), cost)
	if err != nil {
		return err
	}
	hashCost, nobodysHash = cost, hash
	return nil
}

// HashPassword hashes a password. It may wait, since only a few passwords are hashed at a time.
func HashPassword(ctx context.Context, plain string) (hash string, err error) {
	err = hashingTurn(ctx, hashCost, func() error {
		h, err := bcrypt.GenerateFromPassword([]byte(plain), hashCost)
		hash = string(h)
		return err
	})
	return hash, err
}

// SamePassword reports whether hash is the hash of a password. It does the same work if hash is invalid or the password is too
// long. It may wait, as HashPassword does.
func SamePassword(ctx context.Context, hash, plain string) (same bool, err error) {
	fit := len(plain) <= maxPassword
	if !fit {
		plain = plain[:maxPassword]
	}
	against := []byte(hash)
	cost, err := bcrypt.Cost(against)
	if err != nil || cost > maxCost {
		against, cost, fit = nobodysHash, hashCost, false
	}
	err = hashingTurn(ctx, cost, func() error {
		same = bcrypt.CompareHashAndPassword(against, []byte(plain)) == nil && fit
		return nil
	})
	return same, err
}

// maxCost is the maximum bcrypt cost of an imported hash.
const maxCost = 14

// hashing limits how many passwords are hashed at a time, because each keeps a processor busy. The clients whose passwords wait
// (admission.ClientOf) take turns, so that a client with many passwords does not delay the others.
var hashing = admission.New(admission.Limits{Places: max(1, runtime.GOMAXPROCS(0)-1), Waiting: MaxHashesWaiting})

// MaxHashesWaiting is the maximum number of passwords of one client that wait to be hashed.
const MaxHashesWaiting = 32

// errHashesWaiting is the answer to a client that exceeds MaxHashesWaiting.
var errHashesWaiting = &apierror.Error{Status: 429, Name: "RateLimitError", Reason: apierror.Passwords,
	Message: fmt.Sprintf("Too many requests, please try again later. %d passwords from this address wait to be hashed, and no more may.", MaxHashesWaiting)}

// HashingLimits returns how many passwords may be hashed and may wait.
func HashingLimits() admission.Limits { return hashing.Limits() }

// Hashing returns the counters of passwords being hashed and waiting.
func Hashing() admission.Stats { return hashing.Stats() }

// hashingTurn waits until it is the turn of the client in ctx, and then calls f. It returns an error if ctx ends before.
func hashingTurn(ctx context.Context, cost int, f func() error) error {
	turn := hashing.Share(admission.ClientOf(ctx))
	defer turn.Close()
	if err := turn.Acquire(ctx); errors.Is(err, admission.ErrWaiting) {
		return errHashesWaiting
	} else if err != nil {
		return err
	}
	defer turn.Release()
	hashWork.Add(1 << cost)
	return f()
}
