package command

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"runtime/debug"
	"time"

	"github.com/spf13/cobra"

	"lectern/gateway"
	"lectern/gateway/config"
)

type serveCommand struct {
	port          int
	portGiven     bool
	ephemeral     bool
	noWatch       bool
	noUpgradeCopy bool
	node          string // NAME@HOST:PORT
	cluster       gateway.Cluster
	listenFlags
	projectFlags
}

func newServe(s *session) *cobra.Command {
	var v serveCommand
	c := &cobra.Command{
		Use:   "serve [DIR]",
		Short: "Serve a project.",
		Long:  dirArgument,
		Args:  takes(0, 1),
		RunE: func(c *cobra.Command, args []string) error {
			v.portGiven = c.Flags().Changed("port")
			return v.run(s, projectAt(args))
		},
	}
	f := c.Flags()
	v.listenFlags.add(c)
	f.IntVar(&v.port, "port", 0, "Listen on this `PORT`, at the host of config/server.yaml. 0 takes a free port.")
	f.BoolVar(&v.ephemeral, "ephemeral", false,
		"Serve an empty store in a temporary directory and print one line of JSON with address and "+
			"tokens. For tests.")
	f.BoolVar(&v.noWatch, "no-watch", false,
		"Do not reload changed project files while serving; production never does.")
	f.BoolVar(&v.noUpgradeCopy, "no-upgrade-copy", false,
		"If this version of Lectern brings the store to a newer format, keep no copy of "+
			"the store as it was.")
	f.StringVar(&v.node, "cluster", "",
		"Serve as the node NAME of a cluster, which other nodes reach at HOST:PORT: `NAME@HOST:PORT`.")
	f.StringSliceVar(&v.cluster.Join, "join", nil,
		"`HOST:PORT` of another node of the cluster, for a node that is new to it; can be given "+
			"several times.")
	f.IntVar(&v.cluster.Expect, "bootstrap-expect", 0,
		"Wait until `N` new nodes have found each other by --join before one of them begins the cluster.")
	f.BoolVar(&v.cluster.NoVote, "no-vote", false, "Join the cluster as a node that serves reads and has no vote.")
	v.projectFlags.add(c)
	return c
}

func (c *serveCommand) run(s *session, dir string) (err error) {
	if c.ephemeral && c.Data != "" {
		return usageError("--ephemeral makes a data directory of its own; leave out --data")
	}
	if c.portGiven && c.addr != "" {
		return usageError("--addr names a port already; leave out --port")
	}
	if c.port < 0 || c.port > 65535 {
		return usageError(fmt.Sprintf("--port is from 0 to 65535, not %d", c.port))
	}
	o := c.options(s)
	if err := c.listen(s, &o); err != nil {
		return err
	}
	if c.portGiven {
		o.Port = &c.port
	}
	o.NoWatch, o.NoUpgradeCopy = c.noWatch, c.noUpgradeCopy
	if o.Cluster, err = c.asNode(); err != nil {
		return err
	}
	ready := o.Ready
	o.Ready = func(r gateway.Ready) {
		if c.ephemeral {
			json.NewEncoder(s.Stdout).Encode(r)
		} else if r.Desk != "" {
			fmt.Fprintln(s.Stderr, "write content at "+r.Desk+" (the link works once, for ten minutes)")
		}
		ready(r)
	}
	return s.inPreview(dir, "its definitions are converted and served on an empty store, which is removed at exit",
		func(dir string, preview *preview) error {
			if preview != nil {
				if c.Data != "" {
					return usageError("a Strapi project is served from a temporary data directory; " +
						"leave out --data, or move it in")
				}
				c.ephemeral = true
			}
			o.Ephemeral = c.ephemeral
			return gateway.Serve(s.ctx, dir, o)
		})
}

// asNode returns the node that the flags name, nil if they name none.
func (c *serveCommand) asNode() (*gateway.Cluster, error) {
	n := &c.cluster
	if c.node == "" {
		if len(n.Join) > 0 || n.Expect != 0 || n.NoVote {
			return nil, usageError(
				"--join, --bootstrap-expect and --no-vote are for the node of a cluster; name it by --cluster NAME@HOST:PORT")
		}
		return nil, nil
	}
	if c.ephemeral {
		return nil, usageError("--ephemeral serves an empty store alone; leave out --cluster")
	}
	node, err := config.ParseClusterNode(c.node)
	if err != nil {
		return nil, usageError("--cluster: " + err.Error())
	}
	n.Name, n.Address = node.Name, node.Address
	for i, address := range n.Join {
		if n.Join[i], err = config.ParseClusterAddress(address); err != nil {
			return nil, usageError("--join: " + err.Error())
		}
	}
	if n.Expect > 0 && len(n.Join) == 0 {
		return nil, usageError("--bootstrap-expect needs the addresses of the other nodes by --join")
	}
	return n, nil
}

// listenFlags are the flags of commands that serve.
type listenFlags struct {
	addr     string
	lockWait time.Duration
}

func (f *listenFlags) add(c *cobra.Command) {
	c.Flags().StringVar(&f.addr, "addr", "", "Listen on `HOST:PORT` (default: the one in config/server.yaml).")
	c.Flags().DurationVar(&f.lockWait, "lock-wait", 10*time.Second,
		"Wait at most this `DURATION` until another process, such as a server "+
			"that is stopping, releases the data directory.")
}

// listen checks the flags and sets the options that they choose. It also readies the process for serving.
func (f *listenFlags) listen(s *session, o *gateway.Options) error {
	if f.addr != "" {
		if _, port, err := net.SplitHostPort(f.addr); err != nil || port == "" {
			return usageError(fmt.Sprintf("--addr is HOST:PORT, such as 127.0.0.1:1337, not %q", f.addr))
		}
	}
	o.Addr, o.LockWait = f.addr, f.lockWait
	o.Ready = func(gateway.Ready) {
		if err := notifyReady(os.Getenv("NOTIFY_SOCKET")); err != nil {
			fmt.Fprintf(s.Stderr, "%s: warning: %v\n", s.Name, err)
		}
	}
	tuneMemory()
	return nil
}

// tuneMemory lets the heap grow to five times the memory in use before the garbage collector runs. A server uses a few
// megabytes of heap, since its content is mapped from the file. With Go's default of two times it would collect dozens
// of times a second under load and spend a seventh of its time on that. GOGC takes precedence if it is set.
func tuneMemory() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400)
	}
}
