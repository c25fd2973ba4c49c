// Package repository tests what no single package can answer for: which package imports which, and whether README.md, the guides
// and the examples do what they say.
package repository

import (
	"log"
	"os"
	"testing"
)

// TestMain runs all tests in the root of the repository, where a reader of README.md runs its commands.
func TestMain(m *testing.M) {
	if err := os.Chdir("../.."); err != nil {
		log.Fatal(err)
	}
	os.Exit(m.Run())
}
