// Package replica copies the content of one server, the origin, to others, its replicas, which serve it and stay in
// step. A Replica is the copying side, and an Origin the side that is copied.
//
// Begin with replica.go (how a replica follows its origin), dir.go (what it keeps between starts) and origin.go (what
// an origin sends).
package replica

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"math"
	"net/http"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"lectern/contenttypes"
	"lectern/gateway/admin"
	"lectern/gateway/config"
	"lectern/gateway/internal/filesync"
	"lectern/gateway/internal/forward"
	"lectern/gateway/internal/replication"
	"lectern/gateway/internal/server"
	"lectern/gateway/metrics"
	"lectern/internal/backoff"
	"lectern/media"
	"lectern/store"
)

// A Replica keeps the content of a project in step with its origin. It applies the entries of the origin's log as they
// come, takes over its definition files when they change, and begins anew with a copy when the origin's log does not
// continue. Meanwhile the replica serves what it has.
type Replica struct {
	options Options
	project CopiedProject
	dir     dir
	origin  *replication.Client
	files   *filesync.ReplicaFiles
	address string // of the origin, in the errors of refused writes
	id      string // names the running server among replicas that forward writes to one another
	changed uint64 // the revision of the documents of files when the files were last compared

	behind bool                // the content has definitions that are not served yet
	known  store.Position      // of the content
	status *replication.Status // the last one; nil before the first

	current atomic.Int64 // when the content was last equal to that of the origin, in Unix milliseconds
	inStep  atomic.Bool  // nothing has come from the origin since then that is not applied
	kept    int64        // current as of the file in-step
}

// New returns the Replica of a data directory; nil if it is not that of a replica.
func New(o Options) (*Replica, error) {
	d := dir{o.Dir, o.Data}
	origin, err := d.origin()
	if err != nil || origin == "" {
		return nil, err
	}
	r := &Replica{options: o, project: o.Project, dir: d, id: rand.Text(), address: origin}
	if r.Follows() {
		r.address = o.URL
	}
	r.files = filesync.NewReplicaFiles(filepath.Join(d.data, admin.UploadsName), r.namedFiles)
	r.kept = d.inStep().UnixMilli()
	r.current.Store(r.kept)
	return r, nil
}

// Follows reports whether the project is to follow its origin. Otherwise it is only opened, to look into it.
func (r *Replica) Follows() bool { return r.options.Settings != nil }

// These methods, Uploads and ReplicaState are what the project asks of its role.

// Files returns the directory from which the project is read: it has the definitions of the origin.
func (r *Replica) Files() string { return r.dir.project }

// Check returns nil: a replica can serve all that its origin serves.
func (*Replica) Check(*config.Definition) error { return nil }

// FilesDecide returns false: the definitions come from the origin.
func (*Replica) FilesDecide() bool { return false }

// Redefine returns the present store under changed definitions, to which the origin has converted the content.
func (*Replica) Redefine(ctx context.Context, before *store.Store, d *config.Definition) (*store.Store, error) {
	return before.Adopt(ctx, d.Model)
}

// HasOwnContent returns false: the content is that of the origin.
func (*Replica) HasOwnContent() bool { return false }

// AwaitContent returns nil: a replica serves what it has.
func (*Replica) AwaitContent(context.Context) error { return nil }

// Condition returns nil: clients are told how old the content is.
func (*Replica) Condition() *admin.Condition { return nil }

// Uploads returns the uploaded files of the origin.
func (r *Replica) Uploads() *filesync.ReplicaFiles { return r.files }

// SetUpSteps has answers say how old they may be.
func (r *Replica) SetUpSteps(s *server.Steps, _ func(*http.Request) bool) {
	s.Begin = func(w http.ResponseWriter) http.ResponseWriter {
		server.SetAge(w.Header(), r.Age())
		return w
	}
}

// SetUpControl changes nothing.
func (*Replica) SetUpControl(*admin.Control) {}

// SetUpMedia changes nothing.
func (*Replica) SetUpMedia(*media.Options) {}

// Retire does nothing: nobody depends on a replica.
func (*Replica) Retire(context.Context) {}

// OpenStore opens the store, to which nobody but the replica writes.
func (r *Replica) OpenStore(o store.Options, _ *contenttypes.Model, open func(store.Options) (*store.Store,
	error)) (*store.Store, error) {
	o.Origin = r.address
	st, err := open(o)
	if errors.Is(err, store.ErrOtherDefinitions) {
		err = fmt.Errorf("%w: it was stopped while its content was converted to them; serve it by `%s --token KEY` "+
			"while its origin can be "+
			"reached, or make it an origin by `%s`",
			err, r.options.Command("follow "+r.address), r.options.Command("promote"))
	}
	return st, err
}

