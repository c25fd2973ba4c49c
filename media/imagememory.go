package media

import (
	"context"
	"runtime"

	"golang.org/x/sync/semaphore"

	"lectern/documents/apierror"
)

// roomForImages limits the bytes of all images that are decoded at one time. An image that takes more is decoded alone.
const roomForImages = 96 << 20

// imageLimits limits how many images are decoded at one time, and how many bytes they take together. Requests wait in
// the order of their arrival.
type imageLimits struct{ count, bytes *semaphore.Weighted }

func newImageLimits(count int) imageLimits {
	return imageLimits{semaphore.NewWeighted(int64(count)), semaphore.NewWeighted(roomForImages)}
}

// acquire waits until an image that takes this many bytes may be decoded, or until ctx ends.
func (l imageLimits) acquire(ctx context.Context, bytes int64) (release func(), err error) {
	bytes = min(bytes, roomForImages)
	if err := l.count.Acquire(ctx, 1); err != nil {
		return nil, err
	}
	if err := l.bytes.Acquire(ctx, bytes); err != nil {
		l.count.Release(1)
		return nil, err
	}
	return func() {
		l.bytes.Release(bytes)
		l.count.Release(1)
	}, nil
}

// collectFrom is the size from which the garbage collector runs as soon as an image is no longer needed. By itself it
// would wait until there is several times as much garbage.
const collectFrom = 16 << 20

// reserveImage waits until an image that takes this many bytes may be decoded, and reserves them in the memory budget
// of all requests. done releases them. limits are those of the kind of work.
func (l *Library) reserveImage(ctx context.Context, limits imageLimits, bytes int64) (done func(), err error) {
	if !l.memory.Fits(bytes) {
		return nil, apierror.Application("File is not a valid image: to decode it takes " + readable(bytes) +
			", more than limits.memory (" + readable(l.memory.Limit()) + ") leaves for one request")
	}
	release, err := limits.acquire(ctx, bytes)
	if err != nil {
		return nil, err
	}
	memory := l.memory.Reservation()
	if err := memory.Wait(ctx, bytes); err != nil {
		release()
		return nil, err
	}
	return func() {
		if bytes >= collectFrom {
			runtime.GC()
		}
		memory.Release()
		release()
	}, nil
}
