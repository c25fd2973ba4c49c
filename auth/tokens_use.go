package auth

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"lectern/documents"
	"lectern/jsontree"
	"lectern/store"
)

// useInterval is how exactly the last use of a token is known: it is written down at most this often.
const useInterval = time.Hour

// noteUse has the use of a token written down, unless that was done within useInterval. It never waits: when the writer is
// busy, the next use is noted instead.
func (t *Tokens) noteUse(e *entry, now int64) {
	last := e.lastUsed.Load()
	if now-last < int64(useInterval/time.Second) || !e.lastUsed.CompareAndSwap(last, now) {
		return
	}
	select {
	case t.used <- e:
	default:
		e.lastUsed.Store(last)
	}
}

// writeLastUses writes down uses until ctx ends, and then those that are waiting.
func (t *Tokens) writeLastUses(ctx context.Context) {
	defer close(t.done)
	for {
		select {
		case e := <-t.used:
			t.writeLastUse(e)
		case <-ctx.Done():
			for {
				select {
				case e := <-t.used:
					t.writeLastUse(e)
				default:
					return
				}
			}
		}
	}
}

func (t *Tokens) writeLastUse(e *entry) {
	data := jsontree.NewObject()
	data.Set("lastUsedAt", time.Unix(e.lastUsed.Load(), 0).UTC().Format(timeLayout))
	err := t.o.Documents.Update(context.Background(), documents.Write{
		Type: t.typ, DocumentID: e.id, Access: documents.FullAccess, Data: data,
	})
	var missing *documents.Error
	if errors.As(err, &missing) && missing.Status == http.StatusNotFound {
		return // revoked in the meantime
	}
	if errors.Is(err, store.ErrRedefined) {
		return // its next use is noted under the new definitions
	}
	if err != nil {
		t.o.Failed(fmt.Errorf("note the last use of an API token: %w", err))
	}
}
