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

// tooLong is what is told of a password that bcrypt would cut.
const tooLong = "Password must be less than 73 bytes"

// hashCost is the work of a hash, as bcrypt counts it. nobodysHash is a hash of that cost: where there is no hash to compare a password
// with, it is compared with this one, so that the answer takes as long.
var (
	hashCost    = bcrypt.DefaultCost
	nobodysHash = []byte("$2a$10$z39LUjMA.G5OwZ48Uw.c5ekMZfbA0ZGZxGsHoUtD/1ThteVt0myNO")
)

// hashWork counts what is hashed; see HashWork.
var hashWork atomic.Uint64

// HashWork is how much has been hashed since the process began, in rounds of bcrypt. It is for tests: a login must do the same work
// whether or not there is such a user.
func HashWork() uint64 { return hashWork.Load() }

// SetHashCost changes the work of all hashes that are made from now on. It is for tests, which hash a lot and guard nothing, and
// must be called while nothing else is done.
func SetHashCost(cost int) error {
	hash, err := bcrypt.GenerateFromPassword([]byte("nobody"), cost)
	if err != nil {
		return err
	}
	hashCost, nobodysHash = cost, hash
	return nil
}

// HashPassword hashes a password when its turn has come: few are hashed at a time.
func HashPassword(ctx context.Context, plain string) (hash string, err error) {
	err = hashingTurn(ctx, hashCost, func() error {
		h, err := bcrypt.GenerateFromPassword([]byte(plain), hashCost)
		hash = string(h)
		return err
	})
	return hash, err
}

// SamePassword reports whether hash is that of a password. It does the same work where hash is none, or the password is too
// long to be anybody's, and takes its turn as HashPassword does.
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

// maxCost bounds the work that an imported hash may ask for.
const maxCost = 14

// hashing bounds how many passwords are hashed at a time: each keeps a processor busy for a while. The others wait, and the clients
// that they are hashed for (admission.ClientOf) take turns, so that whoever guesses many passwords keeps nobody else waiting.
var hashing = admission.New(admission.Limits{Places: max(1, runtime.GOMAXPROCS(0)-1), Waiting: MaxHashesWaiting})

// MaxHashesWaiting is how many passwords of one client may wait to be hashed.
const MaxHashesWaiting = 32

// errHashesWaiting is the answer to a client that has more passwords waiting.
var errHashesWaiting = &apierror.Error{Status: 429, Name: "RateLimitError",
	Message: fmt.Sprintf("Too many requests, please try again later. %d passwords from this address wait to be hashed, and no more may.", MaxHashesWaiting)}

// Hashing returns the counters of what is hashed, and waits for it.
func Hashing() admission.Stats { return hashing.Stats() }

// hashingTurn waits for the turn of the client that ctx knows, or until ctx ends, and calls f.
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
