package gateway

import (
	"slices"

	"lectern/gateway/config"
	"lectern/gateway/internal/cluster/credentials"
)

// InitCluster makes the credentials of a cluster's nodes in dir: a directory dir/NAME for each. A node that is listed several times can be
// reached at several hosts. If dir has credentials of a cluster already, InitCluster adds those of further nodes and overwrites nothing.
func InitCluster(dir string, nodes []config.ClusterNode) (credentials.Created, error) {
	var list []credentials.Node
	for _, n := range nodes {
		i := slices.IndexFunc(list, func(l credentials.Node) bool { return l.Name == n.Name })
		if i < 0 {
			i = len(list)
			list = append(list, credentials.Node{Name: n.Name})
		}
		list[i].Hosts = append(list[i].Hosts, n.Host())
	}
	return credentials.Create(dir, list)
}