// Upstream returns how writes reach the origin; nil if they are refused. prefix is the path of the REST API of both.
func (r *Replica) Upstream(prefix string) (*forward.Link, error) {
	if !r.Follows() || !r.options.Forward {
		return nil, nil
	}
	origin, err := newUpstream(r.options, prefix)
	if err != nil {
		return nil, err
	}
	return &forward.Link{To: origin, Via: "1.1 lectern-" + r.id, Transport: &http.Transport{
		Proxy: http.ProxyFromEnvironment, DialContext: origin.dial, TLSHandshakeTimeout: 5 * time.Second,
		IdleConnTimeout: originIdle, MaxIdleConnsPerHost: 16, DisableCompression: true,
	}}, nil
}

// Read adds what the metrics say about the replica.
func (r *Replica) Read(to *metrics.Reading) {
	s := r.ReplicaState()
	to.Replica = &metrics.Replica{InStep: s.InStep, Age: math.NaN()}
	if s.Age != nil {
		to.Replica.Age = float64(*s.Age)
	}
}

// Start follows the origin.
func (r *Replica) Start(ctx context.Context, parts *sync.WaitGroup) {
	parts.Go(func() { r.Run(ctx) })
}

// Age returns how long ago the content was that of the origin: 0 while the replica is in step, as far as it knows.
func (r *Replica) Age() time.Duration {
	age := max(0, time.Since(time.UnixMilli(r.current.Load())))
	if r.inStep.Load() && age < 2*r.heartbeat() {
		return 0
	}
	return age
}

// heartbeat returns how often the origin says how far its log goes, even if nothing happens.
func (r *Replica) heartbeat() time.Duration {
	if !r.Follows() {
		return replication.Heartbeat
	}
	return replication.HeartbeatWithin(r.options.Silence)
}

// fallBehind notes that there is something of the origin that the replica has not applied. Until now it had everything.
func (r *Replica) fallBehind() {
	if r.Age() == 0 {
		r.current.Store(time.Now().UnixMilli())
	}
	r.inStep.Store(false)
}

// ReplicaState returns how far the replica is behind its origin.
func (r *Replica) ReplicaState() *admin.ReplicaState {
	s := &admin.ReplicaState{InStep: r.inStep.Load()}
	if at, err := PositionOf(r.project.Store()); err == nil {
		s.Position = at.String()
	}
	if r.current.Load() <= 0 {
		return s // it was never in step
	}
	age := int64(r.Age() / time.Second)
	s.Age = &age
	s.InStep = s.InStep && age == 0
	return s
}

// Run follows the origin until ctx ends.
func (r *Replica) Run(ctx context.Context) {
	log := r.project.Log().With("origin", r.options.URL)
	var err error
	if r.origin, err = r.options.origin(); err != nil {
		log.Error("the origin cannot be followed", "error", err)
		return
	}
	r.origin.Memory = r.project.Memory()
	defer r.origin.Close()
	var background sync.WaitGroup
	defer background.Wait()
	background.Go(func() {
		r.files.Run(ctx, r.origin, func(err error) {
			log.Warn("the files of the origin could not be fetched; they will be tried again", "error", err)
		})
	})
	retry := backoff.New()
	for ctx.Err() == nil {
		began := time.Now()
		err := r.connect(ctx)
		r.inStep.Store(false)
		r.files.SetInTouch(false)
		if errors.Is(err, replication.ErrReset) {
			log.Warn("the replica begins anew with a copy", "reason", err)
			err = r.beginAnew(ctx)
		}
		if ctx.Err() != nil {
			return
		}
		if err == nil || time.Since(began) > backoff.Longest {
			retry = backoff.New()
		}
		if err != nil {
			log.Warn("not in touch with the origin; the replica serves what it has and tries again", "age",
				r.Age().Round(time.Second), "error", err)
		}
		if retry.Wait(ctx) != nil {
			return
		}
	}
}

// connect follows the log of the origin until the connection ends.
func (r *Replica) connect(ctx context.Context) (err error) {
	if r.known, err = r.project.Store().AppliedPosition(ctx); err != nil {
		return err
	}
	if !r.project.Store().Part().Equal(r.options.Part) {
		return fmt.Errorf("%w: it has another part of the content than it is to have from now on", replication.ErrReset)
	}
	s, err := r.origin.Log(ctx, r.known)
	if err != nil {
		return err
	}
	frames := newFrameQueue(s)
	defer frames.close()
	r.files.SetInTouch(true)
	r.files.Wake()
	for {
		entries, status, err := frames.next(ctx)
		if err != nil {
			return err
		}
		if err := r.apply(ctx, entries); err != nil {
			return err
		}
		if status == nil {
			continue
		}
		if err := r.look(ctx, status); err != nil {
			return err
		}
	}
}

