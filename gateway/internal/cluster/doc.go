// Package cluster makes a server one of several nodes that have the same content. All of them apply the same
// transactions in the same order, to which they agree by the package consensus.
//
// Begin with node.go (how a node begins and ends), machine.go (how it applies transactions, and leads), leader.go (how
// writes reach the leader) and consistency.go (how recent reads are). join.go, membership.go and watch.go are about who
// belongs to the cluster, and requests.go answers requests of other nodes.
//
// # Which nodes belong to a cluster
//
//   - A node that is added has no vote until it answers and has the content: a majority that needs its vote could agree
//     to nothing before. The leader refuses changes after which too few of the voters answer.
//   - A node that has lost its data must not vote again, since it may have agreed to something. Before a node begins a
//     cluster, it looks whether others connect to it as to a node of theirs. A leader whose store is damaged or gone
//     lets another node lead.
//   - The definitions and the secret of JWTs are notes of the store. A node serves the definitions from files that it
//     writes to data/cluster/project. It reads the notes as they are stored: snapshots show the state before a
//     conversion until the definitions are served, and may have to wait for that. A deployment stores the notes in the
//     first transaction of the conversion.
//
// # Requests
//
// Nodes forward writes to the leader as clients sent them, over the port of the cluster. A node that hears nothing from
// the leader any more still waits for the answer for five heartbeats: on a busy machine the leader may lead on, and a
// leader that was replaced answers what it was sent. A write of which nothing was sent is forwarded again. A request
// can wait until the node shows what it asks for, under the definitions of that state. For linearizable answers the
// leader first makes sure that it still leads: a majority acknowledges its term after it was asked; and it waits until
// it has committed what other nodes may show already. A node asks for the same twice a second, so that answers say how
// old they may be.
//
// # Hand-over
//
// A hand-over is a planned change of the leader, also before the leader is stopped. Raft would refuse what is proposed
// meanwhile, so the leader first completes the writes that are under way, and holds the next ones back until another
// node leads, which then gets them. A node that was elected holds back writes until it leads. Only a node that answers
// is given the lead. Before all that, the leader pauses the webhooks and stores what was delivered, so that the next
// leader does not send it again. A leader that stops listens until no other node takes it for the leader or waits for
// its answer.
package cluster
