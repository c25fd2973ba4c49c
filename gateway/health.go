package gateway

import (
	"encoding/json"
	"net/http"
	"time"

	"lectern/gateway/admin"
	"lectern/store"
)

// A healthProblem is the answer of GET /_health when the server does not work fully: the state, what it means and what to do about it. It
// contains no path and no error text, since anybody may ask; those are in the log.
type healthProblem struct {
	State   string    `json:"state"`
	Message string    `json:"message"`
	Action  string    `json:"action"`
	Since   time.Time `json:"since"`
}

// storeProblems maps a state of the store to the problem that it is.
var storeProblems = map[store.State]healthProblem{
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
		Action:  "See the log, run `lectern check --store` and check the disk. Restart the server if the store is whole; otherwise restore a backup, or save what can be read with `lectern salvage`.",
	},
}

var uploadsProblem = healthProblem{
	State:   "unwritable",
	Message: "Files cannot be stored: the directory of uploads is gone or cannot be written to. All else goes on.",
	Action:  "Put the directory back, or let the server write into it. If it is gone for good, the next upload makes it anew.",
}

// health returns the problem of the store, or else that of the directory of uploads; nil if both work.
func (e *generation) health() *healthProblem {
	if problem := problemOf(e.store.Health()); problem != nil {
		return problem
	}
	if e.media != nil && e.media.Health() != nil { // a failing upload logs the cause
		return &uploadsProblem
	}
	return nil
}

// problemOf returns the problem of a store; nil if it is sound.
func problemOf(h store.Health) *healthProblem {
	if h.State == store.Sound {
		return nil
	}
	p := storeProblems[h.State]
	p.State, p.Since = h.State.String(), h.Since.UTC()
	return &p
}

// healthPath is the path of the health check.
var healthPath = pattern{{literalPart, "_health"}}

// addHealth adds the route of the health check.
func (h *handlers) addHealth() {
	h.health = h.router.NewRoute().MatcherFunc(healthPath.match).HandlerFunc(h.serveHealth)
}

// GET /_health: 204 if the server works fully, and otherwise 503 with the problem. It answers all methods.
func (h *handlers) serveHealth(w http.ResponseWriter, _ *http.Request) {
	var problem *healthProblem
	if h.rt.health != nil {
		problem = h.rt.health()
	}
	if problem == nil {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	header := w.Header()
	header["Content-Type"] = typeJSON
	header["Cache-Control"] = noStoreValue
	w.WriteHeader(http.StatusServiceUnavailable)
	_ = json.NewEncoder(w).Encode(problem) // it fails only if the client is gone
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
	problem := storeProblems[h.State]
	p.log.Error(problem.Message, "state", h.State.String(), "error", h.Err, "action", problem.Action)
}
