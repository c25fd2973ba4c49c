//go:build linux

// Package clusters has tests of the complete program that kill, pause and cut off the nodes of a cluster while clients
// write to it, and prove by the clients' histories that no write was lost, made twice, or read too late.
package clusters
