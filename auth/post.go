package auth

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// A post does what ends in a mail after the answer has left, so that nobody learns from the answer, or from how long it takes,
// whether there is anybody to write to.
type post struct {
	*postman
	log     *slog.Logger
	work    chan func(context.Context) error
	closing sync.RWMutex
	closed  bool
	stop    context.CancelFunc
	done    sync.WaitGroup
}

const (
	maxPost     = 256              // pieces of work that wait
	postWorkers = 2                // done at a time
	postTime    = 60 * time.Second // for one
	postGrace   = 5 * time.Second  // to finish when the server stops
)

func newPost(p *postman, log *slog.Logger) *post {
	ctx, stop := context.WithCancel(context.Background())
	q := &post{postman: p, log: log, work: make(chan func(context.Context) error, maxPost), stop: stop}
	for range postWorkers {
		q.done.Go(func() {
			for f := range q.work {
				q.do(ctx, f)
			}
		})
	}
	return q
}

func (q *post) do(ctx context.Context, f func(context.Context) error) {
	ctx, cancel := context.WithTimeout(ctx, postTime)
	defer cancel()
	if err := f(ctx); err != nil {
		q.log.Error("a mail was not sent", "error", err)
	}
}

// later has f done. When too much waits it is not, which the log tells: a flood of requests must not fill the memory.
func (q *post) later(f func(context.Context) error) {
	q.closing.RLock()
	defer q.closing.RUnlock()
	if q.closed {
		return
	}
	select {
	case q.work <- f:
	default:
		q.log.Error("a mail was not sent", "error", "too many wait to be sent")
	}
}

func (q *post) close() {
	q.closing.Lock()
	q.closed = true
	close(q.work)
	q.closing.Unlock()
	late := time.AfterFunc(postGrace, q.stop)
	q.done.Wait()
	late.Stop()
	q.stop()
}
