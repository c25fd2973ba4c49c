package auth

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"lectern/documents"
	"lectern/documents/apierror"
	"lectern/documents/permission"
	"lectern/jsontree"
	"lectern/store"
)

// useInterval is how often the last uses of tokens are written down: what the store says is then less than a minute late, also
// where writing takes its time. A token that is not used costs no write.
const useInterval = 30 * time.Second

// LastUses are the last uses of API tokens, ahead of what the store says of them. When the definitions change, Tokens are opened
// anew while requests under way still use the former ones: both note uses here, and whichever can writes them down.
type LastUses struct {
	mu   sync.Mutex
	byID map[string]*lastUse // by documentId
}

// A lastUse is that of one token, in unix seconds; 0: never.
type lastUse struct {
	at     atomic.Int64
	stored atomic.Int64
}

// NewLastUses returns the uses of tokens of which nothing is known beside what the store says.
func NewLastUses() *LastUses { return &LastUses{byID: map[string]*lastUse{}} }

// of returns the last use of a token; the first time it is what the store says.
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

// note is what every request with a key does: memory is written to once a second.
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

// keepLastUses writes down uses now and then until ctx ends, and then those that are left.
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

// writeLastUse reports whether the use of a token need not be written again.
func (t *Tokens) writeLastUse(id string, at int64) bool {
	data := jsontree.NewObject()
	data.Set("lastUsedAt", time.Unix(at, 0).UTC().Format(timeLayout))
	err := t.o.Documents.Update(context.Background(), documents.Write{
		Type: t.typ, DocumentID: id, Access: permission.FullAccess, Data: data,
	})
	var missing *apierror.Error
	switch {
	case errors.As(err, &missing) && missing.Status == http.StatusNotFound: // revoked in the meantime
	case errors.Is(err, store.ErrRedefined): // the Tokens of the new definitions write it
		return false
	case documents.Unavailable(err) != nil: // the log knows; it is written when the store takes writes again
		return false
	case err != nil:
		t.o.Failed(fmt.Errorf("note the last use of an API token: %w", err))
		return false
	}
	return true
}
