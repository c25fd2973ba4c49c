package command

import (
	"fmt"
	"net"
	"os"
	"time"

	"lectern/gateway"
	"lectern/store"
)

type followCommand struct {
	URL       string        `arg:"" help:"Address of the server to follow, such as https://cms.example.com."`
	Dir       string        `arg:"" help:"Directory of the replica. It may have a config/server.yaml and a .env of its own." type:"path"`
	Token     string        `help:"API token of that server with the permission lectern::replica.follow." env:"LECTERN_REPLICA_TOKEN" required:"" placeholder:"KEY"`
	Forward   bool          `help:"Forward writes to that server instead of refusing them." name:"forward-writes"`
	Types     []string      `help:"Uids of the content-types that the replica has, separated by commas (default: all)." placeholder:"UID"`
	Locales   []string      `help:"Codes of the locales that the replica has, separated by commas (default: all)." placeholder:"CODE"`
	Published bool          `help:"Have published versions only, and no drafts."`
	Addr      string        `help:"Address to listen on (default: the one in config/server.yaml)." placeholder:"HOST:PORT"`
	LockWait  time.Duration `help:"How long to wait until another process releases the data directory." default:"10s" placeholder:"DURATION"`
	projectFlags
}

func (c *followCommand) Run(s *session) error {
	if c.Addr != "" {
		if _, port, err := net.SplitHostPort(c.Addr); err != nil || port == "" {
			return usageError(fmt.Sprintf("--addr is HOST:PORT, such as 127.0.0.1:1337, not %q", c.Addr))
		}
	}
	o := c.options(s)
	o.Addr, o.LockWait = c.Addr, c.LockWait
	o.Follow = &gateway.Follow{URL: c.URL, Token: c.Token, Forward: c.Forward,
		Part: store.Part{Types: c.Types, Locales: c.Locales, Published: c.Published}}
	o.Ready = func(gateway.Ready) {
		if err := notifyReady(os.Getenv("NOTIFY_SOCKET")); err != nil {
			fmt.Fprintf(s.Stderr, "%s: warning: %v\n", s.Name, err)
		}
	}
	tuneMemory()
	return gateway.Serve(s.ctx, c.Dir, o)
}

type promoteCommand struct {
	Dir     string `arg:"" help:"Directory of the replica." type:"path"`
	Partial bool   `help:"Promote a replica that has a part of the content. The rest is not in the new origin."`
	projectFlags
}

func (c *promoteCommand) Run(s *session) error {
	if err := gateway.Promote(c.Dir, c.options(s), c.Partial); err != nil {
		return err
	}
	fmt.Fprintf(s.Stdout, "%s is an origin now; serve it by: %s\n", c.Dir, c.directory(s, c.Dir).Command("serve"))
	return nil
}
