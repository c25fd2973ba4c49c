// Package formats opens a data directory of every file format that there has been.
//
// testdata/N is a data directory with a store of format N, beside the answers that the Lectern of that time gave on it. The tests
// serve each with the present code and compare its answers. So a file that was written once can be read for ever.
//
// When the format changes, add a fixture of the new one, with a binary that writes it:
//
//	go build -o /tmp/lectern .
//	go test ./internal/formats -run TestMake -make /tmp/lectern
//
// Never change or remove a fixture that is there: a present binary cannot write it again. testdata/project is the project of all
// fixtures. Its definitions must not change either, since the answers depend on them.
package formats
