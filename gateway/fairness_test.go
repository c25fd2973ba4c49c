package gateway_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"runtime"
	"strings"
	"sync"
	"testing"
)

// essayFiles have long texts that everybody may search.
var essayFiles = withMetrics(map[string]string{
	"content-types/essay.yaml": `
kind: collectionType
info: {singularName: essay, pluralName: essays, displayName: Essay}
attributes:
  title: {type: string}
  text: {type: richtext}
`,
	"config/permissions.yaml": "roles: {public: {api::essay.essay: [find, stream, create]}}\n",
})

// writeEssays writes documents with a text of 20 kB each.
func writeEssays(a *api, n int) {
	a.t.Helper()
	for i := range n {
		a.want(201, "POST", "/api/essays", "",
			object{"data": object{"title": fmt.Sprint("essay ", i),
				"text": strings.Repeat("a text without end ", 1000)}})
	}
}

// search returns the filters of a search for so many words, none of which any essay has.
func search(words int) (rest string, graphql []object) {
	query := url.Values{}
	for i := range words {
		word := fmt.Sprint("lacking", i)
		query.Set(fmt.Sprintf("filters[$or][%d][text][$containsi]", i), word)
		graphql = append(graphql, object{"text": object{"containsi": word}})
	}
	return query.Encode(), graphql
}

// TestHeavyReadsLeaveRoomForShortOnes attacks the processors with reads that take long, over REST, GraphQL and as
// streams: few of them run at a time, and short reads do not wait for them.
func TestHeavyReadsLeaveRoomForShortOnes(t *testing.T) {
	a := serve(t, essayFiles)
	writeEssays(a, 30)
	rest, graphql := search(99)
	asked, err := json.Marshal(object{"query": "query($f: EssayFiltersInput) { essays(filters: $f) { title } }",
		"variables": object{"f": object{"or": graphql}}})
	if err != nil {
		t.Fatal(err)
	}
	for _, attack := range []struct {
		name, method, path, accept string
		body                       []byte
	}{
		{"REST", "GET", "/api/essays?" + rest, "", nil},
		{"a stream", "GET", "/api/essays?" + rest, "application/x-ndjson", nil},
		{"GraphQL", "POST", "/graphql", "", asked},
	} {
		t.Run(attack.name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			var attackers sync.WaitGroup
			for range 2 + runtime.GOMAXPROCS(0) {
				attackers.Go(func() {
					for ctx.Err() == nil {
						r, err := http.NewRequestWithContext(ctx, attack.method, a.Base+attack.path,
							bytes.NewReader(attack.body))
						if err != nil {
							t.Error(err)
							return
						}
						r.Header.Set("Content-Type", "application/json")
						r.Header.Set("Accept", attack.accept)
						if answer, err := a.client.Do(r); err == nil {
							_, _ = io.Copy(io.Discard, answer.Body)
							answer.Body.Close()
						}
					}
				})
			}
			s := a.scrape()
			for s.value("lectern_places_waiting", "of", "processors") == 0 {
				a.want(200, "GET", "/api/essays?fields=title&pagination[pageSize]=1", "", nil)
				s = a.scrape()
			}
			if held, most := s.value("lectern_places", "of", "processors"),
				max(1, runtime.GOMAXPROCS(0)-1); held > float64(most) {
				t.Errorf("%v long reads run at a time, want %d at most", held, most)
			}
			cancel()
			attackers.Wait()
			for s.value("lectern_places", "of", "processors")+
				s.value("lectern_places_waiting", "of", "processors") > 0 {
				s = a.scrape() // until the reads notice that their clients are gone
			}
		})
	}
}

// TestHeavySubscriptionsTakeTurns compares one long text with many conditions of many subscriptions: they take turns at
// the processors, as reads do.
func TestHeavySubscriptionsTakeTurns(t *testing.T) {
	files := maps.Clone(essayFiles)
	files["config/server.yaml"] += "limits: {subscriptionConditions: 100000, subscriptionConditionsPerAddress: 100000}\n"
	files["config/plugins.yaml"] = "graphql: {config: {subscriptions: true}}\n"
	a := serve(t, files)
	_, conditions := search(99)
	asked, err := json.Marshal(object{
		"query":     "subscription($f: EssayFiltersInput) { essayChanged(filters: $f) { change } }",
		"variables": object{"f": object{"or": conditions}},
	})
	if err != nil {
		t.Fatal(err)
	}
	var streams []*stream
	for range 4 * runtime.GOMAXPROCS(0) {
		streams = append(streams, a.stream("POST", "/graphql", "", asked))
	}
	a.want(201, "POST", "/api/essays", "",
		object{"data": object{"title": "long", "text": strings.Repeat("a text without end ", 40_000)}})
	told, waited := make(chan bool), false
	go func() {
		defer close(told)
		for _, s := range streams {
			if e := <-s.events; e.data != `{"data":{"essayChanged":{"change":"DELETE"}}}` {
				t.Errorf("event %q with %s", e.name, e.data)
			}
		}
	}()
	for done := false; !done; {
		waited = waited || a.scrape().value("lectern_places_waiting", "of", "processors") > 0
		select {
		case <-told:
			done = true
		default:
		}
	}
	if !waited {
		t.Error("no subscription waited for its turn")
	}
}

// TestSubscriptionConditionsAreBounded subscribes with more conditions than all subscriptions may have together, in the
// operation and in its variables.
func TestSubscriptionConditionsAreBounded(t *testing.T) {
	files := maps.Clone(essayFiles)
	files["config/server.yaml"] += "limits: {subscriptionConditions: 6, subscriptionConditionsPerAddress: 6}\n"
	files["config/plugins.yaml"] = "graphql: {config: {subscriptions: true}}\n"
	a := serve(t, files)
	text := func(query string, variables object) []byte {
		body, err := json.Marshal(object{"query": query, "variables": variables})
		if err != nil {
			t.Fatal(err)
		}
		return body
	}
	three := text(`subscription { essayChanged(filters: {title: {contains: "a", startsWith: "b"}}) { change } }`,
		nil) // and their object
	inVariables := text("subscription($f: EssayFiltersInput) { essayChanged(filters: $f) { change } }",
		object{"f": object{"title": object{"contains": "a", "startsWith": "b"}}})
	first := a.stream("POST", "/graphql", "", three)
	second := a.stream("POST", "/graphql", "", inVariables)
	for _, s := range []*stream{first, second} {
		if s.status != 200 {
			t.Fatalf("as many conditions as there may be: %d", s.status)
		}
	}
	for _, body := range [][]byte{three, inVariables} {
		r := a.do("POST", "/graphql", "", string(body), "Accept", "text/event-stream")
		if r.status != 503 || r.header.Get("Retry-After") == "" ||
			!strings.Contains(r.text, "limits.subscriptionConditions: 6") {
			t.Errorf("more conditions: %d %s", r.status, r.text)
		}
	}
	if s := a.subscribe("subscription { essayChanged { change } }", ""); s.status != 200 {
		t.Errorf("without conditions: %d", s.status)
	}
	first.stop()
	for a.stream("POST", "/graphql", "",
		inVariables).status != 200 { // the server notices a moment later that the first is gone
		runtime.Gosched()
	}
	if held := a.scrape().value("lectern_places", "of", "conditions"); held != 6 {
		t.Errorf("%v conditions are counted, want 6", held)
	}
}
