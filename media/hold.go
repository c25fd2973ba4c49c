package media

import (
	"context"
	"fmt"
	"sync"
)

// held keeps files where they are while somebody copies them.
type held struct {
	begin   sync.RWMutex // held shared by who replaces a file, so that none is half replaced when holding begins
	holders int
	free    chan struct{} // closed when the last holder lets go; nil while there is none
	later   []removal
}

// A removal is files that go once nobody holds them, and the note of that.
type removal struct {
	storage Storage
	names   []string
	note    string
}

// Hold keeps all files as they are until release is called: files of documents that are deleted meanwhile stay until then, and
// who replaces one waits.
func (l *Library) Hold() (release func()) {
	l.held.begin.Lock()
	defer l.held.begin.Unlock()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.held.holders++; l.held.holders == 1 {
		l.held.free = make(chan struct{})
	}
	return l.release
}

func (l *Library) release() {
	l.mu.Lock()
	var later []removal
	if l.held.holders--; l.held.holders == 0 {
		close(l.held.free)
		l.held.free = nil
		later, l.held.later = l.held.later, nil
	}
	l.mu.Unlock()
	for _, r := range later {
		l.drop(context.Background(), r)
	}
}

// unheld waits until nobody holds the files; nobody can then before done is called.
func (l *Library) unheld(ctx context.Context) (done func(), err error) {
	for {
		l.held.begin.RLock()
		l.mu.Lock()
		free := l.held.free
		l.mu.Unlock()
		if free == nil {
			return l.held.begin.RUnlock, nil
		}
		l.held.begin.RUnlock()
		select {
		case <-free:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// discard removes files that no document names any more, now or when nobody holds them.
func (l *Library) discard(ctx context.Context, r removal) {
	l.mu.Lock()
	if l.held.holders > 0 {
		l.held.later = append(l.held.later, r)
		l.mu.Unlock()
		return
	}
	l.mu.Unlock()
	l.drop(ctx, r)
}

// drop removes files and, when that is done, the note of them: what remains is removed at the next start.
func (l *Library) drop(ctx context.Context, r removal) {
	err := r.storage.Delete(ctx, r.names)
	if err == nil {
		err = l.forget(r.note)
	}
	if err != nil {
		l.failed(fmt.Errorf("remove the files of a deleted document: %w", err))
	}
}
