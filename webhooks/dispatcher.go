package webhooks

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"lectern/internal/clock"
	"lectern/store"
)

// A Dispatcher runs the senders of hooks. Its methods may be called whether it runs or not: without Run nothing is
// sent, but what the store has about the hooks can be read, and replays take effect once it runs.
type Dispatcher struct {
	// AttemptTimeout is how long an attempt may take, from the look-up of the name to the end of the answer; 0: 20
	// seconds. It must be set before Run.
	AttemptTimeout time.Duration

	clock   clock.Clock
	log     *slog.Logger
	content func() Content

	changed chan struct{} // holds a value when hooks have changed
	mu      sync.Mutex
	hooks   []Hook
	running map[string]*running // nil unless Run runs
	paused  bool                // senders that are started send nothing; see Pause
}

// running is a sender whose run method runs.
type running struct {
	sender *sender
	stop   context.CancelFunc
	done   chan struct{} // closed when run has returned
}

// New returns a Dispatcher without hooks. content returns what is served now.
func New(clock clock.Clock, log *slog.Logger, content func() Content) *Dispatcher {
	return &Dispatcher{clock: clock, log: log, content: content, changed: make(chan struct{}, 1)}
}

func (d *Dispatcher) attemptTimeout() time.Duration { return cmp.Or(d.AttemptTimeout, attemptTimeout) }

// Use replaces the hooks.
func (d *Dispatcher) Use(hooks []Hook) {
	d.mu.Lock()
	d.hooks = slices.Clone(hooks)
	d.mu.Unlock()
	select {
	case d.changed <- struct{}{}:
	default:
	}
}

// Run sends events until ctx ends. All goroutines that it starts have ended when it returns.
func (d *Dispatcher) Run(ctx context.Context) {
	d.mu.Lock()
	d.running = map[string]*running{}
	d.mu.Unlock()
	for {
		var again <-chan time.Time
		if !d.arrange(ctx) {
			again = d.clock.After(readAgain)
		}
		select {
		case <-ctx.Done():
			d.mu.Lock()
			defer d.mu.Unlock()
			for _, r := range d.running {
				<-r.done
			}
			d.running, d.paused = nil, false
			return
		case <-d.changed:
		case <-again:
		}
	}
}

// arrange stops the senders of hooks that are gone or have changed, and starts those that are missing. ok is false if
// one could not be started, which it logs.
func (d *Dispatcher) arrange(ctx context.Context) (ok bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	wanted := map[string]*Hook{}
	for i, h := range d.hooks {
		if !h.Disabled {
			wanted[h.Name] = &d.hooks[i]
		}
	}
	for name, r := range d.running {
		if h := wanted[name]; h == nil || !reflect.DeepEqual(h, r.sender.hook) {
			r.stop()
			<-r.done
			delete(d.running, name)
		}
	}
	ok = true
	if err := d.forget(ctx, wanted); err != nil {
		d.log.Error("what the store knows about former webhooks could not be removed", "error", err)
		ok = false
	}
	for name, h := range wanted {
		if d.running[name] != nil {
			continue
		}
		hook := *h
		s, err := d.newSender(&hook)
		if err != nil {
			d.log.Error("a webhook could not be started", "webhook", name, "error", err)
			ok = false
			continue
		}
		if d.paused {
			s.pause()
		}
		serving, stop := context.WithCancel(ctx)
		r := &running{s, stop, make(chan struct{})}
		d.running[name] = r
		go func() {
			defer close(r.done)
			defer stop()
			s.run(serving)
		}()
	}
	return ok
}

// forget removes the notes of hooks that are not wanted, so that one which is added again begins with what is written
// from then on.
func (d *Dispatcher) forget(ctx context.Context, wanted map[string]*Hook) error {
	changed, hooks := map[string][]byte{}, map[string]bool{}
	c := d.content()
	err := c.Store.View(func(s *store.Snapshot) error {
		for name := range s.Notes(notesPrefix) {
			if hook := hookOfNote(name); wanted[hook] == nil {
				changed[name], hooks[hook] = nil, true
			}
		}
		return nil
	})
	if err != nil || len(changed) == 0 {
		return err
	}
	for hook := range hooks {
		d.log.Info("a webhook is no longer configured or enabled; what was not delivered is dropped", "webhook", hook)
	}
	return c.Store.Write(ctx, func(tx *store.Tx) error { return apply(tx, changed) })
}

// with calls f with the sender of a hook, in its goroutine if it runs. Otherwise it calls f with a sender that does not
// run, and stores what f changes.
func (d *Dispatcher) with(ctx context.Context, hook *Hook, f func(*sender) error) (err error) {
	d.mu.Lock()
	r := d.running[hook.Name]
	if r == nil {
		defer d.mu.Unlock() // so that no sender is started meanwhile
		return d.offline(ctx, hook, f)
	}
	d.mu.Unlock()
	return r.call(ctx, f)
}

