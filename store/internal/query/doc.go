// Package query has queries as plain values, and what can be said of them without the content: the test that a
// comparison is of a stored value, the ranges of an index that hold what it finds, and texts in the same case.
package query
