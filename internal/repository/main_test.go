// Package repository tests properties that involve several packages: which package imports which, and whether README.md, the
// guides and the examples work as they say.
package repository

import (
	"log"
	"os"
	"testing"
)

// TestMain runs all tests in the root of the repository, the directory that README.md expects.
func TestMain(m *testing.M) {
	if err := os.Chdir("../.."); err != nil {
		log.Fatal(err)
	}
	os.Exit(m.Run())
}
