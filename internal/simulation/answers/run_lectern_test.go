package answers

import (
	"context"
	"flag"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"lectern/auth"
	"lectern/gateway"
	"lectern/internal/simulation/program"
	"lectern/store"
)

var (
	seeds      = flag.Uint64("seeds", 4, "models that the server is asked about")
	pasts      = flag.Uint64("pasts", 1, "models that the server is asked about as they were")
	operations = flag.Int("operations", 200, "operations a seed")
	tolerate   = flag.Int("tolerate", 0, "answers that may differ before a run ends")
	shrink     = flag.Int(
		"shrink", 400, "how often a run is repeated with fewer operations to find what a difference takes")
	printCoverage = flag.Bool("coverage", false, "print what was covered")
	least         = flag.Int("least", 0, "fail when something was covered less often")
)

// lectern serves a project inside the test. Its data directory survives restarts.
type lectern struct {
	program.Server
	t         *testing.T
	dir, data string
	project   *gateway.Project
	stop      context.CancelFunc
	ended     chan error
}

// serveLectern writes the project of a model and serves it. Every stop checks the store.
func serveLectern(t *testing.T, model *Model) *lectern {
	dir := t.TempDir()
	if err := WriteProject(dir, model); err != nil {
		t.Fatal(err)
	}
	l := &lectern{t: t, dir: dir, data: filepath.Join(dir, "data")}
	if err := l.start(); err != nil {
		t.Fatal(err)
	}
	_, key, err := l.project.CreateToken(context.Background(), auth.Declaration{Name: "full", Kind: auth.FullAccess})
	if err != nil {
		t.Fatal(err)
	}
	l.Token = key
	if len(model.Permitted) > 0 {
		if _, l.Limited, err = l.project.CreateToken(context.Background(),
			auth.Declaration{Name: "principal", Kind: auth.Custom, Permissions: model.Permitted}); err != nil {
			t.Fatal(err)
		}
	}
	return l
}

func (l *lectern) start() error {
	ready := make(chan gateway.Ready, 1)
	project, err := gateway.Open(l.dir, gateway.Options{
		Data: l.data, Addr: "127.0.0.1:0", Production: true,
		Log:   slog.New(slog.NewTextHandler(io.Discard, nil)),
		Ready: func(r gateway.Ready) { ready <- r },
	})
	if err != nil {
		return err
	}
	var ctx context.Context
	ctx, l.stop = context.WithCancel(context.Background())
	l.project, l.ended = project, make(chan error, 1)
	go func() { l.ended <- project.Run(ctx) }()
	select {
	case r := <-ready:
		l.Base = r.Base
		return nil
	case err := <-l.ended:
		return err
	}
}

// end stops the server and checks its store.
func (l *lectern) end() error {
	l.stop()
	if err := <-l.ended; err != nil {
		return err
	}
	if err := l.project.Close(); err != nil {
		return err
	}
	return program.CheckStore(l.dir, l.data)
}

// Reads implements Counter.
func (l *lectern) Reads() Reads {
	stats := l.project.Store().Stats()
	return Reads{int(stats.Rows), int(stats.Links), int(stats.Seeks)}
}

// Restart implements Host.
func (l *lectern) Restart() error {
	if err := l.end(); err != nil {
		return err
	}
	return l.start()
}

// Redefine implements LoggedHost.
func (l *lectern) Redefine(m *Model) error {
	if err := l.end(); err != nil {
		return err
	}
	if err := WriteProject(l.dir, m); err != nil {
		return err
	}
	return l.start()
}

// LogEnd implements LoggedHost.
func (l *lectern) LogEnd() (end store.Position, at time.Time, err error) {
	err = l.project.Store().View(func(s *store.Snapshot) error {
		if end, err = s.Position(); err != nil {
			return err
		}
		entries, err := s.Entries(store.Position{Epoch: end.Epoch, Sequence: end.Sequence - 1})
		if err != nil {
			return err
		}
		for e, err := range entries {
			if err != nil {
				return err
			}
			at = e.Time
		}
		return nil
	})
	return end, at, err
}

