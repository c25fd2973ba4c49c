package command

import "github.com/spf13/cobra"

func newCluster(s *session) *cobra.Command {
	return newGroup("cluster",
		"Prepare several servers that keep the same content, so that none is missed when it fails.",
		newClusterInit(s), newClusterStatus(s), newClusterAdd(s), newClusterRemove(s), newClusterTransfer(s),
		newClusterRecover(s))
}
