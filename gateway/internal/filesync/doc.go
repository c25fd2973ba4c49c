// Package filesync gives several servers the same uploaded files: a replica those of its origin, and each node of a
// cluster those that the store lists.
//
// In a cluster, files that are in no bucket are on the disks of all nodes. For each, a note of the store says which
// content it has. The leader first stages the content at a majority of the nodes; the transaction that writes the
// document then stores the note. Each node puts in place what the notes list, and asks the others for contents that it
// lacks. So a replacement shows on a node together with its document, and no crash leaves a file half replaced. Once a
// day each node reads its files and replaces those that a disk has damaged.
package filesync
