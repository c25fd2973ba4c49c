package transfer

import "testing"

// SetImportChunk makes transactions of imports end after so many bytes of lines, until a test ends.
func SetImportChunk(t *testing.T, bytes int) { setUntilEnd(t, &importChunkText, bytes) }

// SetImportReplaced makes transactions of imports end after so many bytes of rows that they replace, until a test ends.
func SetImportReplaced(t *testing.T, bytes int) { setUntilEnd(t, &importReplaced, bytes) }

func setUntilEnd(t *testing.T, limit *int, bytes int) {
	former := *limit
	*limit = bytes
	t.Cleanup(func() { *limit = former })
}
