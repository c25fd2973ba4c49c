package command

import (
	"fmt"
	"strings"

	"lectern/gateway"
	"lectern/gateway/config"
	"lectern/internal/shell"
)

type clusterRecoverCommand struct {
	Dir   string   `arg:"" help:"Project directory of the stopped node to go on with." type:"path"`
	Nodes []string `arg:"" optional:"" name:"node" help:"All nodes of the recovered cluster as NAME@HOST:PORT, this one among them (default: this one alone)."`
	Yes   bool     `help:"Do it. Without it, the command prints what would be lost and changes nothing."`
	projectFlags
}

func (c *clusterRecoverCommand) Run(s *session) error {
	nodes := make([]config.ClusterNode, len(c.Nodes))
	for i, text := range c.Nodes {
		var err error
		if nodes[i], err = config.ParseClusterNode(text); err != nil {
			return usageError(err.Error())
		}
	}
	r, err := gateway.RecoverCluster(s.ctx, c.Dir, c.options(s), nodes, c.Yes)
	if err != nil {
		return inCommand("cluster recover", err)
	}
	fmt.Fprintf(s.Stdout, "the log of %s ends at %d\n", r.Node, r.LastIndex)
	fmt.Fprintf(s.Stdout, "members before: %s\n", strings.Join(r.Before, ", "))
	fmt.Fprintf(s.Stdout, "members after:  %s\n", strings.Join(r.After, ", "))
	if c.Yes {
		fmt.Fprintf(s.Stdout, "recovered. Serve %s, and let every other node join anew with an empty data directory\n", shell.Path(display(c.Dir)))
		return nil
	}
	fmt.Fprintf(s.Stdout, `
Nothing was changed. Writes that other nodes have, and this one lacks, would be lost, even if clients were told that they are stored.
Compare the ends of the logs of all nodes that are left, and recover the one with the greatest. Make sure that the lost nodes never come back:
they would go on as a cluster of their own. Then repeat the command with --yes.
`)
	return errReported
}
