package admin

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"slices"
	"time"

	"lectern/backup"
	"lectern/contenttypes"
	"lectern/media"
	"lectern/store"
	"lectern/store/frames"
)

const (
	// logPart is how many bytes of entries are sent at once.
	logPart = 1 << 20
	// logHeartbeat is how often a server without commits tells the position of its store.
	logHeartbeat = time.Second
)

// sendLog sends the entries of the log after a position, and those of later commits, until the client is gone. The
// client copies the uploaded files that they name from the disk, so a node of a cluster first gets those that it lacks.
func (c *Control) sendLog(w http.ResponseWriter, r *http.Request) {
	after, err := store.ParsePosition(r.URL.Query().Get("after"))
	if err != nil {
		writeError(w, err)
		return
	}
	ctx, control := r.Context(), http.NewResponseController(w)
	if m := c.Project.Current().Media; m != nil { // also the files of entries that the client got from another node
		if err := m.Complete(ctx); err != nil {
			writeError(w, err)
			return
		}
	}
	stop := context.AfterFunc(
		ctx, func() { _ = control.SetWriteDeadline(time.Now()) }) // a client that reads nothing does not keep the server from stopping
	defer stop()
	for first := true; ; first = false {
		committed := c.Project.Current().Store.NextCommit()
		part, last, err := c.Project.logPart(ctx, after)
		if err != nil {
			if first {
				writeError(w, err)
				return
			}
			panic(http.ErrAbortHandler) // the client asks again, and is told why
		}
		if _, err := w.Write(part); err != nil {
			return
		}
		if err := control.Flush(); err != nil {
			return
		}
		if last != after {
			after = last
			continue
		}
		heartbeat := time.NewTimer(logHeartbeat)
		select {
		case <-committed:
		case <-heartbeat.C:
		case <-ctx.Done():
		}
		heartbeat.Stop()
		if ctx.Err() != nil {
			return
		}
	}
}

// logPart returns an update with some entries after a position, and the position behind them.
func (l *Local) logPart(ctx context.Context, after store.Position) (part []byte, last store.Position, err error) {
	err = l.View(ctx, func(c Content) error {
		var uploads map[string]uint64
		err := c.Store.View(func(s *store.Snapshot) (err error) {
			part, last, uploads, err = appendLog(s, c, after)
			return err
		})
		if err != nil || len(uploads) == 0 {
			return err
		}
		return c.Media.Fetch(ctx, slices.Collect(maps.Keys(uploads)))
	})
	return part, last, err
}

// appendLog returns an update with some entries after a position of a snapshot, the position behind them, and the
// uploaded files that they name.
func appendLog(s *store.Snapshot, c Content,
	after store.Position) (part []byte, last store.Position, uploads map[string]uint64, err error) {
	end, err := s.Position()
	if err != nil {
		return nil, after, nil, err
	}
	entries, err := s.Entries(after)
	if err != nil {
		return nil, after, nil, err
	}
	uploads = map[string]uint64{}
	for e, err := range entries {
		if err != nil {
			return nil, after, nil, err
		}
		part = frames.AppendEntry(part, e)
		if err := addUploads(s, c, e, uploads); err != nil {
			return nil, after, nil, err
		}
		if after.Sequence = e.Sequence; len(part) >= logPart {
			break
		}
	}
	part, err = backup.AppendEnd(part, uploads, backup.Heartbeat{Position: end.String(), Time: time.Now().UTC()})
	return part, after, uploads, err
}

// addUploads adds the names of the files that an entry describes, as far as they still have documents.
func addUploads(s *store.Snapshot, c Content, e *store.Entry, names map[string]uint64) error {
	for _, change := range s.Changes(e) {
		if change.Type != contenttypes.FileUID || c.Media == nil {
			continue
		}
		files, err := media.LocalNames(s, c.Media.Type(), change.DocumentID)
		if err != nil {
			return err
		}
		for _, name := range files {
			names[name] = e.Sequence
		}
	}
	return nil
}

// pin keeps the uploaded files as they are until the client is gone. It answers when they are pinned.
func (c *Control) pin(w http.ResponseWriter, r *http.Request) {
	if m := c.Project.Current().Media; m != nil {
		if err := m.Recover(r.Context()); err != nil && !errors.Is(err, store.ErrRedefined) {
			writeError(w, err)
			return
		}
		defer m.Pin()()
	}
	w.WriteHeader(http.StatusOK)
	if err := http.NewResponseController(w).Flush(); err == nil {
		<-r.Context().Done()
	}
}

// lastEntryTime returns when the last entry of a snapshot's log was made, or now if the log does not tell.
func lastEntryTime(s *store.Snapshot, at store.Position) time.Time {
	if at.Sequence == 0 {
		return time.Now()
	}
	entries, err := s.Entries(store.Position{Epoch: at.Epoch, Sequence: at.Sequence - 1})
	if err != nil {
		return time.Now()
	}
	for e, err := range entries {
		if err == nil {
			return e.Time
		}
	}
	return time.Now()
}
