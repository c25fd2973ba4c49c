//go:build !unix

package media

// writable leaves it to the first file that is made.
func writable(string) error { return nil }
