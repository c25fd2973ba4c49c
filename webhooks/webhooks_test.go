package webhooks_test

import (
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"lectern/documents"
	"lectern/store"
	"lectern/webhooks"
)

const article, tag = "api::article.article", "api::tag.tag"

// TestEvents makes each change that there is, and compares the events that receivers get in both formats.
func TestEvents(t *testing.T) {
	standard, strapi := newReceiver(t), newReceiver(t)
	key := strings.Repeat("k", 32)
	secret, err := webhooks.ParseSecret("whsec_" + base64.StdEncoding.EncodeToString([]byte(key)))
	if err != nil {
		t.Fatal(err)
	}
	signed, compatible := hookTo(standard), hookTo(strapi)
	signed.Secrets, signed.Name, signed.Headers = []webhooks.Secret{secret}, "signed",
		map[string]string{"Authorization": "Bearer x"}
	compatible.Format, compatible.Types = webhooks.Strapi, []string{article}
	s := newSite(t, signed, compatible)
	s.start()
	s.write(s.docs.Create, article, "a", store.Draft,
		map[string]any{"title": "one", "key": "hidden", "password": "hidden"})
	s.write(s.docs.Publish, article, "a", 0, nil)
	s.write(s.docs.Update, article, "a", store.Published, map[string]any{"title": "two"})
	s.write(s.docs.Unpublish, article, "a", 0, nil)
	s.write(s.docs.Delete, article, "a", 0, nil)
	s.write(s.docs.Create, tag, "t", 0, map[string]any{"name": "three"})
	want := []string{
		"entry.create draft one", "entry.publish published one", "entry.update draft two",
		"entry.publish published two",
		"entry.unpublish published two", "entry.delete draft two", "entry.create published three",
	}
	until(t, "all events are delivered",
		func() bool { return len(standard.accepted()) == len(want) && len(strapi.accepted()) == len(want)-1 })
	ids := map[string]bool{}
	for _, r := range standard.accepted() {
		h := r.header
		mac := hmac.New(sha256.New, []byte(key))
		fmt.Fprintf(mac, "%s.%s.%s", h.Get("webhook-id"), h.Get("webhook-timestamp"), r.raw)
		if want := "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil)); h.Get("webhook-signature") != want {
			t.Errorf("the signature is %s, want %s", h.Get("webhook-signature"), want)
		}
		if ids[h.Get("webhook-id")] || h.Get("Authorization") != "Bearer x" ||
			strings.Contains(string(r.raw), "hidden") {
			t.Errorf("%v %s", h, r.raw)
		}
		ids[h.Get("webhook-id")] = true
	}
	inOrder := func(list []*request, text func(*request) string) (all []string) {
		for _, r := range list {
			all = append(all, text(r))
		}
		slices.SortFunc(all, func(a, b string) int { return cmp.Compare(slices.Index(want, a), slices.Index(want, b)) })
		return all
	}
	got := inOrder(standard.accepted(), func(r *request) string {
		return fmt.Sprint(r.body["type"], " ", r.data("status"), " ", r.title())
	})
	if !slices.Equal(got, want) {
		t.Errorf("standard: %q, want %q", got, want)
	}
	for i, r := range strapi.accepted() {
		entry, _ := r.body["entry"].(map[string]any)
		name, _, _ := strings.Cut(want[i], " ")
		if entry["title"] != want[i][len(want[i])-3:] || r.header.Get("X-Strapi-Event") != name ||
			r.body["event"] != name || r.body["model"] != "article" || r.body["uid"] != article ||
			entry["documentId"] != "a" {
			t.Errorf("strapi: %v %s, want %s", r.header, r.raw, name)
		}
	}
}

// sequences returns the sequences of accepted events by document, without repeats, and fails the test if a document has
// them out of order.
func sequences(t *testing.T, r *receiver) map[string][]string {
	t.Helper()
	seen, order := map[string]bool{}, map[string][]string{}
	for _, q := range r.accepted() {
		if id := q.header.Get("webhook-id"); !seen[id] {
			seen[id] = true
			order[q.data("documentId")] = append(order[q.data("documentId")], q.title())
		}
	}
	for document, list := range order {
		if !slices.IsSorted(list) {
			t.Errorf("%s: the events came in the order %q", document, list)
		}
	}
	return order
}

// writeTags writes each of some tags several times, in turns.
func (s *site) writeTags(documents, times int) {
	s.t.Helper()
	for i := range times {
		for d := range documents {
			do, name := s.docs.Update, map[string]any{"name": fmt.Sprintf("%03d", i)}
			if i == 0 {
				do = s.docs.Create
			}
			s.write(do, tag, fmt.Sprint("tag", d), 0, name)
		}
	}
}

