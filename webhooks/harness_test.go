package webhooks_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"runtime"
	"sync"
	"testing"
	"time"

	"lectern/contenttypes"
	"lectern/documents"
	"lectern/internal/storetest"
	"lectern/jsontree"
	"lectern/store"
	"lectern/webhooks"
)

// A fakeClock is a clock that tests set. Its timers fire when their time has come.
type fakeClock struct {
	mu     sync.Mutex
	now    time.Time
	timers []timer
}

type timer struct {
	at    time.Time
	fires chan time.Time
}

func newFakeClock() *fakeClock { return &fakeClock{now: time.Now()} }

func (c *fakeClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *fakeClock) After(d time.Duration) <-chan time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	fires := make(chan time.Time, 1)
	c.timers = append(c.timers, timer{c.now.Add(d), fires})
	return fires
}

// pass sets the clock forward, and fires the timers whose time has come.
func (c *fakeClock) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
	var left []timer
	for _, t := range c.timers {
		if t.at.After(c.now) {
			left = append(left, t)
		} else {
			t.fires <- c.now
		}
	}
	c.timers = left
}

// until fails the test if something does not hold after a while.
func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !holds(); runtime.Gosched() {
		if time.Now().After(end) {
			t.Fatalf("never: %s", what)
		}
	}
}

var files = storetest.Files(map[string]string{
	"content-types/article.yaml": `
kind: collectionType
info: {singularName: article, pluralName: articles, displayName: Article}
options: {draftAndPublish: true}
attributes:
  title: {type: string}
  key: {type: string, private: true}
  password: {type: password}
`,
	"content-types/tag.yaml": `
kind: collectionType
info: {singularName: tag, pluralName: tags, displayName: Tag}
options: {draftAndPublish: false}
attributes: {name: {type: string}}
`,
})

// A site is content with hooks. Its dispatcher may be stopped and started again.
type site struct {
	t          *testing.T
	model      *contenttypes.Model
	store      *store.Store
	docs       *documents.Service
	clock      *fakeClock
	log        bytes.Buffer
	hooks      []webhooks.Hook
	timeout    time.Duration // of an attempt; 0: the default
	dispatcher *webhooks.Dispatcher
	stop       func() // nil: the dispatcher does not run
}

func newSite(t *testing.T, hooks ...webhooks.Hook) *site {
	t.Helper()
	s := &site{t: t, model: storetest.Model(t, files), clock: newFakeClock(), hooks: hooks}
	s.store = storetest.Open(t, s.model)
	s.docs = documents.NewService(s.store, s.model, "en")
	return s
}

// start runs a new dispatcher, and waits until it has taken up its hooks.
func (s *site) start() {
	s.t.Helper()
	s.dispatcher = webhooks.New(s.clock, slog.New(slog.NewTextHandler(&s.log, nil)), func() webhooks.Content {
		return webhooks.Content{
			Store: s.store, Model: s.model,
			Document: func(_ context.Context, dst []byte, _ *store.Snapshot, r store.Record, _ bool) ([]byte, error) {
				return append(r.AppendFields(append(dst, '{'), documents.Scalars(r.Schema()).Fields, true), '}'), nil
			},
		}
	})
	s.dispatcher.AttemptTimeout = s.timeout
	s.dispatcher.Use(s.hooks)
	ctx, cancel := context.WithCancel(s.t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.dispatcher.Run(ctx)
	}()
	stopped := false
	s.stop = func() {
		if !stopped {
			stopped = true
			cancel()
			<-done
		}
	}
	s.t.Cleanup(s.stop)
	until(s.t, "the hooks are in the store", func() bool {
		n := 0
		err := s.store.View(func(snap *store.Snapshot) error {
			for _, h := range s.hooks {
				if snap.Note("webhooks/"+h.Name) != nil {
					n++
				}
			}
			return nil
		})
		return err == nil && n == len(s.hooks)
	})
}

func (s *site) write(do func(context.Context, documents.Write) error, uid, id string, status store.Status,
	data map[string]any) {
	s.t.Helper()
	w := documents.Write{Type: s.model.Type(uid), DocumentID: id, Status: status}
	if data != nil {
		w.Data = jsontree.NewObject()
		for k, v := range data {
			w.Data.Set(k, v)
		}
	}
	if err := do(s.t.Context(), w); err != nil {
		s.t.Fatal(err)
	}
}

// A request is what a receiver got.
type request struct {
	header http.Header
	raw    []byte
	body   map[string]any
	at     time.Time
	gone   <-chan struct{} // closed when the sender no longer waits for the answer
}

func (r *request) data(key string) string {
	data, _ := r.body["data"].(map[string]any)
	return fmt.Sprint(data[key])
}

// title returns the title or name of the document in a request.
func (r *request) title() string {
	data, _ := r.body["data"].(map[string]any)
	document, _ := data["document"].(map[string]any)
	if document["title"] != nil {
		return fmt.Sprint(document["title"])
	}
	return fmt.Sprint(document["name"])
}

// A receiver takes requests. answer says what it answers to each; nil answers 200 to all.
type receiver struct {
	*httptest.Server
	mu     sync.Mutex
	answer func(http.ResponseWriter, *request)
	got    []*request // all of them
	taken  []*request // those that were answered 2xx
}

type statusRecorder struct {
	http.ResponseWriter
	status int
}

func (w *statusRecorder) WriteHeader(status int) {
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}

func newReceiver(t *testing.T) *receiver {
	t.Helper()
	r := &receiver{}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		raw, _ := io.ReadAll(req.Body)
		q := &request{header: req.Header, raw: raw, at: time.Now(), gone: req.Context().Done()}
		if err := json.Unmarshal(raw, &q.body); err != nil {
			t.Error(err)
		}
		r.mu.Lock()
		answer := r.answer
		r.got = append(r.got, q)
		r.mu.Unlock()
		recorder := &statusRecorder{w, http.StatusOK}
		if answer != nil {
			answer(recorder, q)
		}
		if recorder.status/100 == 2 {
			r.mu.Lock()
			r.taken = append(r.taken, q)
			r.mu.Unlock()
		}
	}))
	t.Cleanup(r.Close)
	return r
}

func (r *receiver) answers(f func(http.ResponseWriter, *request)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answer = f
}

func (r *receiver) requests() []*request {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]*request(nil), r.got...)
}

func (r *receiver) accepted() []*request {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]*request(nil), r.taken...)
}

var loopback = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}

// hookTo returns a hook for all events of entries and files.
func hookTo(r *receiver) webhooks.Hook {
	return webhooks.Hook{Name: "all", URL: r.URL, Events: webhooks.Events(), Format: webhooks.Standard,
		AllowPrivate: loopback}
}
