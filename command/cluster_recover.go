package command

import (
	"fmt"
	"math"
	"strings"

	"github.com/spf13/cobra"

	"lectern/gateway"
	"lectern/internal/shell"
)

type clusterRecoverCommand struct {
	yes bool
	projectFlags
}

func newClusterRecover(s *session) *cobra.Command {
	var r clusterRecoverCommand
	c := &cobra.Command{
		Use:   "recover DIR [NODE...]",
		Short: "Go on with the nodes that are left after the majority was lost for good. The server must be stopped.",
		Long: "DIR is the project directory of the stopped node to go on with. " +
			"The nodes are all those of the recovered cluster as NAME@HOST:PORT, " +
			"this one among them (default: this one alone).",
		Args: takes(1, math.MaxInt),
		RunE: func(_ *cobra.Command, args []string) error { return r.run(s, absolute(args[0]), args[1:]) },
	}
	c.Flags().BoolVar(&r.yes, "yes", false,
		"Do it. Without it, the command prints what would be lost and changes nothing.")
	r.add(c)
	return c
}

func (c *clusterRecoverCommand) run(s *session, dir string, args []string) error {
	nodes, err := parseNodes(args)
	if err != nil {
		return err
	}
	r, err := gateway.RecoverCluster(s.ctx, dir, c.options(s), nodes, c.yes)
	if err != nil {
		return inCommand("cluster recover", err)
	}
	fmt.Fprintf(s.Stdout, "the log of %s ends at %d\n", r.Node, r.LastIndex)
	fmt.Fprintf(s.Stdout, "nodes before: %s\n", strings.Join(r.Before, ", "))
	fmt.Fprintf(s.Stdout, "nodes after:  %s\n", strings.Join(r.After, ", "))
	if c.yes {
		fmt.Fprintf(s.Stdout, "recovered. Serve %s, and let every other node join anew with an empty data directory\n",
			shell.Path(display(dir)))
		return nil
	}
	fmt.Fprintf(s.Stdout, `
Nothing was changed. Writes that other nodes have, and this one lacks, would be lost, even if clients were told that they are stored.
Compare the ends of the logs of all nodes that are left, and recover the one with the greatest. Make sure that the lost nodes never come back:
they would go on as a cluster of their own. Then repeat the command with --yes.
`)
	return errReported
}
