package media

import (
	"context"
	"runtime"

	"golang.org/x/sync/semaphore"

	"lectern/documents/apierror"
)

// roomForImages limits the bytes of all images that are decoded at one time. An image that takes more is decoded alone.
const roomForImages = 96 << 20

// imageLimits limits how many images are decoded at one time, and how many bytes they take together. Requests wait in the order
// of their arrival.
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

// collectFrom is the size from which the garbage collector runs as soon as an image is no longer needed. By itself it would
// wait until there is several times as much garbage.
const collectFrom = 16 << 20

// reserveImage waits until an image that takes this many bytes may be decoded, and reserves them in the memory budget of all
// requests. done releases them. limits are those of the kind of work.
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

// memory estimates how many bytes it takes to decode the image and to make images of a format from it, one after another, of which
// the largest has so many pixels.
func (p *picture) memory(largest int64, format string) int64 {
	made := int64(5 * 4) // bytes a pixel: scaled, turned, and the work of the encoder
	if format == "webp" {
		made = 15 * 4 // the encoder takes up to 51, measured with noise
	}
	bytes := int64(float64(p.pixels())*p.pixelBytes) + made*largest
	if p.profiled {
		bytes += 2 * maxProfile
	}
	return bytes
}

// frameBytes computes the result of jpegHead.pixelBytes from a frame header.
func frameBytes(frame []byte, progressive bool) float64 {
	components := int(frame[5])
	samples, wide, high := 0, 1, 1
	for i := range components {
		h, v := int(frame[6+3*i+1]>>4), int(frame[6+3*i+1]&15)
		samples += h * v
		wide, high = max(wide, h), max(high, v)
	}
	bytes := float64(samples) / float64(wide*high)
	if components == 1 {
		bytes = 1
	}
	if progressive {
		bytes *= 5
	}
	if components == 4 || components == 3 && frame[6] == 'R' && frame[9] == 'G' && frame[12] == 'B' {
		bytes += 4
	}
	return bytes
}
