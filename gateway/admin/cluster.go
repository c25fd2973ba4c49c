package admin

import (
	"context"
	"encoding/json"
	"net/http"
)

// A ClusterStatus is what a node knows of its cluster.
type ClusterStatus struct {
	Node    string          `json:"node"`   // the name of the node that tells it
	Leader  string          `json:"leader"` // the name of the leader; "" if there is none
	Members []ClusterMember `json:"members"`
}

// A ClusterMember is a node of a cluster.
type ClusterMember struct {
	Name    string `json:"name"`
	Address string `json:"address"`
	Voter   bool   `json:"voter"` // false: it only reads
	Leader  bool   `json:"leader"`
	// Error says why the node did not answer; the fields below are then unknown.
	Error    string `json:"error,omitempty"`
	Version  string `json:"version,omitempty"`  // of Lectern
	Revision uint64 `json:"revision,omitempty"` // the number of the last write that the node has
	Behind   uint64 `json:"behind"`             // how many writes the node lacks that the leader has
}

// A ClusterNode names a node of a cluster.
type ClusterNode struct {
	Name    string `json:"name"`
	Address string `json:"address,omitempty"`
	Voter   bool   `json:"voter,omitempty"`
}

// A Cluster administers the cluster of which a server is a node.
type Cluster interface {
	Status(context.Context) (ClusterStatus, error)
	// Add adds a node, or changes the address or the vote of one.
	Add(context.Context, ClusterNode) error
	Remove(ctx context.Context, name string) error
	// Transfer makes a node the leader; "" is any other than the present one.
	Transfer(ctx context.Context, name string) error
	// Deploy makes definition files those of the cluster, and returns which of them have changed. text is what gateway.DefinitionFiles returns.
	Deploy(ctx context.Context, text []byte) (changed []string, err error)
}

// clusterRoutes adds the routes of a node's control socket.
func (c *Control) clusterRoutes(mux *http.ServeMux) {
	if c.Cluster == nil {
		return
	}
	change := func(f func(context.Context, ClusterNode) error) http.Handler {
		return answerJSON(maxJSON, func(ctx context.Context, n ClusterNode) (struct{}, error) { return struct{}{}, f(ctx, n) })
	}
	mux.Handle("GET /cluster", answer(func(r *http.Request) (ClusterStatus, error) { return c.Cluster.Status(r.Context()) }))
	mux.Handle("POST /cluster/deploy", answerJSON(maxDefinitions, func(ctx context.Context, text json.RawMessage) ([]string, error) { return c.Cluster.Deploy(ctx, text) }))
	mux.Handle("POST /cluster/add", change(c.Cluster.Add))
	mux.Handle("POST /cluster/remove", change(func(ctx context.Context, n ClusterNode) error { return c.Cluster.Remove(ctx, n.Name) }))
	mux.Handle("POST /cluster/transfer", change(func(ctx context.Context, n ClusterNode) error { return c.Cluster.Transfer(ctx, n.Name) }))
}

// Cluster asks the node that runs on the data directory about its cluster.
func (d *Directory) Cluster(ctx context.Context) (ClusterStatus, error) {
	return callRunning[ClusterStatus](ctx, d, http.MethodGet, "/cluster", nil)
}

// AddNode has the cluster of the node that runs on the data directory add a node, or change its address or vote.
func (d *Directory) AddNode(ctx context.Context, n ClusterNode) error {
	return d.changeCluster(ctx, "/cluster/add", n)
}

// RemoveNode has the cluster of the node that runs on the data directory remove a node.
func (d *Directory) RemoveNode(ctx context.Context, name string) error {
	return d.changeCluster(ctx, "/cluster/remove", ClusterNode{Name: name})
}

// TransferLead has the cluster of the node that runs on the data directory make a node the leader; "" is any other than the present one.
func (d *Directory) TransferLead(ctx context.Context, name string) error {
	return d.changeCluster(ctx, "/cluster/transfer", ClusterNode{Name: name})
}

// Deploy has the cluster of the node that runs on the data directory take over definition files, and returns which of them have changed.
func (d *Directory) Deploy(ctx context.Context, text []byte) (changed []string, err error) {
	return callRunning[[]string](ctx, d, http.MethodPost, "/cluster/deploy", json.RawMessage(text))
}

func (d *Directory) changeCluster(ctx context.Context, path string, n ClusterNode) error {
	_, err := callRunning[struct{}](ctx, d, http.MethodPost, path, n)
	return err
}

// callRunning sends a request to the server that runs on the data directory. It fails if none runs.
func callRunning[Out any](ctx context.Context, d *Directory, method, path string, in any) (out Out, err error) {
	r, err := d.running(ctx)
	if err != nil {
		return out, err
	}
	defer r.Close()
	return call[Out](ctx, r, method, path, in)
}
