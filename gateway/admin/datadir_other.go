//go:build !unix

package admin

// lockDirectory leaves it to the store, which locks its file.
func lockDirectory(string) (unlock func(), err error) { return func() {}, nil }
