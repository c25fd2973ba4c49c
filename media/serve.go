package media

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"path"
	"strings"

	"lectern/documents/apierror"
)

// servedPolicy is what every file says to a browser that shows it by itself: run nothing, load nothing, be of no origin.
const servedPolicy = "default-src 'none'; style-src 'unsafe-inline'; sandbox"

// ServeFile answers GET and HEAD of a stored file: whole or in ranges, or not at all when the client has it already. The
// error of one that is not there is an *apierror.Error 404.
func (l *Library) ServeFile(w http.ResponseWriter, r *http.Request, name string) error {
	o, err := l.open(r.Context(), name)
	if errors.Is(err, fs.ErrNotExist) {
		return apierror.NotFound()
	}
	if err != nil {
		return err
	}
	defer o.Close()
	head := make([]byte, min(o.Size, sniffed))
	if _, err := io.ReadFull(o, head); err != nil {
		return err
	}
	if _, err := o.Seek(0, io.SeekStart); err != nil {
		return err
	}
	k := kindOf(head, path.Ext(name))
	h := w.Header()
	h.Set("Content-Type", k.served)
	if h.Get("Cache-Control") == "" { // unless what stands around this has said how long it may be kept
		h.Set("Cache-Control", l.settings.CacheControl)
	}
	h.Set("Content-Security-Policy", servedPolicy)
	h.Set("ETag", o.ETag)
	if k.active {
		h.Set("Content-Disposition", "attachment")
	}
	if r.Header.Get("Range") != "" && !isRange(r.Header.Get("Range")) {
		r = r.Clone(r.Context())
		r.Header.Del("Range")
	}
	http.ServeContent(w, r, "", o.Modified, o)
	return nil
}

// open opens a file where new ones are stored, or where older ones lie that were uploaded before that was changed.
func (l *Library) open(ctx context.Context, name string) (*Object, error) {
	if !isStoredName(name) {
		return nil, fs.ErrNotExist
	}
	o, err := l.storage.Open(ctx, name)
	if l.storage != Storage(l.local) && err != nil {
		if old, missing := l.local.Open(ctx, name); missing == nil {
			return old, nil
		}
	}
	return o, err
}

// isRange reports whether a header Range is one: lists of first-last, first- and -length. What is none is not heeded.
func isRange(header string) bool {
	list, ok := strings.CutPrefix(header, "bytes=")
	if !ok {
		return false
	}
	for part := range strings.SplitSeq(list, ",") {
		first, last, ok := strings.Cut(strings.TrimSpace(part), "-")
		if !ok || !digits(first) || !digits(last) || first+last == "" {
			return false
		}
	}
	return true
}

func digits(s string) bool {
	return len(s) < 19 && !strings.ContainsFunc(s, func(r rune) bool { return r < '0' || r > '9' })
}
