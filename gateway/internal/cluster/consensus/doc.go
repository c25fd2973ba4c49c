// Package consensus lets the nodes of a cluster agree to transactions by Raft (hashicorp/raft). Each node applies them
// in the same order to a state machine of its own, which is the store.
//
// # A transaction
//
// The leader runs a write in a transaction of the store with those of other clients. Before the commit it encodes what
// the transaction adds, its entries of the log of changes and the notes that it changes, proposes that to Raft, and
// waits until a majority has it on disk, under the next leader too if the lead is lost meanwhile. Then the transaction
// is committed, together with its index in Raft's log, and the writes are answered.
//
//   - The other nodes apply the transaction from the same bytes. The index, which is stored in the transaction, shows
//     after a crash which ones are missing. A transaction that does not follow on the present state is skipped, by all
//     nodes alike: the first entry names the sequence and the hash of the one before. One that follows on more than the
//     store has is an error: something was lost.
//   - They are applied several together: one that arrives waits up to 20 ms for others, unless a request waits for it.
//     As long as some wait, the node refuses to propose transactions of its own, since they would have to wait for each
//     other.
//   - Raft's log cannot read an entry of more than 64 MiB. A transaction of several writes therefore takes no further
//     one after 8 MiB, nor does one of a conversion go through a further row, and one of more than 60 MiB is refused
//     before it is proposed. Raft sends at most eight in one message, which is in memory as a whole.
//   - A new leader first applies all transactions that were agreed to. Then the store goes on with a conversion that
//     was interrupted, and takes writes. When the lead is lost, the store forgets what a transaction that was not
//     committed has left in memory.
//
// # Snapshots and the log
//
// Snapshots of Raft have no content, because the store is durable: each is a note that the store has everything up to
// an index. A node that lags too far behind, or is new, gets a copy of the leader's store as it is stored then, which
// during a conversion is further than what readers see. If the content of the copy is half converted to other
// definitions, the node applies the transactions that follow on it, and serves the content before until the conversion
// has ended. So does a node that starts with half converted content, but it has nothing to serve meanwhile. While a
// node receives a copy it can neither vote nor take entries, so it gives up one of which nothing arrives any more.
//
// Raft's log is kept by raft-wal. It takes no entries any more after some faults, most of them of a full disk, so some
// things are added:
//
//   - A new segment is made also where the disk has no space for all of it. A segment that was filled just before the
//     process ended is replaced when the log is opened. Entries of a new leader are tried again if there is no space
//     for them in place of others.
//   - Entries of before a copy, which Raft could not remove, are removed when those after it are stored. The term of
//     the last entry that a copy stands for is known, though the entry is not there. A copy that arrives late, when the
//     node has more, is refused: Raft would go back to it, and lose entries that the leader counts as stored by this
//     node.
package consensus
