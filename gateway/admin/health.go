package admin

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"syscall"
	"time"

	"lectern/internal/spelling"
)

// A Condition says what a server can do: its state in one word for programs, what that means, and what to do about it.
type Condition struct {
	State   string    `json:"state"`
	Message string    `json:"message,omitempty"`
	Action  string    `json:"action,omitempty"`
	Since   time.Time `json:"since,omitzero"`
	// Replica says how far a replica is behind its origin; nil: the server is none.
	Replica *ReplicaState `json:"replica,omitempty"`
}

// A ReplicaState says how far a replica is behind its origin.
type ReplicaState struct {
	InStep   bool   `json:"inStep"`             // it has everything of its origin
	Age      *int64 `json:"age"`                // how many seconds ago it had everything; nil: it never had
	Position string `json:"position,omitempty"` // behind the last entry of the log that it has
}

// String returns the state as the end of a line about the server.
func (r *ReplicaState) String() string {
	switch {
	case r.InStep:
		return "a replica in step with its origin"
	case r.Age == nil:
		return "a replica that does not have everything of its origin yet"
	}
	return fmt.Sprintf("a replica that last had everything of its origin %s ago", time.Duration(*r.Age)*time.Second)
}

// A Following is a replica that follows a server.
type Following struct {
	Client   string    `json:"client"`         // its address, or its network
	Since    time.Time `json:"since"`          // when it connected
	Part     bool      `json:"part,omitempty"` // it has a part of the content
	Position string    `json:"position"`       // behind the last entry that was sent to it
	Behind   uint64    `json:"behind"`         // how many entries there are after that
}

// String returns the replica as a line.
func (f Following) String() string {
	behind := "in step"
	if f.Behind > 0 {
		behind = spelling.Count(int(f.Behind), "entry") + " of the log behind"
	}
	part := ""
	if f.Part {
		part = ", a part of the content"
	}
	return fmt.Sprintf("replica at %s: %s%s, connected since %s", f.Client, behind, part,
		f.Since.Local().Format(time.DateTime))
}

// Ready is the condition of a server that should get requests.
var Ready = Condition{State: "ready"}

// String returns the condition as one line.
func (c Condition) String() string {
	line := c.State
	if c.Message != "" {
		line += ": " + c.Message
	}
	if c.Replica != nil {
		line += " (" + c.Replica.String() + ")"
	}
	return line
}

// Health asks the server that runs on the data directory whether it should get requests. The condition is Ready, or
// says why not.
func (d *Directory) Health(ctx context.Context) (Condition, error) {
	return callRunning[Condition](ctx, d, http.MethodGet, "/ready", nil)
}

// Replicas lists the replicas that follow the server that runs on the data directory.
func (d *Directory) Replicas(ctx context.Context) ([]Following, error) {
	return callRunning[[]Following](ctx, d, http.MethodGet, "/replicas", nil)
}

// running connects to the server that runs on the data directory. It fails if none runs.
func (d *Directory) running(ctx context.Context) (*remote, error) {
	r, err := dial(ctx, d.DataPath())
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ECONNREFUSED) {
		return nil, fmt.Errorf("no server answers on %s: it does not run, or is still starting", d.DataPath())
	}
	return r, err
}

// readiness returns why the server should get no requests, or Ready.
func (c *Control) readiness(*http.Request) (Condition, error) {
	condition := Ready
	if reason := c.Readiness(); reason != nil {
		condition = *reason
	}
	condition.Replica = c.Replica()
	return condition, nil
}
