package gateway

import (
	"encoding/json"
	"errors"
	"net/http"

	"lectern/gateway/admin"
	"lectern/gateway/internal/server"
	"lectern/media"
	"lectern/store"
)

// storeConditions maps each state of the store but Sound to the condition that GET /_health describes. Anybody may ask
// for conditions, so they contain no path and no error text; those are in the log.
var storeConditions = map[store.State]admin.Condition{
	store.Full: {
		Message: "There is no space left on the disk: reads and deletions go on, other writes are answered 507.",
		Action:  "Free space, or delete content or files. The server takes writes again by itself.",
	},
	store.Lost: {
		Message: "The file of the store was removed or replaced: reads go on, writes are answered 503.",
		Action:  "Put the file back if it was moved. Otherwise take a backup of the running server, stop it, and restore that.",
	},
	store.Damaged: {
		Message: "The store is damaged, or a write failed to reach the disk: reads go on, writes are answered 503.",
		Action: "See the log, run `lectern check --store` and check the disk. " +
			"Restart the server if the store is whole; otherwise restore a backup, " +
			"or save what can be read with `lectern salvage`.",
	},
}

var uploadsUnwritable = admin.Condition{
	State:   "unwritable",
	Message: "Files cannot be stored: the directory of uploads is gone or cannot be written to. All else goes on.",
	Action:  "Put the directory back, or let the server write into it. If it is gone for good, the next upload makes it anew.",
}

var uploadsFull = admin.Condition{
	State:   "uploads-full",
	Message: "There is no space left on the disk of uploads: uploads are answered 507. All else goes on.",
	Action:  "Free space, or delete files. The server stores files again by itself.",
}

// Conditions of a server that is not ready although its store may be sound.
var (
	starting = admin.Condition{
		State:   "starting",
		Message: "The server opens the project: requests are answered 503.",
		Action:  "Wait.",
	}
	converting = admin.Condition{
		State:   "converting",
		Message: "The definitions have changed, and the server converts the content: requests are answered 503.",
		Action:  "Wait; the log shows the progress. A conversion that is cut off goes on at the next start.",
	}
	draining = admin.Condition{
		State:   "draining",
		Message: "The server was told to stop: it answers the requests that still arrive.",
		Action:  "Send requests to another server, or wait for the next start.",
	}
)

// health returns the condition of the store, or else that of the directory of uploads; nil if both work.
func (g *generation) health() *admin.Condition {
	if problem := conditionOf(g.store.Health()); problem != nil {
		return problem
	}
	if g.media == nil {
		return nil
	}
	switch err := g.media.Health(); { // a failing upload logs the cause
	case errors.Is(err, media.ErrNoRoom):
		return &uploadsFull
	case err != nil:
		return &uploadsUnwritable
	}
	return nil
}

// readiness returns why the server should get no requests; nil if it should: the store is open, converted and sound,
// nobody has told the server to stop, and a node of a cluster is up to date.
func (p *Project) readiness() *admin.Condition {
	if reason := p.unready.Load(); reason != nil {
		return reason
	}
	if problem := conditionOf(p.generation.Load().store.Health()); problem != nil {
		return problem
	}
	return p.role.Condition()
}

// conditionOf returns the condition that the health of a store is; nil if it is sound.
func conditionOf(h store.Health) *admin.Condition {
	if h.State == store.Sound {
		return nil
	}
	c := storeConditions[h.State]
	c.State, c.Since = h.State.String(), h.Since.UTC()
	return &c
}

// A conditionHandler answers with the condition of the server: by fine if there is no problem, and otherwise with 503
// and the problem.
type conditionHandler struct {
	condition func() *admin.Condition // returns nil if there is no problem; nil: never a problem
	fine      func(http.ResponseWriter)
	replica   func() *admin.ReplicaState // of a condition; nil while the project is opened
}

// probes returns the probes of a generation; of the project while it is opened, if g is nil:
//
//	/_health   204 if the server works fully
//	/_ready    200 if the server should get requests
//	/_metrics  the metrics, for callers with their token; only if metrics are served at the port of the API
//
// The first two otherwise answer 503 with the condition of the server.
func (p *Project) probes(g *generation) []server.Probe {
	if g == nil {
		return conditionProbes(nil, p.unready.Load, nil)
	}
	probes := conditionProbes(g.health, p.readiness, p.role.ReplicaState)
	if token := mainPortToken(g.Settings.Server.Metrics); token != "" && p.observed.metrics != nil {
		probes = append(probes,
			server.Probe{Path: "/_metrics", Handler: authorized(token, p.observed.metrics.Handler())})
	}
	return probes
}

// conditionProbes returns the probes that tell conditions.
func conditionProbes(health, ready func() *admin.Condition, replica func() *admin.ReplicaState) []server.Probe {
	return []server.Probe{
		{Path: "/_health", Handler: &conditionHandler{health,
			func(w http.ResponseWriter) { w.WriteHeader(http.StatusNoContent) }, replica}},
		{Path: "/_ready", Handler: &conditionHandler{ready,
			func(w http.ResponseWriter) { writeCondition(w, http.StatusOK, admin.Ready, replica) }, replica}},
	}
}

// ServeHTTP implements http.Handler.
func (c *conditionHandler) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	var problem *admin.Condition
	if c.condition != nil {
		problem = c.condition()
	}
	if problem == nil {
		c.fine(w)
		return
	}
	writeCondition(w, http.StatusServiceUnavailable, *problem, c.replica)
}

// writeCondition answers with a condition and, if replica returns one, the state of the replica.
func writeCondition(w http.ResponseWriter, status int, c admin.Condition, replica func() *admin.ReplicaState) {
	if replica != nil {
		c.Replica = replica()
	}
	header := w.Header()
	header["Content-Type"] = server.JSON
	header["Cache-Control"] = server.NoStore
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(c) // it fails only if the client is gone
}

// logReplaced logs that the data directory holds another store than at the last start.
func (p *Project) logReplaced() {
	p.log.Warn("the data directory holds another store than at the last start", "store", p.Data.Join(admin.StoreName))
}

// logHealth logs a change of the store's health.
func (p *Project) logHealth(h store.Health) {
	if h.State == store.Sound {
		p.log.Info("the store takes writes again")
		return
	}
	condition := storeConditions[h.State]
	p.log.Error(condition.Message, "state", h.State.String(), "error", h.Err, "action", condition.Action)
}
