package auth

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"lectern/store"
)

// A mailQueue does everything a mail needs (look the user up, store a code, send) after the answer was sent, so that neither the
// answer nor the time it takes tells whether there is such a user. When definitions change, the next Users take the queue over.
type mailQueue struct {
	log     *slog.Logger
	tasks   chan mailTask
	mu      sync.Mutex
	users   *Users        // of the definitions in force
	changed chan struct{} // closed when users is replaced
	closing sync.RWMutex
	closed  bool
	stop    context.CancelFunc
	workers sync.WaitGroup
}

// A mailTask sends one mail, if the user may get it as he is when the task runs. It is given the Users in force then, and runs again with the next
// ones when it fails because the definitions have changed.
type mailTask func(context.Context, *Users) error

const (
	maxMailTasks  = 256              // in the queue
	mailWorkers   = 2                // tasks that run at a time
	mailTaskTime  = 60 * time.Second // for one task
	mailCloseTime = 5 * time.Second  // for the tasks in the queue when the server stops
)

func newMailQueue(u *Users, log *slog.Logger) *mailQueue {
	ctx, stop := context.WithCancel(context.Background())
	q := &mailQueue{log: log, users: u, changed: make(chan struct{}), tasks: make(chan mailTask, maxMailTasks), stop: stop}
	for range mailWorkers {
		q.workers.Go(func() {
			for task := range q.tasks {
				q.run(ctx, task)
			}
		})
	}
	return q
}

func (q *mailQueue) run(ctx context.Context, task mailTask) {
	ctx, cancel := context.WithTimeout(ctx, mailTaskTime)
	defer cancel()
	for {
		users, changed := q.now()
		err := task(ctx, users)
		if errors.Is(err, store.ErrRedefined) {
			select {
			case <-changed:
				continue
			case <-ctx.Done():
			}
		}
		if err != nil {
			q.log.Error("a mail was not sent", "error", err)
		}
		return
	}
}

func (q *mailQueue) now() (users *Users, changed <-chan struct{}) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.users, q.changed
}

// handTo has the tasks in the queue run with other Users.
func (q *mailQueue) handTo(u *Users) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.users = u
	close(q.changed)
	q.changed = make(chan struct{})
}

// add puts a task into the queue. When the queue is full, the task is dropped and the log says so: a flood of requests must not fill
// the memory.
func (q *mailQueue) add(task mailTask) {
	q.closing.RLock()
	defer q.closing.RUnlock()
	if q.closed {
		return
	}
	select {
	case q.tasks <- task:
	default:
		q.log.Error("a mail was not sent", "error", "too many wait to be sent")
	}
}

// close takes no more tasks, and waits for those in the queue, at most mailCloseTime.
func (q *mailQueue) close() {
	q.closing.Lock()
	q.closed = true
	close(q.tasks)
	q.closing.Unlock()
	late := time.AfterFunc(mailCloseTime, q.stop)
	q.workers.Wait()
	late.Stop()
	q.stop()
}
