package command

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"runtime/debug"
	"strings"
	"time"

	"lectern/auth"
	"lectern/documents"
	"lectern/gateway"
	"lectern/gateway/admin"
	"lectern/gateway/config"
	"lectern/internal/shell"
	"lectern/internal/spelling"
	"lectern/store/evolve"
)

type serveCommand struct {
	Dir           string        `arg:"" optional:"" default:"." help:"Project directory (default: here)." type:"path"`
	Addr          string        `help:"Address to listen on (default: the one in config/server.yaml)." placeholder:"HOST:PORT"`
	Port          *int          `help:"Port to listen on, at the host of config/server.yaml. 0 takes a free port." placeholder:"PORT"`
	Ephemeral     bool          `help:"Serve an empty store in a temporary directory and print one line of JSON with address and tokens. For tests."`
	NoWatch       bool          `help:"Do not reload changed project files while serving; production never does."`
	NoUpgradeCopy bool          `help:"If this version of Lectern brings the store to a newer format, keep no copy of the store as it was."`
	Cluster       string        `help:"Serve as the node NAME of a cluster, which other nodes reach at HOST:PORT." placeholder:"NAME@HOST:PORT"`
	Join          []string      `help:"Address of another node of the cluster, for a node that is new to it; can be given several times." placeholder:"HOST:PORT"`
	Expect        int           `help:"How many new nodes must have found each other by --join before one of them begins the cluster." name:"bootstrap-expect" placeholder:"N"`
	NoVote        bool          `help:"Join the cluster as a node that serves reads and has no vote." name:"no-vote"`
	LockWait      time.Duration `help:"How long to wait until another process, such as a server that is stopping, releases the data directory." default:"10s" placeholder:"DURATION"`
	projectFlags
}

func (c *serveCommand) Run(s *session) (err error) {
	if c.Ephemeral && c.Data != "" {
		return usageError("--ephemeral makes a data directory of its own; leave out --data")
	}
	if c.Port != nil && c.Addr != "" {
		return usageError("--addr names a port already; leave out --port")
	}
	if c.Port != nil && (*c.Port < 0 || *c.Port > 65535) {
		return usageError(fmt.Sprintf("--port is from 0 to 65535, not %d", *c.Port))
	}
	if c.Addr != "" {
		if _, port, err := net.SplitHostPort(c.Addr); err != nil || port == "" {
			return usageError(fmt.Sprintf("--addr is HOST:PORT, such as 127.0.0.1:1337, not %q", c.Addr))
		}
	}
	o := c.options(s)
	o.Addr, o.Port, o.Ephemeral, o.NoWatch, o.LockWait = c.Addr, c.Port, c.Ephemeral, c.NoWatch, c.LockWait
	o.NoUpgradeCopy = c.NoUpgradeCopy
	if o.Cluster, err = c.node(); err != nil {
		return err
	}
	o.Ready = func(r gateway.Ready) {
		if c.Ephemeral {
			json.NewEncoder(s.Stdout).Encode(r)
		}
		if err := notifyReady(os.Getenv("NOTIFY_SOCKET")); err != nil {
			fmt.Fprintf(s.Stderr, "%s: warning: %v\n", s.Name, err)
		}
	}
	tuneMemory()
	return s.inPreview(c.Dir, "its definitions are converted and served on an empty store, which is removed at exit",
		func(dir string, preview *preview) error {
			if preview != nil {
				if c.Data != "" {
					return usageError("a Strapi project is served from a temporary data directory; leave out --data, or move it in")
				}
				c.Ephemeral, o.Ephemeral = true, true
			}
			return gateway.Serve(s.ctx, dir, o)
		})
}

// node returns the node that the flags name, nil if they name none.
func (c *serveCommand) node() (*gateway.Cluster, error) {
	if c.Cluster == "" {
		if len(c.Join) > 0 || c.Expect != 0 || c.NoVote {
			return nil, usageError("--join, --bootstrap-expect and --no-vote are for the node of a cluster; name it by --cluster NAME@HOST:PORT")
		}
		return nil, nil
	}
	if c.Ephemeral {
		return nil, usageError("--ephemeral serves an empty store alone; leave out --cluster")
	}
	node, err := config.ParseClusterNode(c.Cluster)
	if err != nil {
		return nil, usageError("--cluster: " + err.Error())
	}
	join := make([]string, len(c.Join))
	for i, address := range c.Join {
		if join[i], err = config.ParseClusterAddress(address); err != nil {
			return nil, usageError("--join: " + err.Error())
		}
	}
	if c.Expect > 0 && len(c.Join) == 0 {
		return nil, usageError("--bootstrap-expect needs the addresses of the other nodes by --join")
	}
	return &gateway.Cluster{Name: node.Name, Address: node.Address, Join: join, Expect: c.Expect, NoVote: c.NoVote}, nil
}