// delivered has time pass until a receiver has accepted all events of the tags, each at least once and in order.
func (s *site) delivered(r *receiver, documents, times int) {
	s.t.Helper()
	until(s.t, "all events are delivered", func() bool {
		s.clock.pass(20 * time.Second)
		n := 0
		for _, list := range sequences(s.t, r) {
			n += len(list)
		}
		return n >= documents*times
	})
	for document, list := range sequences(s.t, r) {
		if len(list) != times {
			s.t.Errorf("%s: %q", document, list)
		}
	}
}

// settled waits until the dispatcher of the one hook has had all answers and has nothing left to send.
func (s *site) settled() {
	s.t.Helper()
	until(s.t, "nothing is left", func() bool {
		list, err := s.dispatcher.List(s.t.Context())
		return err == nil && len(list) == 1 && list[0].Dead == 0 && list[0].Waiting == 0 && list[0].Unread == 0
	})
}

// TestFailingReceivers sends events to receivers that fail in different ways. Nothing may be lost, and the order of
// each document is kept.
func TestFailingReceivers(t *testing.T) {
	const documents, times = 12, 10
	for name, answer := range map[string]func() func(http.ResponseWriter, *request){
		"half of the time": func() func(http.ResponseWriter, *request) {
			n := 0
			return func(w http.ResponseWriter, _ *request) {
				if n++; n%2 == 0 {
					w.WriteHeader([]int{500, 404, 301, 429}[n/2%4])
				}
			}
		},
		"for one document": func() func(http.ResponseWriter, *request) {
			n := 0
			return func(w http.ResponseWriter, r *request) {
				if r.data("documentId") == "tag3" {
					if n++; n < 5 {
						w.WriteHeader(400)
					}
				}
			}
		},
		"for an hour": func() func(http.ResponseWriter, *request) {
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newReceiver(t)
			s := newSite(t, hookTo(r))
			var up time.Time
			s.start()
			f := answer()
			if f == nil {
				up = s.clock.Now().Add(time.Hour)
				f = func(w http.ResponseWriter, _ *request) {
					if s.clock.Now().Before(up) {
						w.WriteHeader(503)
					}
				}
			}
			var serial = make(chan struct{}, 1)
			r.answers(func(w http.ResponseWriter, q *request) {
				serial <- struct{}{}
				defer func() { <-serial }()
				f(w, q)
			})
			s.writeTags(documents, times)
			s.delivered(r, documents, times)
			if failed := len(r.requests()) - len(r.accepted()); failed == 0 || !up.IsZero() && failed > 150 {
				t.Errorf("%d requests failed", failed)
			}
		})
	}
}

// TestOneDocumentWaits has one document fail: all others must be delivered meanwhile, and its later events must wait.
func TestOneDocumentWaits(t *testing.T) {
	r := newReceiver(t)
	r.answers(func(w http.ResponseWriter, q *request) {
		if q.data("documentId") == "tag0" {
			w.WriteHeader(400)
		}
	})
	s := newSite(t, hookTo(r))
	s.start()
	s.writeTags(3, 4)
	until(t, "the others are delivered", func() bool { return len(r.accepted()) == 8 })
	for _, q := range r.requests() {
		if q.data("documentId") == "tag0" && q.title() != "000" {
			t.Errorf("event %s of a document was sent before the first was delivered", q.title())
		}
	}
}

// TestRestarts stops and starts the dispatcher while a receiver fails. Ids stay the same, nothing is lost, and what was
// delivered long ago is not sent again.
func TestRestarts(t *testing.T) {
	r := newReceiver(t)
	s := newSite(t, hookTo(r))
	s.start()
	s.writeTags(4, 3)
	s.delivered(r, 4, 3)
	s.settled() // the receiver knows of its last answer before the dispatcher does
	s.clock.pass(time.Minute)
	s.stop()
	before := len(r.requests())
	r.answers(func(w http.ResponseWriter, q *request) {
		if q.data("documentId") == "tag1" {
			w.WriteHeader(500)
		}
	})
	s.start()
	for i := range 4 {
		s.write(s.docs.Update, tag, fmt.Sprint("tag", i), 0, map[string]any{"name": "100"})
		s.write(s.docs.Update, tag, fmt.Sprint("tag", i), 0, map[string]any{"name": "101"})
	}
	until(t, "all but one are delivered", func() bool { return len(r.accepted()) == 12+6 })
	until(t, "one has failed", func() bool { return len(r.requests()) > before+6 })
	for range 3 {
		s.stop()
		if n := len(r.requests()); n > 12+6+30 {
			t.Fatalf("there were %d requests", n)
		}
		s.start()
		until(t, "it is tried again at once", func() bool {
			return slices.ContainsFunc(r.requests(), func(q *request) bool { return q.title() == "100" })
		})
	}
	r.answers(nil)
	s.delivered(r, 4, 5)
	if n := len(r.accepted()); n > 20+6 { // those whose answer came while the dispatcher stopped are sent again
		t.Errorf("%d requests were accepted for 20 events", n)
	}
}

