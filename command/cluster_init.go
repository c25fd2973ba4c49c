package command

import (
	"fmt"
	"math"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"lectern/gateway"
	"lectern/gateway/config"
	"lectern/internal/shell"
)

func newClusterInit(s *session) *cobra.Command {
	return &cobra.Command{
		Use:   "init DIR NODE...",
		Short: "Make the certificates and keys by which the nodes of a cluster know one another.",
		Long: "DIR is the directory for the certificate authority, with a directory of each node in it. " +
			"If it has an authority, that signs the certificates of new nodes. NODE is a node as NAME@HOST:PORT, " +
			"such as node1@10.0.0.1:7331. Repeat a name for a node with several hosts.",
		Args: takes(2, math.MaxInt),
		RunE: func(_ *cobra.Command, args []string) error { return initCluster(s, absolute(args[0]), args[1:]) },
	}
}

// parseNodes parses the arguments NODE of a command.
func parseNodes(args []string) ([]config.ClusterNode, error) {
	nodes := make([]config.ClusterNode, len(args))
	for i, text := range args {
		var err error
		if nodes[i], err = config.ParseClusterNode(text); err != nil {
			return nil, usageError(err.Error())
		}
	}
	return nodes, nil
}

// initCluster makes in the directory path what the nodes need to know one another.
func initCluster(s *session, path string, args []string) error {
	nodes, err := parseNodes(args)
	if err != nil {
		return err
	}
	result, err := gateway.InitCluster(path, nodes)
	if err != nil {
		return inCommand("cluster init", err)
	}
	dir := display(path)
	if result.Authority {
		fmt.Fprintf(s.Stdout, "made a certificate authority in %s, which is valid until %s\n", shell.Path(dir),
			result.Expires.UTC().Format(time.DateOnly))
	}
	for _, name := range result.Kept {
		fmt.Fprintf(s.Stdout, "%s has credentials already: %s\n", name, shell.Path(filepath.Join(dir, name)))
	}
	for _, name := range result.Made {
		fmt.Fprintf(s.Stdout, "made credentials for %s: %s\n", name, shell.Path(filepath.Join(dir, name)))
	}
	fmt.Fprintf(s.Stdout,
		"\nCopy to the machine of each node its own directory and nothing else. Keep %s safe: who has it can add nodes.\n",
		shell.Path(filepath.Join(dir, "ca.key")))
	return nil
}
