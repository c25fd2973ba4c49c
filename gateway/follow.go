package gateway

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
	"lectern/gateway/internal/replication"
	"lectern/gateway/internal/server"
	"lectern/gateway/metrics"
	"lectern/internal/backoff"
	"lectern/media"
	"lectern/store"
)

// Follow says which server a replica follows.
type Follow struct {
	URL   string // the address of the origin, such as https://cms.example.com; with the path of its REST API, unless that is /api
	Token string // an API token of the origin with the permission lectern::replica.follow
	// Silence is how long nothing may come from the origin before the replica connects anew; 0: 15 seconds.
	Silence time.Duration
	// Forward sends writes to the origin. Otherwise they are refused.
	Forward bool
	// Part is the part of the content that the replica has.
	Part store.Part

	dial dialer // connects to the origin; nil: over TCP
}

func (f *Follow) origin() (*replication.Origin, error) {
	o, err := replication.NewOrigin(f.URL, f.Token)
	if err == nil {
		o.Silence, o.Part = f.Silence, f.Part
		if f.dial != nil {
			o.DialWith(f.dial)
		}
	}
	return o, err
}

// following returns the options of a server with what config/server.yaml says about a replica, unless Follow says that.
func (o Options) following(dir string) (Options, error) {
	r, err := config.ReadReplica(dir)
	if err != nil || r.URL == "" {
		return o, err
	}
	if o.Follow == nil {
		o.Follow = &Follow{URL: r.URL, Token: r.Token}
	}
	follow := *o.Follow
	follow.Forward = follow.Forward || r.Forward
	if follow.Part.All() {
		follow.Part = r.Part
	}
	o.Follow = &follow
	return o, nil
}

// replicaAgeHeader is the header that says how old an answer may be, in full seconds: how long ago a replica had the same content as its origin, or a node
// of a cluster had every write that the cluster had acknowledged.
const replicaAgeHeader = "Lectern-Replica-Age"

// A follower keeps a replica in step with its origin. It applies the entries of the origin's log as they come, takes over its definition
// files when they change, and begins anew with a copy when the origin's log does not continue. Meanwhile the replica serves what it has.
type follower struct {
	project *Project
	follow  *Follow // nil if the project is only opened, to look into it
	dir     replicaDir
	origin  *replication.Origin
	files   *filesync.Replica
	address string // of the origin, as writers are told it
	id      string // names the running server among replicas that forward writes to one another
	changed uint64 // the revision of the documents of files when the files were last compared

	behind bool                // the content has definitions that are not served yet
	known  store.Position      // of the content
	status *replication.Status // the last one; nil before the first

	current atomic.Int64 // when the content was last equal to that of the origin, in Unix milliseconds
	inStep  atomic.Bool  // nothing has come from the origin since then that is not applied
	kept    int64        // current as of the file in-step
}

// newFollower returns the role of a project whose data directory is that of a replica; nil if it is not.
func newFollower(p *Project) (*follower, error) {
	d := replicaDir{p.directory.Dir, p.directory.DataPath()}
	origin, err := d.origin()
	if err != nil || origin == "" {
		return nil, err
	}
	f := &follower{project: p, follow: p.options.Follow, dir: d, id: rand.Text(), address: origin}
	if f.follow == nil {
		p.Refused = p.directory.RefuseFollower()
	} else {
		f.address = f.follow.URL
	}
	f.files = filesync.NewReplica(filepath.Join(d.data, admin.UploadsName), f.namedFiles)
	f.kept = d.inStep().UnixMilli()
	f.current.Store(f.kept)
	return f, nil
}

// Files implements role.
func (f *follower) Files() string { return f.dir.project }

// Check implements role.
func (*follower) Check(*config.Definition) error { return nil }

// FilesDecide implements role.
func (*follower) FilesDecide() bool { return false }

// Leads implements role.
func (*follower) Leads() bool { return false }

// HasOwnContent implements role.
func (*follower) HasOwnContent() bool { return false }

// AwaitContent implements role.
func (*follower) AwaitContent(context.Context) error { return nil }

// Condition implements role.
func (*follower) Condition() *admin.Condition { return nil }

// MissingFiles implements role.
func (f *follower) MissingFiles() fileSource { return f.files }

// SetUpSteps implements role.
func (f *follower) SetUpSteps(s *server.Steps, _ *forwarder) {
	s.Begin = func(w http.ResponseWriter) http.ResponseWriter {
		setAge(w.Header(), f.age())
		return w
	}
}

// SetUpControl implements role.
func (*follower) SetUpControl(*admin.Control) {}

// SetUpMedia implements role.
func (*follower) SetUpMedia(*media.Options) {}

// Retire implements role.
func (*follower) Retire(context.Context) {}

