package media

import (
	"context"
	"fmt"
	"sync"
)

// pins counts the callers, such as a running backup, that need all files to stay as they are.
type pins struct {
	replacing sync.RWMutex // read-locked during a replacement, so that Pin waits for its end
	count     int
	free      chan struct{} // closed by the last unpin; nil if nothing is pinned
	later     []removal
}

// A removal lists files to delete as soon as nothing is pinned, and their journal entry.
type removal struct {
	storage Storage
	names   []string
	entry   string
}

// Pin keeps all files as they are until unpin is called. The files of documents that are deleted in the meantime are
// deleted then, and replacements wait.
func (l *Library) Pin() (unpin func()) {
	l.pins.replacing.Lock()
	defer l.pins.replacing.Unlock()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.pins.count++; l.pins.count == 1 {
		l.pins.free = make(chan struct{})
	}
	return l.unpin
}

func (l *Library) unpin() {
	l.mu.Lock()
	var later []removal
	if l.pins.count--; l.pins.count == 0 {
		close(l.pins.free)
		l.pins.free = nil
		later, l.pins.later = l.pins.later, nil
	}
	l.mu.Unlock()
	for _, r := range later {
		l.drop(context.Background(), r)
	}
}

// waitUnpinned waits until nothing is pinned. Pin then waits until done is called.
func (l *Library) waitUnpinned(ctx context.Context) (done func(), err error) {
	for {
		l.pins.replacing.RLock()
		l.mu.Lock()
		free := l.pins.free
		l.mu.Unlock()
		if free == nil {
			return l.pins.replacing.RUnlock, nil
		}
		l.pins.replacing.RUnlock()
		select {
		case <-free:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// discard deletes the files of a removal, at once or after the last unpin.
func (l *Library) discard(ctx context.Context, r removal) {
	l.mu.Lock()
	if l.pins.count > 0 {
		l.pins.later = append(l.pins.later, r)
		l.mu.Unlock()
		return
	}
	l.mu.Unlock()
	l.drop(ctx, r)
}

// drop deletes the files of a removal and then its journal entry. If that fails, the next start tries again.
func (l *Library) drop(ctx context.Context, r removal) {
	err := r.storage.Delete(ctx, r.names)
	l.forgetVariants(r.names...)
	if err == nil {
		err = l.forget(r.entry)
	}
	if err != nil {
		l.failed(fmt.Errorf("remove the files of a deleted document: %w", err))
	}
}
