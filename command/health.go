package command

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"lectern/gateway/admin"
)

type healthCommand struct {
	Dir     string        `arg:"" optional:"" default:"." help:"Project directory (default: here)." type:"path"`
	URL     string        `name:"url" help:"Ask the server at this address, such as http://127.0.0.1:1337, instead of the one that runs on DIR." placeholder:"URL"`
	Timeout time.Duration `help:"How long to wait for the answer." default:"5s" placeholder:"DURATION"`
	projectFlags
}

func (c *healthCommand) Run(s *session) error {
	ctx, cancel := context.WithTimeout(s.ctx, c.Timeout)
	defer cancel()
	var condition admin.Condition
	var err error
	if c.URL == "" {
		condition, err = c.directory(s, c.Dir).Health(ctx)
	} else {
		condition, err = healthAt(ctx, c.URL)
	}
	if err != nil {
		return fmt.Errorf("health: %w", err)
	}
	fmt.Fprintln(s.Stdout, condition)
	if condition.State != admin.Ready.State {
		return errReported
	}
	return nil
}

// healthAt asks the server at a URL whether it is ready.
func healthAt(ctx context.Context, base string) (condition admin.Condition, err error) {
	address, err := url.JoinPath(base, "_ready")
	if err != nil {
		return condition, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return condition, err
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		return condition, err
	}
	defer res.Body.Close()
	if err := json.NewDecoder(io.LimitReader(res.Body, 64<<10)).Decode(&condition); err != nil || condition.State == "" {
		return condition, fmt.Errorf("%s answers %s, which is no answer of a lectern server", address, res.Status)
	}
	return condition, nil
}
