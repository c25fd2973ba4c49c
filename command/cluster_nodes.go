package command

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"lectern/gateway/admin"
	"lectern/gateway/config"
)

// nodeArgument explains the argument [DIR] of commands that ask a running node.
const nodeArgument = "DIR is the project directory of a running node (default: here)."

func newClusterStatus(s *session) *cobra.Command {
	var flags projectFlags
	var asJSON bool
	c := &cobra.Command{
		Use:   "status [DIR]",
		Short: "List the nodes of the cluster: who leads, who answers, and how far behind each is.",
		Long:  nodeArgument,
		Args:  takes(0, 1),
		RunE: func(_ *cobra.Command, args []string) error {
			status, err := flags.directory(s, projectAt(args)).Cluster(s.ctx)
			if err != nil {
				return inCommand("cluster status", err)
			}
			if asJSON {
				return printJSON(s, status)
			}
			return printCluster(s.Stdout, status)
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "Print JSON.")
	flags.add(c)
	return c
}

// printCluster prints a table of the nodes, and a line that says who tells it and whether there is a leader.
func printCluster(to io.Writer, status admin.ClusterStatus) error {
	w := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "NODE\tADDRESS\tROLE\tREVISION\tBEHIND\tVERSION")
	for _, n := range status.Nodes {
		revision, behind, version := fmt.Sprint(n.Revision), fmt.Sprint(n.Behind), n.Version
		if n.Error != "" {
			revision, behind, version = "-", "-", "does not answer: "+n.Error
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", n.Name, n.Address, clusterRole(n), revision, behind, version)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(to, "\nas %s knows it; the leader is %s\n", status.Node,
		cmp.Or(status.Leader, "not known: the cluster takes no writes now"))
	return err
}

// clusterRole returns what a node does in a word.
func clusterRole(n admin.NodeStatus) string {
	switch {
	case n.Leader:
		return "leader"
	case n.Voter:
		return "voter"
	case n.Joining:
		return "joining" // gets a vote
	}
	return "reader" // without a vote
}

type clusterAddCommand struct {
	noVote bool
	projectFlags
}

func newClusterAdd(s *session) *cobra.Command {
	var a clusterAddCommand
	c := &cobra.Command{
		Use:   "add [DIR] NODE",
		Short: "Add a node, or change the address or the vote of one. New nodes that are served with --join add themselves.",
		Long:  "NODE is the node to add as NAME@HOST:PORT. " + nodeArgument,
		RunE:  func(_ *cobra.Command, args []string) error { return a.run(s, args) },
	}
	c.Flags().BoolVar(&a.noVote, "no-vote", false, "The node only reads: it takes part in no majority.")
	a.add(c)
	return c
}

func (c *clusterAddCommand) run(s *session, args []string) error {
	dir, text, err := splitDir(args, "NAME@HOST:PORT")
	if err != nil {
		return err
	}
	node, err := config.ParseClusterNode(text)
	if err != nil {
		return usageError(err.Error())
	}
	if err := c.directory(s, dir).AddNode(
		s.ctx, admin.ClusterNode{Name: node.Name, Address: node.Address, Voter: !c.noVote}); err != nil {
		return inCommand("cluster add", err)
	}
	vote := "votes once it has the content"
	if c.noVote {
		vote = "has no vote"
	}
	fmt.Fprintf(s.Stdout, "%s is a node at %s, and %s\n", node.Name, node.Address, vote)
	return nil
}

func newClusterRemove(s *session) *cobra.Command {
	var flags projectFlags
	c := &cobra.Command{
		Use:   "remove [DIR] NAME",
		Short: "Remove a node for good.",
		Long:  "NAME is the name of the node to remove. " + nodeArgument,
		RunE: func(_ *cobra.Command, args []string) error {
			dir, name, err := splitDir(args, "NAME")
			if err != nil {
				return err
			}
			if err := flags.directory(s, dir).RemoveNode(s.ctx, name); err != nil {
				return inCommand("cluster remove", err)
			}
			fmt.Fprintf(s.Stdout, "%s is no node of the cluster any more; stop its server if it runs\n", name)
			return nil
		},
	}
	flags.add(c)
	return c
}

func newClusterTransfer(s *session) *cobra.Command {
	var flags projectFlags
	c := &cobra.Command{
		Use:   "transfer [DIR] [NAME]",
		Short: "Make another node the leader, for instance before you stop the present one.",
		Long:  "NAME is the name of the node that shall lead (default: any other). " + nodeArgument,
		RunE:  func(_ *cobra.Command, args []string) error { return transferLead(s, flags, args) },
	}
	flags.add(c)
	return c
}

func transferLead(s *session, flags projectFlags, args []string) error {
	dir, name := ".", ""
	switch len(args) {
	case 0:
	case 1:
		if name = args[0]; config.IsProject(name) ||
			strings.ContainsAny(name, `/\`) { // a node that joined may be served from a directory without definitions
			dir, name = name, ""
		}
	case 2:
		dir, name = args[0], args[1]
	default:
		return usageError(fmt.Sprintf("want [DIR] [NAME], got %d arguments", len(args)))
	}
	if err := flags.directory(s, dir).TransferLead(s.ctx, name); err != nil {
		return inCommand("cluster transfer", err)
	}
	fmt.Fprintf(s.Stdout, "%s leads the cluster now, or will in a moment\n", cmp.Or(name, "another node"))
	return nil
}
