package admin

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"syscall"
	"time"
)

// A Condition says what a server can do: its state in one word for programs, what that means, and what to do about it.
type Condition struct {
	State   string    `json:"state"`
	Message string    `json:"message,omitempty"`
	Action  string    `json:"action,omitempty"`
	Since   time.Time `json:"since,omitzero"`
}

// Ready is the condition of a server that should get requests.
var Ready = Condition{State: "ready"}

// String returns the condition as one line.
func (c Condition) String() string {
	if c.Message == "" {
		return c.State
	}
	return c.State + ": " + c.Message
}

// Health asks the server that runs on the data directory whether it should get requests. The condition is Ready, or says why not.
func (d *Directory) Health(ctx context.Context) (Condition, error) {
	return callRunning[Condition](ctx, d, http.MethodGet, "/ready", nil)
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
	if reason := c.Readiness(); reason != nil {
		return *reason, nil
	}
	return Ready, nil
}
