package auth

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"lectern/store"
)

// A mailQueue runs all work for a mail (looking the user up, storing a code, sending) after the answer was sent. Thus
// neither the answer nor its timing reveals whether the user exists. When definitions change, the next Users take over
// the queue.
type mailQueue struct {
	log     *slog.Logger
	tasks   chan mailTask
	mu      sync.Mutex
	users   *Users        // for the current definitions
	changed chan struct{} // closed when users is replaced
	closing sync.RWMutex
	closed  bool
	stop    context.CancelFunc
	workers sync.WaitGroup

	sent, failed atomic.Int64
}

// MailStats count the mails of a server.
type MailStats struct {
	Waiting      int // in the queue now
	Sent, Failed int64
}

// Mails returns the counters of mails.
func (u *Users) Mails() MailStats {
	return MailStats{Waiting: len(u.mails.tasks), Sent: u.mails.sent.Load(), Failed: u.mails.failed.Load()}
}

// A mailTask sends one mail, if the user may receive it at the time the task runs. It gets the current Users. If it
// fails because the definitions have changed, it runs again with the next Users.
type mailTask func(context.Context, *Users) error

const (
	maxMailTasks  = 256              // maximum number of tasks in the queue
	mailWorkers   = 2                // tasks that run at the same time
	mailTaskTime  = 60 * time.Second // timeout of one task
	mailCloseTime = 5 * time.Second  // time for the tasks in the queue when the server stops
)

func newMailQueue(u *Users, log *slog.Logger) *mailQueue {
	ctx, stop := context.WithCancel(context.Background())
	q := &mailQueue{log: log, users: u, changed: make(chan struct{}), tasks: make(chan mailTask, maxMailTasks),
		stop: stop}
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
			q.failed.Add(1)
			q.log.Error("a mail was not sent", "error", err)
		} else {
			q.sent.Add(1)
		}
		return
	}
}

func (q *mailQueue) now() (users *Users, changed <-chan struct{}) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.users, q.changed
}

// handTo makes u run the tasks in the queue from now on.
func (q *mailQueue) handTo(u *Users) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.users = u
	close(q.changed)
	q.changed = make(chan struct{})
}

// add puts a task into the queue. If the queue is full, it drops the task and logs that: a flood of requests must not
// fill the memory.
func (q *mailQueue) add(task mailTask) {
	q.closing.RLock()
	defer q.closing.RUnlock()
	if q.closed {
		return
	}
	select {
	case q.tasks <- task:
	default:
		q.failed.Add(1)
		q.log.Error("a mail was not sent", "error", "too many mails are waiting to be sent")
	}
}

// close refuses further tasks and waits for those in the queue, at most mailCloseTime.
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