// OpenStore implements role.
func (f *follower) OpenStore(o store.Options, _ *contenttypes.Model, open opener) (*store.Store, error) {
	o.Origin = f.address
	st, err := open(o)
	if errors.Is(err, store.ErrOtherDefinitions) {
		err = fmt.Errorf("%w: it was stopped while its content was converted to them; serve it by `%s --token KEY` while its origin can be "+
			"reached, or make it an origin by `%s`",
			err, f.project.directory.Command("follow "+f.address), f.project.directory.Command("promote"))
	}
	return st, err
}

// Upstream implements role.
func (f *follower) Upstream(prefix string) (*upstreamLink, error) {
	if f.follow == nil || !f.follow.Forward {
		return nil, nil
	}
	origin, err := newOriginOf(f.project, prefix)
	if err != nil {
		return nil, err
	}
	return &upstreamLink{origin, "1.1 lectern-" + f.id, &http.Transport{
		Proxy: http.ProxyFromEnvironment, DialContext: origin.dial, TLSHandshakeTimeout: 5 * time.Second,
		IdleConnTimeout: originIdle, MaxIdleConnsPerHost: 16, DisableCompression: true,
	}}, nil
}

// Read implements role.
func (f *follower) Read(r *metrics.Reading) {
	s := f.ReplicaState()
	r.Replica = &metrics.Replica{InStep: s.InStep, Age: math.NaN()}
	if s.Age != nil {
		r.Replica.Age = float64(*s.Age)
	}
}

// Start implements role: it follows the origin.
func (f *follower) Start(ctx context.Context, parts *sync.WaitGroup) {
	parts.Go(func() { f.run(ctx) })
}

// age returns how long ago the content was that of the origin: 0 while the replica is in step, as far as it knows.
func (f *follower) age() time.Duration {
	age := max(0, time.Since(time.UnixMilli(f.current.Load())))
	if f.inStep.Load() && age < 2*f.heartbeat() {
		return 0
	}
	return age
}

// heartbeat returns how often the origin says how far its log goes, even if nothing happens.
func (f *follower) heartbeat() time.Duration {
	if f.follow == nil {
		return replication.Heartbeat
	}
	return replication.HeartbeatWithin(f.follow.Silence)
}

// fallBehind notes that there is something of the origin that the replica has not applied. Until now it had everything.
func (f *follower) fallBehind() {
	if f.age() == 0 {
		f.current.Store(time.Now().UnixMilli())
	}
	f.inStep.Store(false)
}

// ReplicaState implements role.
func (f *follower) ReplicaState() *admin.ReplicaState {
	s := &admin.ReplicaState{InStep: f.inStep.Load()}
	if at, err := positionOf(f.project.Store()); err == nil {
		s.Position = at.String()
	}
	if f.current.Load() <= 0 {
		return s // it was never in step
	}
	age := int64(f.age() / time.Second)
	s.Age = &age
	s.InStep = s.InStep && age == 0
	return s
}

// run follows the origin until ctx ends.
func (f *follower) run(ctx context.Context) {
	log := f.project.log.With("origin", f.follow.URL)
	var err error
	if f.origin, err = f.follow.origin(); err != nil {
		log.Error("the origin cannot be followed", "error", err)
		return
	}
	f.origin.Memory = f.project.memory
	defer f.origin.Close()
	var background sync.WaitGroup
	defer background.Wait()
	background.Go(func() {
		f.files.Run(ctx, f.origin, func(err error) {
			log.Warn("the files of the origin could not be fetched; they will be tried again", "error", err)
		})
	})
	retry := backoff.New()
	for ctx.Err() == nil {
		began := time.Now()
		err := f.connect(ctx)
		f.inStep.Store(false)
		f.files.SetInTouch(false)
		if errors.Is(err, replication.ErrReset) {
			log.Warn("the replica begins anew with a copy", "reason", err)
			err = f.beginAnew(ctx)
		}
		if ctx.Err() != nil {
			return
		}
		if err == nil || time.Since(began) > backoff.Longest {
			retry = backoff.New()
		}
		if err != nil {
			log.Warn("not in touch with the origin; the replica serves what it has and tries again", "age", f.age().Round(time.Second), "error", err)
		}
		if retry.Wait(ctx) != nil {
			return
		}
	}
}