// LinkOrder implements LinkHost.
func (l *lectern) LinkOrder(a *Attribute, list *Type, documentID, locale,
	linkSet string) (order []LinkTarget, err error) {
	model := l.project.Definition().Model
	t := model.Type(list.UID)
	attr := t.Attribute(a.Name)
	set := store.DraftLinks
	if linkSet == published {
		set = store.PublishedLinks
	}
	err = l.project.Store().View(func(s *store.Snapshot) error {
		doc, _ := s.Document(t, documentID)
		at := store.Ref{Type: list.UID, Doc: doc, Locale: locale}
		add := func(far store.Ref) bool {
			t := model.Type(far.Type)
			s.Versions(t, far.Doc, func(r store.Record) bool {
				id := strings.Trim(string(r.JSON(t.Attribute("documentId"))), `"`)
				order = append(order, LinkTarget{id, far.Locale})
				return false
			})
			return true
		}
		if attr.Mapped {
			s.LinksTo(attr.Inverse, set, at, func(l store.Link) bool { return add(l.From) })
		} else {
			s.LinksFrom(attr, set, at, func(l store.Link) bool { return add(l.To) })
		}
		return nil
	})
	return order, err
}

// simulate runs one seed and reports the first difference, with the operations that reproduce it.
func simulate(t *testing.T, seed uint64, n int, cover *Coverage, prepare func(*Run)) {
	model := ModelOf(seed, Quirks{})
	server := serveLectern(t, model)
	run := NewRun(seed, Quirks{}, model, server)
	prepare(run)
	run.Tolerate = *tolerate
	err := run.Random(n)
	if err == nil {
		err = run.compareLinks()
	}
	cover.Add(run.Cover)
	if ended := server.end(); ended != nil {
		t.Errorf("seed %d: %v", seed, ended)
	} else if err := checkReplayed(server.dir, server.data); err != nil {
		t.Errorf("seed %d: %v", seed, err)
	}
	for _, d := range run.Different {
		t.Error(d)
	}
	if err == nil {
		return
	}
	t.Error(err)
	if d, ok := err.(*Difference); ok && *shrink > 0 {
		t.Logf("what it takes:\n%s", shrunk(t, run, d, prepare))
	}
}

// shrunk describes the operations that are needed to reproduce a difference.
func shrunk(t *testing.T, run *Run, d *Difference, prepare func(*Run)) string {
	replay := func(ops []*Operation) (*Run, error) {
		run.Model.reset()
		server := serveLectern(t, run.Model)
		defer server.end()
		again := NewRun(run.Seed, run.Quirk, run.Model, server)
		prepare(again)
		return again, again.Replay(ops)
	}
	ops := Shrink(run.Done, d, *shrink, func(ops []*Operation) error {
		_, err := replay(ops)
		return err
	})
	again, _ := replay(ops)
	return Story(ops, again.world)
}

// TestRESTAgreesWithEvaluator compares the server with the evaluator. The default run is short; a long one is go test
// ./internal/simulation/answers
// -run TestRESTAgreesWithEvaluator -seeds 10 -operations 1000 -least 20 -coverage.
func TestRESTAgreesWithEvaluator(t *testing.T) {
	compareAll(t, NewCoverage(Quirks{}).Batches(), *seeds, func(r *Run) { r.Batching() })
}

// TestGraphQLAgreesWithEvaluator does what TestRESTAgreesWithEvaluator does, with queries and mutations.
func TestGraphQLAgreesWithEvaluator(t *testing.T) {
	compareAll(t, NewGraphQLCoverage(Quirks{}), *seeds, func(r *Run) { r.InGraphQL() })
}

// TestPastAgreesWithEvaluator compares documents as they were, histories and restored versions with what the evaluator
// remembers. Definitions change in between. A long run is go test ./internal/simulation/answers -run
// TestPastAgreesWithEvaluator -pasts 50 -operations 600.
func TestPastAgreesWithEvaluator(t *testing.T) {
	t.Run("REST", func(t *testing.T) {
		compareAll(t, NewPastCoverage("history 200"), *pasts, func(r *Run) { r.Batching().Remembering() })
	})
	t.Run("GraphQL", func(t *testing.T) {
		if testing.Short() {
			t.Skip("takes long under the race detector")
		}
		compareAll(t, NewPastCoverage(), *pasts, func(r *Run) { r.InGraphQL().Remembering() })
	})
}

func compareAll(t *testing.T, cover *Coverage, n uint64, prepare func(*Run)) {
	for seed := *program.Seed; seed < *program.Seed+n && (*tolerate > 0 || !t.Failed()); seed++ {
		simulate(t, seed, *operations, cover, prepare)
	}
	if *printCoverage {
		cover.Print(os.Stdout)
	}
	if missed := cover.Untouched(); len(missed) > 0 {
		t.Errorf("never touched: %s", strings.Join(missed, ", "))
	}
	if below := cover.Below(*least); len(below) > 0 {
		t.Errorf("covered less than %d times: %s", *least, strings.Join(below, ", "))
	}
}
