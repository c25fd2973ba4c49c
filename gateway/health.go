package gateway

import (
	"encoding/json"
	"net/http"
	"time"

	"lectern/gateway/admin"
	"lectern/store"
)

// A healthProblem is what GET /_health tells where the server cannot do all that it is for: the state, what that means, and what
// is to be done about it. Anybody may ask, so it names no path and no error; those are in the log.
type healthProblem struct {
	State   string    `json:"state"`
	Message string    `json:"message"`
	Action  string    `json:"action"`
	Since   time.Time `json:"since"`
}

// storeProblems are what is told of the states of a store.
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

// health is what is not well with the store or else with the directory of uploads; nil when both are.
func (e *generation) health() *healthProblem {
	if problem := problemOf(e.store.Health()); problem != nil {
		return problem
	}
	if e.media != nil && e.media.Health() != nil { // why is in the log when somebody stores a file
		return &uploadsProblem
	}
	return nil
}

// problemOf is the problem of a store; nil when it is sound.
func problemOf(h store.Health) *healthProblem {
	if h.State == store.Sound {
		return nil
	}
	p := storeProblems[h.State]
	p.State, p.Since = h.State.String(), h.Since.UTC()
	return &p
}

// healthPath is where the server tells how it is.
var healthPath = pattern{{literalPart, "_health"}}

// GET /_health, or any other method of it: serveHealth answers 204 when all is well, and otherwise 503 with what is not.
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
	_ = json.NewEncoder(w).Encode(problem) // the client is gone
}

// logReplaced tells the log that a start has found another store than the one before.
func (p *Project) logReplaced() {
	p.log.Warn("the store is not the one that was served from this data directory before", "store", p.Data.Join(admin.StoreName))
}

// logHealth tells the log of a change of the store's health.
func (p *Project) logHealth(h store.Health) {
	if h.State == store.Sound {
		p.log.Info("the store takes writes again")
		return
	}
	problem := storeProblems[h.State]
	p.log.Error(problem.Message, "state", h.State.String(), "error", h.Err, "action", problem.Action)
}