// TestNewHooksBeginNow gives a site a hook that has content already. It must not be sent what happened before.
func TestNewHooksBeginNow(t *testing.T) {
	r := newReceiver(t)
	s := newSite(t, hookTo(r))
	s.writeTags(2, 2)
	s.start()
	s.write(s.docs.Create, tag, "new", 0, map[string]any{"name": "new"})
	until(t, "the event is delivered", func() bool { return len(r.accepted()) == 1 })
	if got := r.requests()[0].title(); got != "new" {
		t.Errorf("the first event is about %s", got)
	}
}

// TestDeadLetters has a receiver refuse a document for more than three days, and replays its dead letter.
func TestDeadLetters(t *testing.T) {
	r := newReceiver(t)
	r.answers(func(w http.ResponseWriter, q *request) {
		if q.title() == "000" {
			w.WriteHeader(422)
			fmt.Fprint(w, "no\x00such\n thing")
		}
	})
	s := newSite(t, hookTo(r))
	s.start()
	s.writeTags(1, 2)
	began := s.clock.Now()
	until(t, "the second event is delivered", func() bool {
		l, err := s.dispatcher.Log(t.Context(), "all")
		if err == nil && len(l.Waiting) == 1 && l.Waiting[0].Attempts == len(r.requests()) {
			s.clock.pass(l.Waiting[0].Next.Sub(s.clock.Now()))
		}
		return err == nil && len(r.accepted()) == 1
	})
	if waited := s.clock.Now().Sub(began); waited < 72*time.Hour {
		t.Errorf("the first event was given up after %s", waited)
	}
	if n := len(r.requests()); n < 15 || n > 40 {
		t.Errorf("there were %d attempts in three days", n)
	}
	s.stop()
	l, err := s.dispatcher.Log(t.Context(), "all") // of a dispatcher that does not run
	if err != nil || len(l.Dead) != 1 || l.Dead[0].Document != "tag0" ||
		l.Dead[0].Reason != "answered 422 Unprocessable Entity: no such thing" {
		t.Fatalf("the log is %+v (%v)", l, err)
	}
	r.answers(nil)
	replayed, err := s.dispatcher.Replay(t.Context(), "all", time.Time{})
	if err != nil || replayed.DeadLetters != 1 {
		t.Fatalf("replayed %+v (%v)", replayed, err)
	}
	s.start()
	until(t, "the dead letter is delivered, with its first id", func() bool {
		return slices.ContainsFunc(r.accepted(), func(q *request) bool {
			return q.title() == "000" && q.header.Get("webhook-id") == r.requests()[0].header.Get("webhook-id")
		})
	})
	s.settled()
}

// TestReplaySince sends the events since a time again.
func TestReplaySince(t *testing.T) {
	r := newReceiver(t)
	s := newSite(t, hookTo(r))
	s.start()
	s.writeTags(2, 3)
	s.delivered(r, 2, 3)
	replayed, err := s.dispatcher.Replay(t.Context(), "all", time.Now().Add(-time.Hour))
	if err != nil || replayed.Entries < 6 || replayed.Missing {
		t.Fatalf("replayed %+v (%v)", replayed, err)
	}
	until(t, "all are sent again", func() bool { return len(r.accepted()) == 12 })
	count := map[string]int{}
	for _, q := range r.accepted() {
		count[q.header.Get("webhook-id")]++
	}
	if times := slices.Sorted(maps.Values(count)); !slices.Equal(times, []int{2, 2, 2, 2, 2, 2}) {
		t.Errorf("the events came %v times", times)
	}
	if _, err = s.dispatcher.Replay(t.Context(), "none", time.Time{}); err == nil ||
		err.Error() != "there is no webhook none; there are all" {
		t.Error(err)
	}
}

