package command

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"lectern/gateway/admin"
	"lectern/gateway/config"
)

type clusterStatusCommand struct {
	Dir  string `arg:"" optional:"" default:"." help:"Project directory of a running node (default: here)." type:"path"`
	JSON bool   `help:"Print JSON."`
	projectFlags
}

func (c *clusterStatusCommand) Run(s *session) error {
	status, err := c.directory(s, c.Dir).Cluster(s.ctx)
	if err != nil {
		return inCommand("cluster status", err)
	}
	if c.JSON {
		return printJSON(s, status)
	}
	return printCluster(s.Stdout, status)
}

// printCluster prints a table of the nodes, and a line that says who tells it and whether there is a leader.
func printCluster(to io.Writer, status admin.ClusterStatus) error {
	w := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "NODE\tADDRESS\tROLE\tREVISION\tBEHIND\tVERSION")
	for _, m := range status.Members {
		revision, behind, version := fmt.Sprint(m.Revision), fmt.Sprint(m.Behind), m.Version
		if m.Error != "" {
			revision, behind, version = "-", "-", "does not answer: "+m.Error
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", m.Name, m.Address, clusterRole(m), revision, behind, version)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(to, "\nas %s knows it; the leader is %s\n", status.Node, cmp.Or(status.Leader, "not known: the cluster takes no writes now"))
	return err
}

// clusterRole returns what a node does in a word.
func clusterRole(m admin.ClusterMember) string {
	switch {
	case m.Leader:
		return "leader"
	case m.Voter:
		return "follower"
	case m.Joining:
		return "joining" // gets a vote
	}
	return "reader" // without a vote
}

type clusterAddCommand struct {
	Args   []string `arg:"" name:"[dir] node" help:"Project directory of a running node (default: here), and the node to add as NAME@HOST:PORT."`
	NoVote bool     `help:"The node only reads: it takes part in no majority."`
	projectFlags
}

func (c *clusterAddCommand) Run(s *session) error {
	dir, text, err := splitDir(c.Args, "NAME@HOST:PORT")
	if err != nil {
		return err
	}
	node, err := config.ParseClusterNode(text)
	if err != nil {
		return usageError(err.Error())
	}
	if err := c.directory(s, dir).AddNode(s.ctx, admin.ClusterNode{Name: node.Name, Address: node.Address, Voter: !c.NoVote}); err != nil {
		return inCommand("cluster add", err)
	}
	vote := "votes once it has the content"
	if c.NoVote {
		vote = "has no vote"
	}
	fmt.Fprintf(s.Stdout, "%s is a node at %s, and %s\n", node.Name, node.Address, vote)
	return nil
}

type clusterRemoveCommand struct {
	Args []string `arg:"" name:"[dir] name" help:"Project directory of a running node (default: here), and the name of the node to remove."`
	projectFlags
}

func (c *clusterRemoveCommand) Run(s *session) error {
	dir, name, err := splitDir(c.Args, "NAME")
	if err != nil {
		return err
	}
	if err := c.directory(s, dir).RemoveNode(s.ctx, name); err != nil {
		return inCommand("cluster remove", err)
	}
	fmt.Fprintf(s.Stdout, "%s is no node of the cluster any more; stop its server if it runs\n", name)
	return nil
}

type clusterTransferCommand struct {
	Args []string `arg:"" optional:"" name:"[dir] [name]" help:"Project directory of a running node (default: here), and the name of the node that shall lead (default: any other)."`
	projectFlags
}

func (c *clusterTransferCommand) Run(s *session) error {
	dir, name := ".", ""
	switch len(c.Args) {
	case 0:
	case 1:
		if name = c.Args[0]; config.IsProject(name) || strings.ContainsAny(name, `/\`) { // a node that joined may be served from a directory without definitions
			dir, name = name, ""
		}
	case 2:
		dir, name = c.Args[0], c.Args[1]
	default:
		return usageError(fmt.Sprintf("want [DIR] [NAME], got %d arguments", len(c.Args)))
	}
	if err := c.directory(s, dir).TransferLead(s.ctx, name); err != nil {
		return inCommand("cluster transfer", err)
	}
	fmt.Fprintf(s.Stdout, "%s leads the cluster now, or will in a moment\n", cmp.Or(name, "another node"))
	return nil
}
