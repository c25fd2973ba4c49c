package media

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"path"
	"time"

	"lectern/documents/apierror"
	"lectern/internal/etag"
)

// servedPolicy is the Content-Security-Policy of every file: a browser that opens it runs no script, loads nothing and
// treats it as of no origin.
const servedPolicy = "default-src 'none'; style-src 'unsafe-inline'; sandbox"

// ServeFile answers GET and HEAD for a stored file, with ranges and conditional requests. If the query string asks for
// a variant of an image, it serves that. It returns an *apierror.Error, for example with status 404 for a file that
// does not exist, before it writes anything.
func (l *Library) ServeFile(w http.ResponseWriter, r *http.Request, name string) error {
	v, err := l.variants.requested(r.URL.RawQuery, name)
	if err != nil {
		return err
	}
	o, err := l.OpenFile(r.Context(), name)
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
	k := kindOf(head, o, path.Ext(name))
	if v != nil && hasVariants(k, head) {
		of := origin{name, o.ETag, o.Modified}
		o.Close() // a request that waits holds no file
		return l.serveVariant(w, r, of, v)
	}
	return l.serve(w, r, o, k, o.ETag, o.Modified)
}

// errOtherContent answers a read whose conditions name other content than the present. It is an error, and no work of
// http.ServeContent, because that would send it with the header Cache-Control of the content: a cache would show the
// error to others for a year.
var errOtherContent = &apierror.Error{Status: http.StatusPreconditionFailed, Name: "PreconditionFailedError",
	Message: "the file is not, or no longer, as the request expects it (If-Match, If-Unmodified-Since)"}

// serve answers a request with content of a kind.
func (l *Library) serve(w http.ResponseWriter, r *http.Request, content io.ReadSeeker, k kind, tag string,
	modified time.Time) error {
	if expectsOther(r.Header, tag, modified) {
		return errOtherContent
	}
	size, err := content.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	h := w.Header()
	if r, err = checkRange(h, r, size, tag, modified); err != nil {
		return err
	}
	h.Set("Content-Type", k.served)
	if h.Get("Cache-Control") == "" { // unless a middleware has set it
		h.Set("Cache-Control", l.settings.CacheControl)
	}
	h.Set("Content-Security-Policy", servedPolicy)
	h.Set("ETag", tag)
	if k.active {
		h.Set("Content-Disposition", "attachment")
	}
	http.ServeContent(w, r, "", modified, content)
	return nil
}

// expectsOther reports whether a read has a precondition that does not hold: If-Match or, without it,
// If-Unmodified-Since (RFC 9110, section 13.2.2).
func expectsOther(h http.Header, tag string, modified time.Time) bool {
	if match := h["If-Match"]; match != nil {
		return etag.Excludes(match, []byte(tag))
	}
	since, err := http.ParseTime(h.Get("If-Unmodified-Since"))
	return err == nil && !modified.IsZero() && modified.Truncate(time.Second).After(since)
}

// OpenFile opens a file, or a format of one, by the name that it is stored under: in the storage of new files or, if it
// is not there, in the directory, which may contain files from before the provider was changed. The error wraps
// fs.ErrNotExist if there is no such file.
func (l *Library) OpenFile(ctx context.Context, name string) (*Object, error) {
	if !isStoredName(name) {
		return nil, fs.ErrNotExist
	}
	o, err := l.storage.Open(ctx, name)
	if l.storage != l.local && err != nil {
		if old, missing := l.local.Open(ctx, name); missing == nil {
			return old, nil
		}
	}
	return o, err
}
