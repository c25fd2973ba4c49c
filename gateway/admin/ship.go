package admin

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path/filepath"
	"sync"
	"time"

	"lectern/backup"
	"lectern/internal/objects"
	"lectern/store"
)

// ShipOptions say how to write a continuous backup.
type ShipOptions struct {
	To     objects.Store
	Every  time.Duration // how long after a base the next one is taken
	Keep   time.Duration // each state of this time can be restored
	Report func(backup.Progress)
}

// Ship writes a continuous backup of the project until ctx ends. It asks the server that runs on the data directory,
// and waits for one while none runs.
func (d *Directory) Ship(ctx context.Context, o ShipOptions) error {
	if node, err := d.IsNode(); err != nil {
		return err
	} else if !node { // a node need not have definitions beside it
		if _, err := d.Load(); err != nil {
			return err
		}
	}
	s := &backup.Shipper{From: shipped{d}, To: o.To, Every: o.Every, Keep: o.Keep, Report: o.Report}
	return s.Run(ctx)
}

// shipped is the project as the server on its data directory shows it. It connects anew for each call, since the
// server may be started again.
type shipped struct{ d *Directory }

var _ backup.Source = shipped{}

// do connects to the server and calls f.
func (s shipped) do(ctx context.Context, do func(*remote) error) error {
	r, err := dial(ctx, s.d.DataPath())
	if err != nil {
		return fmt.Errorf("%w; start it with %s", err, s.d.Command("serve"))
	}
	return errors.Join(do(r), r.Close())
}

// Uploads implements backup.Source.
func (s shipped) Uploads() string { return filepath.Join(s.d.DataPath(), UploadsName) }

// Base implements backup.Source.
func (s shipped) Base(ctx context.Context, put func(backup.Base, io.Reader) error) error {
	return s.do(ctx, func(r *remote) error {
		return r.do(ctx, http.MethodGet, "/base", nil, func(body io.Reader) error {
			var begin bytes.Buffer // what was read to find the head
			base, err := readBase(io.TeeReader(body, &begin))
			if err != nil {
				return err
			}
			return put(base, io.MultiReader(&begin, body))
		})
	})
}

// readBase reads the head of a backup.
func readBase(r io.Reader) (b backup.Base, err error) {
	archive := tar.NewReader(r)
	if _, err := archive.Next(); err != nil {
		return b, err
	}
	var head backupHead
	if err := json.NewDecoder(io.LimitReader(archive, 4096)).Decode(&head); err != nil {
		return b, err
	}
	b.Time = head.Time
	b.Position, err = store.ParsePosition(head.Position)
	return b, err
}

// Log implements backup.Source.
func (s shipped) Log(ctx context.Context, after store.Position, next func(backup.Update) error) error {
	return s.do(ctx, func(r *remote) error {
		return r.do(ctx, http.MethodGet, "/log?after="+url.QueryEscape(after.String()), nil,
			func(body io.Reader) error {
				for updates := backup.NewUpdateReader(body); ; {
					u, err := updates.Next()
					if err != nil {
						return fmt.Errorf("the server ended the log: %w", err)
					}
					if err := next(u); err != nil {
						return err
					}
				}
			})
	})
}

// Pin implements backup.Source.
func (s shipped) Pin(ctx context.Context) (unpin func(), err error) {
	ctx, cancel := context.WithCancel(ctx)
	pinned, ended := make(chan struct{}), make(chan error, 1)
	go func() {
		ended <- s.do(ctx, func(r *remote) error {
			return r.do(ctx, http.MethodGet, "/pin", nil, func(body io.Reader) error {
				close(pinned)
				_, err := io.Copy(io.Discard, body)
				return err
			})
		})
	}()
	select {
	case <-pinned:
		return sync.OnceFunc(func() { cancel(); <-ended }), nil
	case err := <-ended:
		cancel()
		return nil, err
	}
}
