package admin

import (
	"context"
	"encoding/json"
	"net/http"

	"lectern/store/evolve"
)

// A ClusterStatus is what a node knows of its cluster.
type ClusterStatus struct {
	Node   string       `json:"node"`   // the name of the node that was asked
	Leader string       `json:"leader"` // the name of the leader; "" if there is none
	Nodes  []NodeStatus `json:"nodes"`
}

// A NodeStatus is what is known of a node of a cluster.
type NodeStatus struct {
	Name    string `json:"name"`
	Address string `json:"address"`
	Voter   bool   `json:"voter"`             // false: it only reads
	Joining bool   `json:"joining,omitempty"` // it gets a vote once it has the content
	Leader  bool   `json:"leader"`
	// Error says why the node did not answer; the fields below are then unknown.
	Error    string `json:"error,omitempty"`
	Version  string `json:"version,omitempty"`  // of Lectern
	Revision uint64 `json:"revision,omitempty"` // the number of the last write that the node has
	Behind   uint64 `json:"behind"`             // how many writes the node lacks that the leader has
}

// A ClusterNode is a node that a cluster is to have. To remove a node or to make it the leader, its name is enough.
type ClusterNode struct {
	Name    string `json:"name"`
	Address string `json:"address,omitempty"`
	Voter   bool   `json:"voter,omitempty"`
}

// A Deployment makes definition files those of a cluster.
type Deployment struct {
	Definitions json.RawMessage `json:"definitions"` // what gateway.DefinitionFiles returns
	// Migrations say what becomes of content that the definitions have no place for.
	Migrations evolve.Migrations `json:"migrations,omitempty"`
}

// Deployed is what came of a Deployment. Nothing has changed if there are refusals.
type Deployed struct {
	Changed   []string          `json:"changed"` // the names of the files that differed, with + for new ones and - for those that went
	Removed   evolve.Removed    `json:"removed"`
	Refusals  []evolve.Refusal  `json:"refusals,omitempty"`
	Remaining evolve.Migrations `json:"remaining,omitempty"` // see evolve.DefinitionError.Done
}

// A Cluster administers the cluster of which a server is a node.
type Cluster interface {
	Status(context.Context) (ClusterStatus, error)
	// Add adds a node, or changes the address or the vote of one.
	Add(context.Context, ClusterNode) error
	Remove(ctx context.Context, name string) error
	// Transfer makes a node the leader; "" is any other than the present one.
	Transfer(ctx context.Context, name string) error
	Deploy(context.Context, Deployment) (Deployed, error)
}

// clusterRoutes adds the routes of a node's control socket.
func (c *Control) clusterRoutes(mux *http.ServeMux) {
	if c.Cluster == nil {
		return
	}
	change := func(f func(context.Context, ClusterNode) error) http.Handler {
		return answerJSON(maxJSON, func(ctx context.Context, n ClusterNode) (struct{}, error) {
			return struct{}{},
				f(ctx, n)
		})
	}
	mux.Handle("GET /cluster",
		answer(func(r *http.Request) (ClusterStatus, error) { return c.Cluster.Status(r.Context()) }))
	mux.Handle("POST /cluster/deploy", answerJSON(maxDefinitions, c.Cluster.Deploy))
	mux.Handle("POST /cluster/add", change(c.Cluster.Add))
	mux.Handle("POST /cluster/remove",
		change(func(ctx context.Context, n ClusterNode) error { return c.Cluster.Remove(ctx, n.Name) }))
	mux.Handle("POST /cluster/transfer",
		change(func(ctx context.Context, n ClusterNode) error { return c.Cluster.Transfer(ctx, n.Name) }))
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

// TransferLead has the cluster of the node that runs on the data directory make a node the leader; "" is any other than
// the present one.
func (d *Directory) TransferLead(ctx context.Context, name string) error {
	return d.changeCluster(ctx, "/cluster/transfer", ClusterNode{Name: name})
}

// Deploy has the cluster of the node that runs on the data directory take over definition files. If that would lose
// content, Deploy changes nothing and returns a *evolve.DefinitionError.
func (d *Directory) Deploy(ctx context.Context, o Deployment) (Deployed, error) {
	done, err := callRunning[Deployed](ctx, d, http.MethodPost, "/cluster/deploy", o)
	if err == nil && len(done.Refusals) > 0 {
		err = &evolve.DefinitionError{Refusals: done.Refusals, Done: done.Remaining, Command: d.Command("deploy")}
	}
	return done, err
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
