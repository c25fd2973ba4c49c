// Package repository tests the repository as a whole: imports, links, and whether README, guides and examples do what
// they say.
package repository

//go:generate go test -run ^TestPackagesPageIsFresh$ -update .
