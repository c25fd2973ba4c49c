// Package logentry has the entries of the log as bytes: what a transaction changed, with the rows that it replaced, the
// hash of the entry before, the answer that is kept, and the transactions of entries to which the nodes of a cluster
// agree.
package logentry