// call calls f with the sender, in its goroutine.
func (r *running) call(ctx context.Context, f func(*sender) error) (err error) {
	done := make(chan struct{})
	select {
	case r.sender.calls <- func() { defer close(done); err = f(r.sender) }:
		<-done
		return err
	case <-r.done:
		return fmt.Errorf("the webhook %s was stopped just now; try again", r.sender.hook.Name)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// offline calls f with a sender that does not run, and stores what f changes.
func (d *Dispatcher) offline(ctx context.Context, hook *Hook, f func(*sender) error) error {
	s, err := d.newSender(hook)
	if err != nil {
		return err
	}
	defer s.client.close()
	s.saveAt = time.Time{} // a hook that is new begins when it is run
	if err = f(s); err == nil && !s.saveAt.IsZero() {
		err = s.write(ctx, s.settledUpTo())
	}
	return err
}

// hook returns the hook of that name.
func (d *Dispatcher) hook(name string) (*Hook, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	var names []string
	for i := range d.hooks {
		if d.hooks[i].Name == name {
			h := d.hooks[i]
			return &h, nil
		}
		names = append(names, d.hooks[i].Name)
	}
	if names == nil {
		return nil, &Refusal{fmt.Sprintf("there is no webhook %s; config/webhooks.yaml declares none", name), true}
	}
	return nil, &Refusal{fmt.Sprintf("there is no webhook %s; there are %s", name, strings.Join(names, ", ")), true}
}

// A Refusal says why a Dispatcher does not do what it is asked for: it has no such hook or event, or the hook is
// disabled.
type Refusal struct {
	Message string
	Missing bool // there is no such hook or event
}

func (r *Refusal) Error() string { return r.Message }

// enabledHook returns the hook of that name, unless it is disabled.
func (d *Dispatcher) enabledHook(name string) (*Hook, error) {
	h, err := d.hook(name)
	if err == nil && h.Disabled {
		err = &Refusal{Message: fmt.Sprintf("the webhook %s is disabled; enable it in config/webhooks.yaml first", name)}
	}
	return h, err
}

// List returns how the hooks are doing, in the order of the configuration.
func (d *Dispatcher) List(ctx context.Context) (list []Status, err error) {
	d.mu.Lock()
	hooks := slices.Clone(d.hooks)
	d.mu.Unlock()
	for i := range hooks {
		err := d.with(ctx, &hooks[i], func(s *sender) error {
			st, err := s.status()
			list = append(list, st)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return list, nil
}

// Log returns what is known about the deliveries of a hook.
func (d *Dispatcher) Log(ctx context.Context, name string) (l Log, err error) {
	h, err := d.hook(name)
	if err != nil {
		return l, err
	}
	err = d.with(ctx, h, func(s *sender) error { l = s.deliveryLog(); return nil })
	return l, err
}

// Replay has the dead letters of a hook sent again and, unless since is zero, all events from then on. A hook that was
// stopped sends again.
func (d *Dispatcher) Replay(ctx context.Context, name string, since time.Time) (r Replayed, err error) {
	h, err := d.enabledHook(name)
	if err != nil {
		return r, err
	}
	err = d.with(ctx, h, func(s *sender) error { r, err = s.replay(since); return err })
	return r, err
}

// Resend has one event of a hook sent again, now: one that is delivered, is tried again, or is a dead letter, by the id
// that Log shows. A hook that was stopped sends again.
func (d *Dispatcher) Resend(ctx context.Context, name, id string) error {
	h, err := d.enabledHook(name)
	if err != nil {
		return err
	}
	return d.with(ctx, h, func(s *sender) error { return s.resend(id) })
}

// A Test is the outcome of a test request.
type Test struct {
	Status int           `json:"status,omitempty"` // of the answer; 0: there was none
	Took   time.Duration `json:"took"`
	Error  string        `json:"error,omitempty"` // "" if the receiver has accepted it
}

// Test sends a hook a test request, once and at once. It is among the deliveries of a hook that runs, of an event
// without a type, and not counted.
func (d *Dispatcher) Test(ctx context.Context, name string) (t Test, err error) {
	h, err := d.hook(name)
	if err != nil {
		return t, err
	}
	c := newClient(h, d.attemptTimeout())
	defer c.close()
	var id [16]byte
	_, _ = rand.Read(id[:]) // never fails
	now := d.clock.Now()
	p := testPayload(h, "msg_"+hex.EncodeToString(id[:]), now)
	a := c.send(ctx, p, now)
	t = Test{a.status, a.took, message(a.err)}
	d.mu.Lock()
	r := d.running[h.Name]
	d.mu.Unlock()
	if r == nil {
		return t, nil
	}
	// An error means that the webhook has ended since then, so nobody lists its attempts.
	_ = r.call(ctx, func(s *sender) error {
		s.remember(Delivery{Event: &Event{Name: p.name, Time: now}, ID: p.id, At: d.clock.Now(), Attempt: 1,
			Status: t.Status, Took: t.Took, Error: t.Error})
		return nil
	})
	return t, nil
}
