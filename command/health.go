package command

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"time"

	"github.com/spf13/cobra"

	"lectern/gateway/admin"
)

type healthCommand struct {
	url     string
	ca      pathFlag
	verbose bool
	timeout time.Duration
	projectFlags
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
	f := c.Flags()
	f.StringVar(&h.url, "url", "",
		"Ask the server at this `URL`, such as http://127.0.0.1:1337, instead of the one that runs on DIR.")
	f.Var(&h.ca, "ca", "With --url, believe the certificates of the authorities in this PEM `FILE`, "+
		"besides those of the system.")
	f.BoolVar(&h.verbose, "verbose", false, "Also list the replicas that follow the server that runs on DIR.")
	f.DurationVar(&h.timeout, "timeout", 5*time.Second, "Wait at most this `DURATION` for the answer.")
	h.add(c)
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
		condition, err = healthAt(ctx, c.url, string(c.ca))
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

// clientBelieving returns a client that believes the authorities in a file, besides those of the system.
func clientBelieving(file string) (*http.Client, error) {
	if file == "" {
		return http.DefaultClient, nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	authorities, err := x509.SystemCertPool()
	if err != nil {
		authorities = x509.NewCertPool()
	}
	if !authorities.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("%s has no certificate in PEM", file)
	}
	return &http.Client{Transport: &http.Transport{Proxy: http.ProxyFromEnvironment,
		TLSClientConfig: &tls.Config{RootCAs: authorities}}}, nil
}

// healthAt asks the server at a URL whether it is ready.
func healthAt(ctx context.Context, base, authorities string) (condition admin.Condition, err error) {
	address, err := url.JoinPath(base, "_ready")
	if err != nil {
		return condition, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return condition, err
	}
	client, err := clientBelieving(authorities)
	if err != nil {
		return condition, err
	}
	defer client.CloseIdleConnections()
	res, err := client.Do(r)
	if err != nil {
		return condition, err
	}
	defer res.Body.Close()
	if err := json.NewDecoder(io.LimitReader(res.Body, 64<<10)).Decode(&condition); err != nil ||
		condition.State == "" {
		return condition, fmt.Errorf("%s answers %s, which is no answer of a lectern server", address, res.Status)
	}
	return condition, nil
}
