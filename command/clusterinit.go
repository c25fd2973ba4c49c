package command

import (
	"fmt"
	"path/filepath"
	"time"

	"lectern/gateway"
	"lectern/gateway/config"
	"lectern/internal/shell"
)

type clusterInitCommand struct {
	Dir   string   `arg:"" help:"Directory for the certificate authority, and a directory of each node in it. If it has an authority, that signs the certificates of new nodes." type:"path"`
	Nodes []string `arg:"" name:"node" help:"A node as NAME@HOST:PORT, such as node1@10.0.0.1:7331. Repeat a name for a node with several hosts."`
}

func (c *clusterInitCommand) Run(s *session) error {
	nodes := make([]config.ClusterNode, len(c.Nodes))
	for i, text := range c.Nodes {
		var err error
		if nodes[i], err = config.ParseClusterNode(text); err != nil {
			return usageError(err.Error())
		}
	}
	result, err := gateway.InitCluster(c.Dir, nodes)
	if err != nil {
		return inCommand("cluster init", err)
	}
	dir := display(c.Dir)
	if result.Authority {
		fmt.Fprintf(s.Stdout, "made a certificate authority in %s, which is valid until %s\n", shell.Path(dir), result.Expires.UTC().Format(time.DateOnly))
	}
	for _, name := range result.Kept {
		fmt.Fprintf(s.Stdout, "%s has credentials already: %s\n", name, shell.Path(filepath.Join(dir, name)))
	}
	for _, name := range result.Made {
		fmt.Fprintf(s.Stdout, "made credentials for %s: %s\n", name, shell.Path(filepath.Join(dir, name)))
	}
	fmt.Fprintf(s.Stdout, "\nCopy to the machine of each node its own directory and nothing else. Keep %s safe: who has it can add nodes.\n",
		shell.Path(filepath.Join(dir, "ca.key")))
	return nil
}
