package webhooks_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"lectern/documents"
	"lectern/internal/clock"
	"lectern/internal/storetest"
	"lectern/jsontree"
	"lectern/store"
	"lectern/webhooks"
)

// BenchmarkDeliver sends events of 100 documents to a receiver on this machine: from the commit of the last write,
// which all wait for, until all were accepted.
func BenchmarkDeliver(b *testing.B) {
	var accepted atomic.Int64
	all := make(chan struct{})
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if accepted.Add(1) == int64(b.N) {
			close(all)
		}
	}))
	defer receiver.Close()
	model := storetest.Model(b, files)
	st := storetest.Open(b, model)
	docs := documents.NewService(st, model, "en")
	d := webhooks.New(clock.System, slog.New(slog.DiscardHandler), func() webhooks.Content {
		return webhooks.Content{Store: st, Model: model,
			Document: func(_ context.Context, dst []byte, _ *store.Snapshot, r store.Record, _ bool) ([]byte, error) {
				return append(r.AppendFields(append(dst, '{'), documents.Scalars(r.Schema()).Fields, true), '}'), nil
			}}
	})
	secret, err := webhooks.ParseSecret("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
	if err != nil {
		b.Fatal(err)
	}
	d.Use([]webhooks.Hook{{Name: "a", URL: receiver.URL, Events: webhooks.Events(), Format: webhooks.Standard,
		AllowPrivate: loopback, Secrets: []webhooks.Secret{secret}}})
	ctx, cancel := context.WithCancel(b.Context())
	run := func() {
		done := make(chan struct{})
		go func() { defer close(done); d.Run(ctx) }()
		b.Cleanup(func() { cancel(); <-done })
	}
	if _, err := d.Replay(
		ctx, "a", time.Now().Add(-time.Hour)); err != nil { // so that the hook begins before the writes
		b.Fatal(err)
	}
	for i := range b.N {
		w := documents.Write{Type: model.Type(tag), DocumentID: fmt.Sprint("tag", i%100), Data: jsontree.NewObject()}
		w.Data.Set("name", fmt.Sprint(i))
		do := docs.Update
		if i < 100 {
			do = docs.Create
		}
		if err := do(ctx, w); err != nil {
			b.Fatal(err)
		}
	}
	b.ResetTimer()
	run()
	<-all
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "events/s")
}
