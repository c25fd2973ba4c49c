package auth

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"lectern/contenttypes"
	"lectern/documents"
	"lectern/documents/apierror"
	"lectern/documents/permission"
	"lectern/jsontree"
	"lectern/store"
)

// useInterval is how often the last uses of tokens are stored, so that the store is less than a minute late even if
// writes are slow. Tokens that are not used cost no write.
const useInterval = 30 * time.Second

// LastUses holds the last uses of API tokens, which may be newer than those in the store. When definitions change, two
// Tokens share it for a while, because running requests still use the earlier one: both record uses, and either stores
// them.
type LastUses struct {
	mu   sync.Mutex
	byID map[string]*lastUse // by documentId
}

// A lastUse is the time of the last use of a token, in unix seconds; 0 means never.
type lastUse struct {
	at     atomic.Int64
	stored atomic.Int64
}

// NewLastUses returns an empty LastUses.
func NewLastUses() *LastUses { return &LastUses{byID: map[string]*lastUse{}} }

// of returns the last use of a token. On the first call for a token, that is the one in the store.
func (l *LastUses) of(tok Token) *lastUse {
	l.mu.Lock()
	defer l.mu.Unlock()
	u := l.byID[tok.ID]
	if u == nil {
		u = &lastUse{}
		if !tok.LastUsedAt.IsZero() {
			u.at.Store(tok.LastUsedAt.Unix())
			u.stored.Store(tok.LastUsedAt.Unix())
		}
		l.byID[tok.ID] = u
	}
	return u
}

func (l *LastUses) forget(id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.byID, id)
}

// note records a use. Every request with an API token calls it; it writes to memory at most once a second.
func (u *lastUse) note(now int64) {
	if u.at.Load() != now {
		u.at.Store(now)
	}
}

func (u *lastUse) time() time.Time {
	if at := u.at.Load(); at != 0 {
		return time.Unix(at, 0).UTC()
	}
	return time.Time{}
}

// keepLastUses stores new uses every useInterval until ctx ends, and then once more.
func (t *Tokens) keepLastUses(ctx context.Context) {
	defer close(t.done)
	tick := time.NewTicker(useInterval)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			t.writeLastUses()
		case <-ctx.Done():
			t.writeLastUses()
			return
		}
	}
}

func (t *Tokens) writeLastUses() {
	for _, tok := range t.table.Load().tokens {
		u := t.o.Uses.of(tok)
		at := u.at.Load()
		if at == u.stored.Load() {
			continue
		}
		if t.writeLastUse(tok.ID, at) {
			u.stored.Store(at)
		}
	}
}

// writeLastUse stores the use of a token. It returns false if the caller should try again later.
func (t *Tokens) writeLastUse(id string, at int64) bool {
	data := jsontree.NewObject()
	data.Set("lastUsedAt", time.Unix(at, 0).UTC().Format(contenttypes.TimeFormat))
	err := t.o.Documents.Update(context.Background(), documents.Write{
		Type: t.typ, DocumentID: id, Access: permission.FullAccess, Data: data,
	})
	var missing *apierror.Error
	switch {
	case errors.As(err, &missing) && missing.Status == http.StatusNotFound: // the token was revoked in the meantime
	case errors.Is(err, store.ErrRedefined): // the Tokens of the new definitions store it
		return false
	case documents.Unavailable(err) != nil: // the store has logged it; try again when it accepts writes
		return false
	case err != nil:
		t.o.Failed(fmt.Errorf("note the last use of an API token: %w", err))
		return false
	}
	return true
}
