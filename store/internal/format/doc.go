// Package format has the bytes of a store file: its buckets and keys, the checksums of values, rows, blocks of the
// index, links, and values that sort as bytes. It reads and writes byte slices and knows nothing of transactions.
package format
