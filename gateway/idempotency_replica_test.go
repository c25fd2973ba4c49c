package gateway_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"lectern/gateway"
)

// keyedNote sends the creation of a note with the key "one", and returns the text of the answer and whether it was
// given before.
func keyedNote(t *testing.T, base, key string, body io.Reader) (text string, replayed bool) {
	t.Helper()
	r, err := http.NewRequest("POST", base+"/api/notes", body)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer "+key)
	r.Header.Set("Idempotency-Key", `"one"`)
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	sent, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != 201 {
		t.Fatalf("POST %s/api/notes: %d %s (%v)", base, answer.StatusCode, sent, err)
	}
	return string(sent), answer.Header.Get("Idempotency-Replayed") == "true"
}

// TestIdempotencyKeysHoldThroughReplicas writes with a key through a replica. The origin, the replica and, when it was
// promoted, the new origin give the same answer to the key.
func TestIdempotencyKeysHoldThroughReplicas(t *testing.T) {
	const body = `{"data":{"title":"Soup"}}`
	e := newEditing(t)
	dir := t.TempDir()
	r := serveReplica(t, dir, gateway.Options{Follow: &gateway.Follow{URL: e.base, Token: e.key, Forward: true}})
	first, replayed := keyedNote(t, r.base, e.key, strings.NewReader(body))
	if replayed {
		t.Error("the first answer was given before")
	}
	same := func(where, base string) {
		t.Helper()
		if text, replayed := keyedNote(t, base, e.key, strings.NewReader(body)); text != first || !replayed {
			t.Errorf("%s answers %s, given before: %t\nwant %s", where, text, replayed, first)
		}
	}
	same("the replica", r.base)
	same("the origin", e.base)
	r.equals(e.base, e.key, "/api/notes?status=draft")
	r.stop()
	if err := gateway.Promote(dir, gateway.Options{}, false); err != nil {
		t.Fatal(err)
	}
	made, _ := run(t, dir, gateway.Options{}, nil)
	same("the promoted replica", made.Base)
	if status, text := get(t, made.Base+"/api/notes?status=draft", e.key); status != 200 ||
		strings.Count(text, "Soup") != 1 {
		t.Errorf("the promoted replica has %d %s", status, text)
	}
}

// TestIdempotencyKeysOutliveChangedDefinitions changes the definitions while a write with a key is on its way, so that
// it is retried, and between two requests with the same key.
func TestIdempotencyKeysOutliveChangedDefinitions(t *testing.T) {
	e := newEditing(t)
	define := func(rest string) {
		t.Helper()
		e.write("content-types/note.yaml", noteFile(rest))
		if err := e.awaitReload(); err != nil {
			t.Fatal(err)
		}
	}
	body, more := io.Pipe()
	var first string
	done := make(chan struct{})
	go func() {
		defer close(done)
		first, _ = keyedNote(t, e.base, e.key, body)
	}()
	if _, err := io.WriteString(more, `{"data":{"title":`); err != nil {
		t.Fatal(err)
	}
	define("weight: {type: integer}")
	if _, err := io.WriteString(more, `"Soup"}}`); err != nil {
		t.Fatal(err)
	}
	more.Close()
	<-done
	define("height: {type: integer}")
	text, replayed := keyedNote(t, e.base, e.key, strings.NewReader(`{"data":{"title":"Soup"}}`))
	if text != first || !replayed {
		t.Errorf("answered %s\nand then %s (given before: %t)", first, text, replayed)
	}
	if !strings.Contains(first, "weight") {
		t.Errorf("the answer is not that of the new definitions: %s", first)
	}
}
