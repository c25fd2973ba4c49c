package media

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path"
	"runtime"
	"strconv"
	"sync/atomic"
	"time"

	"lectern/documents/apierror"
	"lectern/internal/budget"
	"lectern/internal/ctxio"
	"lectern/internal/diskcache"
	"lectern/media/images"
)

const (
	// variantWait is the wait of variants.
	variantWait = 10 * time.Second
	// variantTime is how long making an image on request may take, with all waiting.
	variantTime = 30 * time.Second
	// variantVersion is part of the keys of cached images. Increase it when the same parameters are to give another
	// image.
	variantVersion = 2
)

// variants makes images on request and caches them on disk.
type variants struct {
	settings ImageSettings
	cache    *diskcache.Cache
	limits   imageLimits // apart from those of uploads, so that neither keeps the other waiting
	flights  flights
	wait     time.Duration // how long an image may wait for its turn and for memory
	made     atomic.Int64
	cached   atomic.Int64
	failing  atomic.Bool // the last attempt to cache an image failed
}

// openVariants opens the cache in a directory. If the settings allow no images on request, it removes that directory,
// which an earlier run may have left, and returns nil.
func openVariants(s ImageSettings, dir string) (*variants, error) {
	switch {
	case !s.enabled() && dir == "":
		return nil, nil
	case !s.enabled():
		if err := os.RemoveAll(dir); err != nil {
			return nil, fmt.Errorf("remove the image cache: %w", err)
		}
		return nil, nil
	case dir == "":
		return nil, errors.New("open the image cache: no directory is given")
	}
	cache, err := diskcache.Open(dir, s.Cache)
	if err != nil {
		return nil, fmt.Errorf("open the image cache: %w", err)
	}
	return &variants{settings: s, cache: cache, limits: newImageLimits(runtime.GOMAXPROCS(0)), wait: variantWait}, nil
}

// ImageStats are the counters of images on request.
type ImageStats struct {
	Made   int64 // images that were decoded, scaled and encoded
	Cached int64 // requests that were answered from the cache
	Cache  diskcache.Stats
}

// ImageStats returns the counters of images on request. All are zero if the settings allow none.
func (l *Library) ImageStats() ImageStats {
	if l.variants == nil {
		return ImageStats{}
	}
	return ImageStats{l.variants.made.Load(), l.variants.cached.Load(), l.variants.cache.Stats()}
}

// requested returns the variant of a file that a query string asks for, or nil if it asks for the file itself.
func (s *variants) requested(query, name string) (*Variant, error) {
	if s == nil {
		return nil, nil
	}
	v, signature, err := parseVariant(query)
	if v == nil || err != nil {
		return nil, err
	}
	if err := s.settings.check(v, name, signature); err != nil {
		return nil, err
	}
	*v = v.normal()
	return v, nil
}

// hasVariants reports whether variants can be made of a file of this kind that begins with head. Animations, SVG and
// files that are no images are served as they are.
func hasVariants(k kind, head []byte) bool {
	switch k.content {
	case "image/jpeg", "image/png":
		return true
	case "image/webp":
		animated := len(head) > 20 && string(head[12:16]) == "VP8X" && head[20]&2 != 0
		return !animated
	}
	return false
}

// etag returns the ETag of a variant of a file, without quotes. It tells all variants of all contents of the file
// apart.
func (v *Variant) etag(original string) string {
	sum := sha256.Sum256([]byte(strconv.Itoa(variantVersion) + original + v.query()))
	return hex.EncodeToString(sum[:16])
}

// keysOf returns the prefix of the keys of all variants of a file.
func keysOf(name string) string {
	sum := sha256.Sum256([]byte(name))
	return hex.EncodeToString(sum[:16]) + "-"
}

// forgetVariants removes the variants of files whose contents were replaced or deleted.
func (l *Library) forgetVariants(names ...string) {
	if l.variants == nil {
		return
	}
	for _, name := range names {
		if err := l.variants.cache.RemovePrefix(keysOf(name)); err != nil {
			l.failed(fmt.Errorf("remove the cached images of %s: %w", name, err))
		}
	}
}

// An origin is the file that a variant is made of.
type origin struct {
	name     string
	etag     string
	modified time.Time
}

// serveVariant answers a request for a variant of a file.
func (l *Library) serveVariant(w http.ResponseWriter, r *http.Request, of origin, v *Variant) error {
	etag := v.etag(of.etag)
	key := keysOf(of.name) + etag
	content, ok := l.variants.cache.Get(key)
	if ok {
		l.variants.cached.Add(1)
	} else {
		data, err := l.variants.flights.do(r.Context(), key, func(ctx context.Context) ([]byte, error) {
			return l.makeVariant(ctx, of, key, v)
		})
		if errors.Is(err, errBusy) {
			w.Header().Set("Retry-After", "1")
		}
		if err != nil {
			return err
		}
		if len(data) == 0 {
			return l.serveOriginal(w, r, of)
		}
		if content, ok = l.variants.cache.Get(key); !ok {
			return l.serveUncached(w, r, data, of, etag)
		}
	}
	defer content.Close()
	if content.Size() == 0 {
		return l.serveOriginal(w, r, of)
	}
	return l.serveImage(w, r, content, of, etag)
}

