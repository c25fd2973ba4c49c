// Command gendocs writes docs/differences.md from testdata/conformance/differences.yaml.
package main

import (
	"fmt"
	"os"

	"lectern/internal/conformance"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: gendocs DIFFERENCES.yaml PAGE.md")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(from, to string) error {
	d, err := conformance.LoadDifferences(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, []byte(d.Markdown()), 0o644)
}
