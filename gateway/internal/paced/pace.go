package paced

import (
	"context"
	"io"

	"golang.org/x/time/rate"
)

// A Pace limits how many bytes a second all its Writers together write. Long answers that share one leave the
// processor, the disk and the network to other requests.
type Pace struct{ limiter *rate.Limiter }

// Burst is how many bytes the Writers of a Pace may write at once after a pause. It lets them keep the rate on a
// machine where other work delays them by some milliseconds.
const Burst = 4 * Part

// NewPace returns a Pace of so many bytes a second.
func NewPace(bytes int64) *Pace { return &Pace{rate.NewLimiter(rate.Limit(bytes), Burst)} }

// Writer returns an io.Writer to to. Its Write waits until the Pace allows the bytes, and fails when ctx ends.
func (p *Pace) Writer(ctx context.Context, to io.Writer) io.Writer {
	return &pacedWriter{ctx, p.limiter, to}
}

type pacedWriter struct {
	ctx     context.Context
	limiter *rate.Limiter
	to      io.Writer
}

func (p *pacedWriter) Write(b []byte) (written int, err error) {
	for len(b) > 0 {
		part := b[:min(len(b), Part)]
		if err := p.limiter.WaitN(p.ctx, len(part)); err != nil {
			return written, err
		}
		n, err := p.to.Write(part)
		written += n
		if err != nil {
			return written, err
		}
		b = b[n:]
	}
	return written, nil
}