// serveOriginal serves a file of which no variant can be made.
func (l *Library) serveOriginal(w http.ResponseWriter, r *http.Request, of origin) error {
	o, err := l.OpenFile(r.Context(), of.name)
	if errors.Is(err, fs.ErrNotExist) {
		return apierror.NotFound()
	}
	if err != nil {
		return err
	}
	defer o.Close()
	k, err := kindOfFile(o, path.Ext(of.name))
	if err != nil {
		return err
	}
	return l.serve(w, r, o, k, o.ETag, o.Modified)
}

// serveUncached serves a variant that is not in the cache, because it is too large or the disk is full.
func (l *Library) serveUncached(w http.ResponseWriter, r *http.Request, data []byte, of origin, etag string) error {
	if len(data) > budget.Unreserved {
		memory := l.memory.Reservation()
		if err := memory.Grow(int64(len(data))); err != nil {
			return err
		}
		defer memory.Release()
	}
	return l.serveImage(w, r, bytes.NewReader(data), of, etag)
}

func (l *Library) serveImage(w http.ResponseWriter, r *http.Request, content interface {
	io.ReadSeeker
	io.ReaderAt
}, of origin, etag string) error {
	k, err := kindOfFile(content, "")
	if err != nil {
		return err
	}
	return l.serve(w, r, content, k, `"`+etag+`"`, of.modified)
}

var (
	errBusy    = unavailable(apierror.Images, "too many images are being made, try again")
	errTooSlow = unavailable(apierror.Images, "making the image took longer than "+variantTime.String())
	errStale   = unavailable(apierror.Replaced, "the file was replaced during the request, try again")
)

func unavailable(reason apierror.Reason, message string) *apierror.Error {
	return &apierror.Error{Status: 503, Name: "ServiceUnavailableError", Message: message, NoDetails: true,
		Reason: reason}
}

// makeVariant makes a variant and caches it.
func (l *Library) makeVariant(ctx context.Context, of origin, key string, v *Variant) ([]byte, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, variantTime, errTooSlow)
	defer cancel()
	data, err := l.renderVariant(ctx, of, v)
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		return nil, err
	}
	if len(data) > 0 {
		l.variants.made.Add(1)
	}
	err = l.variants.cache.Add(key, data)
	if failing := err != nil; l.variants.failing.Swap(failing) != failing && failing {
		l.failed(fmt.Errorf("images on request are served and not cached: %w", err))
	}
	// If the file was replaced or deleted meanwhile, forgetVariants may have been called before the variant was added.
	if !l.isCurrent(ctx, of) {
		l.forgetVariants(of.name)
	}
	return data, nil
}

// isCurrent reports whether a file still has the same content.
func (l *Library) isCurrent(ctx context.Context, of origin) bool {
	o, err := l.OpenFile(ctx, of.name)
	if err != nil {
		return false
	}
	defer o.Close()
	return o.ETag == of.etag
}

// renderVariant reads a file, and returns a variant of it as the bytes of an image file: none if the file cannot be
// decoded.
func (l *Library) renderVariant(ctx context.Context, of origin, v *Variant) ([]byte, error) {
	o, err := l.OpenFile(ctx, of.name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, apierror.NotFound()
	}
	if err != nil {
		return nil, err
	}
	defer o.Close()
	if o.ETag != of.etag {
		return nil, errStale
	}
	k, err := kindOfFile(o, "")
	if err != nil {
		return nil, err
	}
	p, err := images.Read(o, k.image())
	switch {
	case p != nil && p.Pixels() > l.settings.PixelLimit:
		return nil, l.tooManyPixels()
	case err == nil && p != nil:
		var data []byte
		if data, err = l.renderPicture(ctx, o, p, v); err == nil {
			return data, nil
		}
	}
	if errors.Is(err, images.ErrUndecodable) {
		return nil, nil
	}
	return nil, err
}

func (l *Library) tooManyPixels() error {
	return apierror.Application("the image has, or would have, more than " +
		strconv.FormatInt(l.settings.PixelLimit, 10) + " pixels")
}

// renderPicture does the work of renderVariant for an image whose header was read.
func (l *Library) renderPicture(ctx context.Context, file io.ReaderAt, p *images.Picture, v *Variant) ([]byte, error) {
	at := v.layout(p.Size())
	if at.Pixels() > l.settings.PixelLimit {
		return nil, l.tooManyPixels()
	}
	form := cmp.Or(v.Format, p.Format())
	done, err := l.reserveTurn(ctx, p.MemoryToRender(at, form))
	if err != nil {
		return nil, err
	}
	defer done()
	m, err := p.Decode(ctx, file)
	if err != nil {
		return nil, err
	}
	shown, err := m.Render(ctx, at)
	if err != nil {
		return nil, err
	}
	if v.Format == "" {
		form = m.FormatFor(shown)
	}
	var out bytes.Buffer
	err = m.Write(ctxio.NewWriter(ctx, &out), form, shown)
	return out.Bytes(), err
}

// reserveTurn waits, for a bounded time, until a variant that takes this many bytes may be made. done ends the
// reservation.
func (l *Library) reserveTurn(ctx context.Context, bytes int64) (done func(), err error) {
	waiting, cancel := context.WithTimeout(ctx, l.variants.wait)
	defer cancel()
	done, err = l.reserveImage(waiting, l.variants.limits, bytes)
	if waiting.Err() != nil && err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, errBusy
	}
	return done, err
}
