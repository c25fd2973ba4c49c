package gateway_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"lectern/documents/permission"
	"lectern/gateway"
	"lectern/gateway/admin"
)

// status reads the status of a server.
func (a *api) serverStatus(as string) (s admin.Status) {
	a.t.Helper()
	var answer struct {
		Data *admin.Status
		Meta map[string]any
	}
	answer.Data = &s
	r := a.want(200, "GET", "/api/_status", as, nil)
	if err := json.Unmarshal([]byte(r.text), &answer); err != nil || answer.Meta == nil {
		a.t.Fatalf("%v in %s", err, r.text)
	}
	if got := r.header.Get("Cache-Control"); got != "no-store" {
		a.t.Errorf("Cache-Control: %s", got)
	}
	return s
}

// failing adds routes of a program that fail.
func failing() *gateway.Extensions {
	x := &gateway.Extensions{}
	x.Handle(gateway.Route{Method: "GET", Path: "/api/failing", Open: true,
		Handle: func(http.ResponseWriter, *http.Request, *permission.Access) error { return errors.New("secret-cause") }})
	return x
}

// TestStatus asks for the status with and without the permission, and expects what has happened in it, with nothing
// that the access log would not have.
func TestStatus(t *testing.T) {
	files := with(map[string]string{
		"config/webhooks.yaml": "webhooks: [{name: site, url: 'http://127.0.0.1:1/secret-path', format: strapi, allowPrivate: [127.0.0.1]}]",
		"config/permissions.yaml": peopleFiles["config/permissions.yaml"] +
			"tokens:\n  - {name: watcher, type: custom, permissions: {'lectern::server': [status]}}\n",
	})
	ready, _ := run(t, writeProject(t, files), gateway.Options{Ephemeral: true, Version: "1.2.3", Extensions: failing()}, nil)
	a := newAPI(t, ready)
	for as, status := range map[string]int{"": 403, "readonly": 403, "wrong": 401} {
		if r := a.do("GET", "/api/_status", as, nil); r.status != status {
			t.Errorf("as %q: %d %s", as, r.status, r.text)
		}
	}
	a.want(201, "POST", "/api/articles", "full", object{"data": object{"title": "one"}})
	for range 3 {
		a.want(200, "GET", "/api/articles?filters[title]=secret-title", "", nil)
	}
	failed := a.want(500, "GET", "/api/failing?key=secret-key", "", nil)
	s := a.serverStatus("watcher")
	if s.Version != "1.2.3" || s.Mode != "single" || s.Condition.State != "ready" || s.Disk == 0 || s.Memory == 0 ||
		s.Started.IsZero() || s.LastBackup != nil || s.Cluster != nil || len(s.Replicas) != 0 || len(s.Slow) != 0 {
		t.Errorf("%+v", s)
	}
	if n := len(s.Series.Times); n == 0 || len(s.Series.P99) != n || len(s.Series.Free) != n || len(s.Series.Writes) != n {
		t.Errorf("%+v", s.Series)
	}
	routes := map[string]admin.RouteStatus{}
	for _, of := range s.Routes {
		routes[of.Method+" "+of.Route] = of
	}
	if of := routes["GET /api/articles"]; of.Requests != 3 || of.P50 == nil {
		t.Errorf("%+v", s.Routes)
	}
	if of := routes["GET /api/_status"]; of.Requests != 3 || of.ClientErrors != 3 {
		t.Errorf("%+v", of)
	}
	if len(s.Failed) != 1 || s.Failed[0].ID != failed.header.Get("X-Request-Id") || s.Failed[0].Route != "/api/failing" ||
		s.Failed[0].Status != 500 || s.Failed[0].Principal != "public" {
		t.Errorf("%+v", s.Failed)
	}
	if len(s.Webhooks) != 1 || s.Webhooks[0].Name != "site" {
		t.Errorf("%+v", s.Webhooks)
	}
	if text := a.want(200, "GET", "/api/_status", "full", nil).text; strings.Contains(text, "secret-") {
		t.Errorf("secrets in %s", text)
	}
}

// TestStatusTellsWhatDoesNotFit expects what the report of a start logs in the status, too.
func TestStatusTellsWhatDoesNotFit(t *testing.T) {
	dir := misfitProject(t)
	ready, _ := run(t, dir, gateway.Options{}, nil)
	directory := gateway.Directory(dir, gateway.Options{})
	until(t, "the report", func() bool {
		s, err := directory.Status(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		text := strings.Join(s.Warnings, "\n")
		return strings.Contains(text, "is required and missing") && strings.Contains(text, "does not list the locale de")
	})
	_ = ready
}

// TestNotableRequests sends requests to a server that takes all for slow, and to one that takes none.
func TestNotableRequests(t *testing.T) {
	x := failing()
	x.Handle(gateway.Route{Method: "GET", Path: "/api/events", Open: true, Streams: true,
		Handle: func(w http.ResponseWriter, _ *http.Request, _ *permission.Access) error {
			w.Header().Set("Content-Type", "text/event-stream")
			w.WriteHeader(http.StatusOK)
			return nil
		}})
	for _, test := range []struct {
		path string
		slow time.Duration
		want int // how many are noted
	}{
		{"/api/none", 0, 1}, {"/api/none", time.Hour, 0}, {"/api/events", 0, 0}, {"/_health", 0, 0},
		{"/api/failing", time.Hour, 1},
	} {
		var noted []string
		s, err := gateway.NewServer(gateway.Config{SlowAfter: test.slow,
			Notable: func(n gateway.Notable) { noted = append(noted, n.Route) }}, gateway.Runtime{Extensions: x})
		if err != nil {
			t.Fatal(err)
		}
		s.Handler().ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", test.path, nil))
		if len(noted) != test.want {
			t.Errorf("%+v: %v", test, noted)
		}
	}
}

// TestStatusOfReplica asks a replica and its origin.
func TestStatusOfReplica(t *testing.T) {
	dir := t.TempDir()
	e := &editing{T: t, dir: dir}
	e.write("content-types/note.yaml", noteFile())
	e.serve(nil)
	r := follow(t, t.TempDir(), e.base, e.key)
	of := func(base string) (s admin.Status) {
		answer := newAPI(t, gateway.Ready{Base: base}).want(200, "GET", "/api/_status", e.key, nil)
		if err := json.Unmarshal([]byte(answer.text), &struct{ Data *admin.Status }{&s}); err != nil {
			t.Fatal(err)
		}
		return s
	}
	until(t, "the replica is in step", func() bool {
		s := of(r.base)
		return s.Mode == "replica" && s.Condition.Replica != nil && s.Condition.Replica.InStep
	})
	if s := of(e.base); s.Mode != "single" || len(s.Replicas) != 1 || s.Condition.Replica != nil {
		t.Errorf("%+v", s)
	}
}

// TestStatusOfNode asks a node of a cluster.
func TestStatusOfNode(t *testing.T) {
	nodes := newCluster(t, 2)
	key := nodes[0].token("watcher")
	var s admin.Status
	until(t, "the node has the token", func() bool {
		status, _, text := nodes[1].ask("GET", "/api/_status", key, "")
		if status == 200 {
			if err := json.Unmarshal([]byte(text), &struct{ Data *admin.Status }{&s}); err != nil {
				t.Fatal(err)
			}
		}
		return status == 200
	})
	if s.Mode != "node" || s.Cluster == nil || len(s.Cluster.Nodes) != 2 || s.Cluster.Leader == "" {
		t.Errorf("%+v", s)
	}
}
