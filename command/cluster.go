package command

type clusterCommand struct {
	Init     clusterInitCommand     `cmd:"" help:"Make the certificates and keys by which the nodes of a cluster know one another."`
	Status   clusterStatusCommand   `cmd:"" help:"List the nodes of the cluster: who leads, who answers, and how far behind each is."`
	Add      clusterAddCommand      `cmd:"" help:"Add a node, or change the address or the vote of one. New nodes that are served with --join add themselves."`
	Remove   clusterRemoveCommand   `cmd:"" help:"Remove a node for good."`
	Transfer clusterTransferCommand `cmd:"" help:"Make another node the leader, for instance before you stop the present one."`
	Recover  clusterRecoverCommand  `cmd:"" help:"Go on with the nodes that are left after the majority was lost for good. The server must be stopped."`
}