// connect follows the log of the origin until the connection ends.
func (f *follower) connect(ctx context.Context) (err error) {
	if f.known, err = f.project.Store().Following(ctx); err != nil {
		return err
	}
	if !f.project.Store().Part().Equal(f.follow.Part) {
		return fmt.Errorf("%w: it has another part of the content than it is to have from now on", replication.ErrReset)
	}
	s, err := f.origin.Log(ctx, f.known)
	if err != nil {
		return err
	}
	frames := newFrameQueue(s)
	defer frames.close()
	f.files.SetInTouch(true)
	f.files.Wake()
	for {
		entries, status, err := frames.next(ctx)
		if err != nil {
			return err
		}
		if err := f.apply(ctx, entries); err != nil {
			return err
		}
		if status == nil {
			continue
		}
		if err := f.look(ctx, status); err != nil {
			return err
		}
	}
}

// apply applies entries to the store.
func (f *follower) apply(ctx context.Context, entries []*store.Entry) error {
	if len(entries) == 0 {
		return nil
	}
	f.fallBehind()
	g := f.project.generation.Load()
	behind, err := g.store.ApplyEntries(ctx, entries)
	if err != nil {
		return fmt.Errorf("apply the log of the origin: %w", err)
	}
	last := entries[len(entries)-1]
	f.behind, f.known = behind, store.Position{Epoch: last.Epoch, Sequence: last.Sequence}
	if behind {
		return nil
	}
	return g.tokens.Refresh()
}

// look compares the replica with what the origin says of itself.
func (f *follower) look(ctx context.Context, status *replication.Status) error {
	f.status = status
	if status.Position != f.known.String() || status.Definitions != f.project.Definition().files.Hash() {
		f.fallBehind()
	}
	if status.Definitions != f.project.Definition().files.Hash() || f.behind {
		if err := f.takeDefinitions(ctx); err != nil {
			return err
		}
	}
	if status.Position != f.known.String() || f.behind {
		return nil
	}
	now := time.Now().UnixMilli()
	f.current.Store(now)
	f.inStep.Store(true)
	if now-f.kept > inStepInterval.Milliseconds() {
		f.kept = now
		if err := f.dir.noteInStep(); err != nil {
			return err
		}
	}
	return f.lookAtFiles()
}

// inStepInterval is how often a replica notes that it is in step with its origin.
const inStepInterval = 10 * time.Second

// lookAtFiles has the files compared if the documents that describe them have changed.
func (f *follower) lookAtFiles() error {
	g := f.project.generation.Load()
	t := g.Model.Type(contenttypes.FileUID)
	if t == nil {
		return nil // upload is switched off
	}
	return g.store.View(func(s *store.Snapshot) error {
		if revision := s.Revision(t); revision != f.changed {
			f.changed = revision
			f.files.Wake()
		}
		return nil
	})
}

// namedFiles returns the names of the files that documents describe.
func (f *follower) namedFiles() (map[string]bool, error) {
	g, names := f.project.generation.Load(), map[string]bool{}
	t := g.Model.Type(contenttypes.FileUID)
	if t == nil {
		return nil, nil // upload is switched off
	}
	return names, g.store.View(func(s *store.Snapshot) error {
		list, err := media.LocalNames(s, t, "")
		for _, name := range list {
			names[name] = true
		}
		return err
	})
}

// takeDefinitions serves the definition files of the origin, if the content has their definitions already.
func (f *follower) takeDefinitions(ctx context.Context) error {
	files, err := f.origin.Definitions(ctx)
	if err != nil {
		return fmt.Errorf("get the definitions of the origin: %w", err)
	}
	if err := f.dir.keep(nextFile, files); err != nil {
		return err
	}
	if err := files.Unpack(f.dir.project); err != nil {
		return err
	}
	err = f.project.reload(ctx)
	switch {
	case errors.Is(err, store.ErrOtherDefinitions), errors.Is(err, store.ErrSchemaLocked): // more entries follow, or the next Status
		return nil
	case err != nil:
		return fmt.Errorf("serve the definitions of the origin: %w", err)
	}
	f.behind = false
	return f.dir.nextIsServed()
}

// beginAnew replaces the content of the replica by a copy of the origin. The former content is served until the copy is complete.
func (f *follower) beginAnew(ctx context.Context) error {
	copied := filepath.Join(f.dir.data, copyName)
	files, err := f.origin.Copy(ctx, copied, func(int64) {})
	if err != nil {
		return fmt.Errorf("copy the origin: %w", err)
	}
	if err := files.Unpack(f.dir.project); err != nil {
		return err
	}
	former := f.project.Store()
	if err := f.dir.place(copied, files); err != nil {
		return err
	}
	err = f.project.replace(ctx, replacement{load: f.project.load, copied: true,
		store: func(_ context.Context, _ *store.Store, d *config.Definition) (*store.Store, error) {
			return f.project.openStore(d)
		}})
	if err != nil {
		return fmt.Errorf("serve the copy of the origin: %w", err)
	}
	f.behind = false
	return errors.Join(f.dir.nextIsServed(), former.Abandon(ctx), former.Close())
}
