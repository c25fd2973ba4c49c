// Package syncs runs the program with syncs of the disk that are counted, slow, or fail: no write may be acknowledged
// before a sync.
package syncs