// tuneMemory lets the heap grow to five times the memory in use before the garbage collector runs. A server uses a few
// megabytes of heap, since its content is mapped from the file. With Go's default of two times it would collect dozens of times
// a second under load and spend a seventh of its time on that. GOGC takes precedence if it is set.
func tuneMemory() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400)
	}
}

type checkCommand struct {
	Dir   string `arg:"" optional:"" default:"." help:"Project directory (default: here)." type:"path"`
	Store bool   `help:"Check the store instead: read all of it and print what is damaged or inconsistent. Works while a server runs."`
	projectFlags
}

func (c *checkCommand) Run(s *session) error {
	if c.Store {
		return c.checkStore(s)
	}
	return s.inPreview(c.Dir, "", func(dir string, preview *preview) error {
		if preview != nil {
			for _, n := range preview.Project.Notes {
				fmt.Fprintf(s.Stdout, "%s: %s\n", n.Level, n)
			}
		}
		return c.checkFiles(s, dir)
	})
}

// checkFiles checks the definitions and the configuration of the project in dir, and whether its content fits them.
func (c *checkCommand) checkFiles(s *session, dir string) error {
	d, problems, warnings, err := gateway.Check(dir, c.options(s))
	if err != nil {
		return err
	}
	for _, w := range warnings {
		fmt.Fprintln(s.Stderr, "warning:", w)
	}
	for _, p := range problems {
		fmt.Fprintln(s.Stdout, p)
	}
	var wrong []string // number of problems of each kind
	if len(problems) > 0 {
		wrong = append(wrong, count(len(problems), "problem"))
	}
	var forecast admin.Forecast
	if d.Model != nil { // without a model there is nothing to compare content with
		forecast, err = c.directory(s, dir).Foresee(s.ctx, d.Definition)
		var refused *evolve.DefinitionError
		switch {
		case errors.As(err, &refused):
			fmt.Fprintln(s.Stdout, refused)
			wrong = append(wrong, count(len(refused.Refusals), "change")+" refused")
		case err != nil:
			return err
		}
		if n := s.printMisfits(c.directory(s, dir), forecast.Audit); n > 0 {
			wrong = append(wrong, count(n, "rule")+" that stored content breaks")
		}
		if err := s.warnOfTokens(c.directory(s, dir), d, forecast.Tokens); err != nil {
			return err
		}
	}
	if len(wrong) > 0 {
		fmt.Fprintln(s.Stderr, strings.Join(wrong, ", "))
		return errReported
	}
	types, components := d.Size()
	if types == 0 {
		fmt.Fprintln(s.Stderr, "warning: the project has no content-types yet; each is a file in content-types/")
	}
	fmt.Fprintf(s.Stdout, "%s and %s are fine\n", count(types, "content-type"), count(components, "component"))
	switch {
	case forecast.First != "":
		fmt.Fprintf(s.Stdout, "whether the content fits them cannot be told yet: the next start %s\n", forecast.First)
	case forecast.Converts:
		fmt.Fprintln(s.Stdout, "the definitions have changed; the content is brought in step with them at the next start, and loses nothing")
	}
	return nil
}

// printMisfits prints the stored content that breaks rules of the definitions, with examples and the commands that repair it.
// It returns how many rules the content breaks.
func (s *session) printMisfits(d *admin.Directory, a documents.Audit) int {
	for _, m := range a.Misfits {
		examples := make([]string, len(m.Examples))
		for i, e := range m.Examples {
			examples[i] = e.String()
		}
		fmt.Fprintf(s.Stdout, "%s, such as %s\n", m, strings.Join(examples, ", "))
		if call := d.FillCommand(m); call != "" {
			fmt.Fprintln(s.Stdout, "    "+call)
		}
		if m.Locale != "" {
			fmt.Fprintln(s.Stdout, "    "+d.DropLocaleCommand(m))
		}
	}
	for _, name := range a.Unindexed {
		fmt.Fprintf(s.Stdout, "whether %s is unique can be told after the next start, which makes its index\n", name)
	}
	return len(a.Misfits)
}

// warnOfTokens tells which tokens permissions.yaml does not declare. Those of a replica are the matter of its origin.
func (s *session) warnOfTokens(d *admin.Directory, def *gateway.Definition, f auth.TokenForecast) error {
	if origin, err := d.Origin(); err != nil || origin != "" {
		return err
	}
	for _, name := range f.Removed {
		if def.HasPermissions {
			fmt.Fprintf(s.Stderr, "warning: permissions.yaml no longer declares the token %s: the next start or reload of the server revokes it\n", name)
		} else {
			fmt.Fprintf(s.Stderr, "warning: config/permissions.yaml, which declared the token %s, is missing or empty: the token is kept meanwhile\n", name)
		}
	}
	for _, name := range f.Kept {
		fmt.Fprintf(s.Stderr, "warning: permissions.yaml does not declare the token %s: it works until you revoke it:\n    %s\n", name,
			d.Command("token revoke")+" "+shell.Path(name))
	}
	return nil
}

func count(n int, what string) string { return spelling.Count(n, what) }