// TestPrivateAddresses sends to an address that is not public, by redirect too. The request must not arrive.
func TestPrivateAddresses(t *testing.T) {
	inside, outside := newReceiver(t), newReceiver(t)
	outside.answers(func(w http.ResponseWriter, _ *request) {
		w.Header().Set("Location", inside.URL)
		w.WriteHeader(http.StatusTemporaryRedirect)
	})
	direct, redirected := hookTo(inside), hookTo(outside)
	direct.Name, direct.AllowPrivate = "direct", nil
	s := newSite(t, direct, redirected)
	s.start()
	s.writeTags(1, 1)
	reason := func(hook string) string {
		l, err := s.dispatcher.Log(t.Context(), hook)
		if err != nil {
			t.Fatal(err)
		}
		if len(l.Waiting) == 0 {
			return ""
		}
		return l.Waiting[0].Reason
	}
	until(t, "both have failed", func() bool { return reason("direct") != "" && reason("all") != "" })
	if got := reason("direct"); !strings.Contains(got, "127.0.0.1: the address is not public") {
		t.Errorf("direct: %s", got)
	}
	if got := reason("all"); !strings.Contains(got, "redirects are not followed") {
		t.Errorf("redirected: %s", got)
	}
	if test, err := s.dispatcher.Test(t.Context(), "direct"); err != nil || test.Status != 0 || test.Error == "" {
		t.Errorf("the test says %+v (%v)", test, err)
	}
	if n := len(inside.requests()); n > 0 {
		t.Errorf("%d requests arrived", n)
	}
}

// TestGone has a receiver answer 410. Nothing more is sent until the hook is resumed; then nothing is missing.
func TestGone(t *testing.T) {
	r := newReceiver(t)
	r.answers(func(w http.ResponseWriter, _ *request) { w.WriteHeader(http.StatusGone) })
	s := newSite(t, hookTo(r))
	s.start()
	s.writeTags(1, 1)
	stopped := func() string {
		list, err := s.dispatcher.List(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return list[0].Stopped
	}
	until(t, "the hook is stopped", func() bool { return strings.Contains(stopped(), "410 Gone") })
	s.write(s.docs.Create, tag, "later", 0, map[string]any{"name": "later"})
	s.clock.pass(24 * time.Hour)
	s.stop()
	s.start()
	if n := len(r.requests()); n != 1 || stopped() == "" {
		t.Errorf("%d requests were sent, and the hook is stopped because %q", n, stopped())
	}
	r.answers(nil)
	if _, err := s.dispatcher.Replay(t.Context(), "all", time.Time{}); err != nil {
		t.Fatal(err)
	}
	until(t, "both events are delivered", func() bool { return len(r.accepted()) == 2 })
}

// TestHooksChange replaces the hooks of a dispatcher that runs.
func TestHooksChange(t *testing.T) {
	former, next := newReceiver(t), newReceiver(t)
	s := newSite(t, hookTo(former))
	s.start()
	s.writeTags(1, 1)
	until(t, "the first event is delivered", func() bool { return len(former.accepted()) == 1 })
	moved := hookTo(next)
	s.dispatcher.Use([]webhooks.Hook{moved})
	s.write(s.docs.Create, tag, "second", 0, map[string]any{"name": "second"})
	until(t, "the second event is delivered", func() bool { return len(next.accepted())+len(former.accepted()) >= 2 })
	moved.Disabled = true
	s.dispatcher.Use([]webhooks.Hook{moved})
	until(t, "the notes are gone", func() bool {
		left := false
		err := s.store.View(func(snap *store.Snapshot) error { left = snap.Note("webhooks/all") != nil; return nil })
		return err == nil && !left
	})
}

// TestTrimmedLog has the log lose entries that a hook has not read. The receiver is told, and gets all that is left.
func TestTrimmedLog(t *testing.T) {
	r := newReceiver(t)
	s := newSite(t, hookTo(r))
	small, err := store.Open(filepath.Join(t.TempDir(), "content.db"), s.model,
		store.Options{Log: store.LogLimits{MaxSize: 16 << 10}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(small.Check(), small.Close()); err != nil {
			t.Error(err)
		}
	})
	s.store, s.docs = small, documents.NewService(small, s.model, "en")
	s.start()
	s.stop()
	s.writeTags(1, 400)
	s.start()
	until(t, "the last event is delivered", func() bool {
		list := r.accepted()
		return slices.ContainsFunc(list, func(q *request) bool { return q.title() == "399" })
	})
	resets := 0
	for _, q := range r.accepted() {
		if q.body["type"] == "log.reset" {
			resets++
		}
	}
	order := sequences(t, r)["tag0"]
	if resets != 1 || len(order) == 400 || len(order) < 10 {
		t.Errorf("there were %d resets and %d events", resets, len(order))
	}
	list, err := s.dispatcher.List(t.Context())
	if err != nil || list[0].Counters.LostEntries == 0 ||
		!strings.Contains(s.log.String(), "the log of changes was trimmed") {
		t.Errorf("the list is %+v (%v)", list, err)
	}
}
