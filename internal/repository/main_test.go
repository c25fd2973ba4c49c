package repository

import (
	"flag"
	"log"
	"os"
	"testing"
)

// TestMain runs all tests in the root of the repository, the directory that README.md expects.
func TestMain(m *testing.M) {
	if err := os.Chdir("../.."); err != nil {
		log.Fatal(err)
	}
	// Without the log of what the tests read, go test keeps no results. It would not notice a changed page: it takes
	// the paths for those below the directory of the package, and does not know what go build and git read for the
	// tests.
	flag.Parse()
	if err := flag.Set("test.testlogfile", ""); err != nil {
		log.Fatal(err)
	}
	os.Exit(m.Run())
}
