package command

import (
	"context"
	"fmt"
	"net/url"
	"time"

	"github.com/spf13/cobra"

	"lectern/gateway/admin"
)

type healthCommand struct {
	verbose bool
	serverFlags
}

func newHealth(s *session) *cobra.Command {
	var h healthCommand
	c := &cobra.Command{
		Use:   "health [DIR]",
		Short: "Ask a running server whether it is ready for requests, and print one line. Exits with 1 if it is not.",
		Long:  dirArgument,
		Args:  takes(0, 1),
		RunE:  func(_ *cobra.Command, args []string) error { return h.run(s, projectAt(args)) },
	}
	h.serverFlags.add(c, 5*time.Second,
		"Ask the server at this `URL`, such as http://127.0.0.1:1337, instead of the one that runs on DIR.")
	c.Flags().BoolVar(&h.verbose, "verbose", false, "Also list the replicas that follow the server that runs on DIR.")
	return c
}

func (c *healthCommand) run(s *session, dir string) error {
	ctx, cancel := context.WithTimeout(s.ctx, c.timeout)
	defer cancel()
	var condition admin.Condition
	var err error
	switch {
	case c.url != "" && c.verbose:
		return usageError("--verbose is not for --url: only the control socket tells what the server knows of its replicas")
	case c.url == "" && c.ca != "":
		return usageError("--ca is for --url: without it, the server is asked over its control socket")
	case c.url == "":
		condition, err = c.directory(s, dir).Health(ctx)
	default:
		condition, err = c.healthAt(ctx)
	}
	if err != nil {
		return fmt.Errorf("health: %w", err)
	}
	fmt.Fprintln(s.Stdout, condition)
	if c.verbose {
		replicas, err := c.directory(s, dir).Replicas(ctx)
		if err != nil {
			return fmt.Errorf("health: %w", err)
		}
		for _, replica := range replicas {
			fmt.Fprintln(s.Stdout, replica)
		}
	}
	if condition.State != admin.Ready.State {
		return errReported
	}
	return nil
}

// healthAt asks the server at a URL whether it is ready.
func (c *healthCommand) healthAt(ctx context.Context) (condition admin.Condition, err error) {
	address, err := url.JoinPath(c.url, "_ready")
	if err != nil {
		return condition, err
	}
	status, isJSON, err := c.get(ctx, address, "", 64<<10, &condition)
	if err == nil && (!isJSON || condition.State == "") {
		err = fmt.Errorf("%s answers %s, which is no answer of a lectern server", address, status)
	}
	return condition, err
}
