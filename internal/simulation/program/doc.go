// Package program builds the program and runs it, and has clients that write to it, for the tests that compare, kill
// and break it.
package program
