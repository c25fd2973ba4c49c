package admin

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/url"

	"lectern/gateway/internal/audit"
	"lectern/store"
)

// An AuditFilter says which entries of the log Audit writes.
type AuditFilter = audit.Filter

// Audit implements Project. It holds no snapshot while it writes.
func (l *Local) Audit(ctx context.Context, filter AuditFilter, w io.Writer) error {
	a, err := filter.Reader()
	if err != nil {
		return err
	}
	var at *store.Position
	for {
		var lines bytes.Buffer
		var next store.Position
		done := false
		err := l.View(ctx, func(c Content) error {
			return c.Store.View(func(s *store.Snapshot) (err error) {
				lines.Reset()
				next, done, err = a.WriteLines(s, at, &lines)
				return err
			})
		})
		if err != nil {
			return err
		}
		if _, err := w.Write(lines.Bytes()); err != nil || done {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		at = &next
	}
}

// VerifyLog implements Project.
func (l *Local) VerifyLog(ctx context.Context, expect string) (chain store.Chain, err error) {
	var expected *store.EntryHash
	if expect != "" {
		h, err := store.ParseEntryHash(expect)
		if err != nil {
			return chain, err
		}
		expected = &h
	}
	err = l.View(ctx, func(c Content) error {
		return c.Store.View(func(s *store.Snapshot) error {
			chain, err = s.VerifyChain(expected)
			return err
		})
	})
	return chain, err
}

func (r *remote) Audit(ctx context.Context, filter AuditFilter, w io.Writer) error {
	if _, err := filter.Reader(); err != nil {
		return err
	}
	return r.do(ctx, http.MethodGet, "/audit?"+filter.Query(), nil, copyTo(w))
}

func (r *remote) VerifyLog(ctx context.Context, expect string) (store.Chain, error) {
	return call[store.Chain](ctx, r, http.MethodGet, "/verify?expect="+url.QueryEscape(expect), nil)
}