// apply applies entries to the store.
func (r *Replica) apply(ctx context.Context, entries []*store.Entry) error {
	if len(entries) == 0 {
		return nil
	}
	r.fallBehind()
	content, _ := r.project.Served()
	behind, err := content.Store.ApplyEntries(ctx, entries)
	if err != nil {
		return fmt.Errorf("apply the log of the origin: %w", err)
	}
	last := entries[len(entries)-1]
	r.behind, r.known = behind, store.Position{Epoch: last.Epoch, Sequence: last.Sequence}
	if behind {
		return nil
	}
	return content.Tokens.Refresh()
}

// look compares the replica with what the origin says of itself.
func (r *Replica) look(ctx context.Context, status *replication.Status) error {
	r.status = status
	_, served := r.project.Served()
	if status.Position != r.known.String() || status.Definitions != served.Hash() {
		r.fallBehind()
	}
	if status.Definitions != served.Hash() || r.behind {
		if err := r.takeDefinitions(ctx); err != nil {
			return err
		}
	}
	if status.Position != r.known.String() || r.behind {
		return nil
	}
	now := time.Now().UnixMilli()
	r.current.Store(now)
	r.inStep.Store(true)
	if now-r.kept > inStepInterval.Milliseconds() {
		r.kept = now
		if err := r.dir.noteInStep(); err != nil {
			return err
		}
	}
	return r.lookAtFiles()
}

// inStepInterval is how often a replica notes that it is in step with its origin.
const inStepInterval = 10 * time.Second

// lookAtFiles has the files compared if the documents that describe them have changed.
func (r *Replica) lookAtFiles() error {
	content, _ := r.project.Served()
	t := content.Definition.Model.Type(contenttypes.FileUID)
	if t == nil {
		return nil // upload is switched off
	}
	return content.Store.View(func(s *store.Snapshot) error {
		if revision := s.Revision(t); revision != r.changed {
			r.changed = revision
			r.files.Wake()
		}
		return nil
	})
}

// namedFiles returns the names of the files that documents describe.
func (r *Replica) namedFiles() (map[string]bool, error) {
	content, _ := r.project.Served()
	names := map[string]bool{}
	t := content.Definition.Model.Type(contenttypes.FileUID)
	if t == nil {
		return nil, nil // upload is switched off
	}
	return names, content.Store.View(func(s *store.Snapshot) error {
		list, err := media.LocalNames(s, t, "")
		for _, name := range list {
			names[name] = true
		}
		return err
	})
}

// takeDefinitions serves the definition files of the origin, if the content has their definitions already.
func (r *Replica) takeDefinitions(ctx context.Context) error {
	files, err := r.origin.Definitions(ctx)
	if err != nil {
		return fmt.Errorf("get the definitions of the origin: %w", err)
	}
	if err := r.dir.keep(nextFile, files); err != nil {
		return err
	}
	if err := files.Unpack(r.dir.project); err != nil {
		return err
	}
	err = r.project.Reload(ctx)
	switch {
	case errors.Is(err, store.ErrOtherDefinitions), errors.Is(err, store.ErrSchemaLocked):
		return nil // more entries follow, or the next Status
	case err != nil:
		return fmt.Errorf("serve the definitions of the origin: %w", err)
	}
	r.behind = false
	return r.dir.nextIsServed()
}

// beginAnew replaces the content of the replica by a copy of the origin. What the replica had is served until the copy
// is complete.
func (r *Replica) beginAnew(ctx context.Context) error {
	copied := filepath.Join(r.dir.data, copyName)
	files, err := r.origin.Copy(ctx, copied, func(int64) {})
	if err != nil {
		return fmt.Errorf("copy the origin: %w", err)
	}
	if err := files.Unpack(r.dir.project); err != nil {
		return err
	}
	before := r.project.Store()
	if err := r.dir.place(copied, files); err != nil {
		return err
	}
	if err := r.project.ServeCopy(ctx); err != nil {
		return fmt.Errorf("serve the copy of the origin: %w", err)
	}
	r.behind = false
	return errors.Join(r.dir.nextIsServed(), before.Abandon(ctx), before.Close())
}
