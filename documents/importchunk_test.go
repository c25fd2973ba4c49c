package documents

import "testing"

// SetImportChunk makes transactions of imports end after so many bytes of lines, until a test ends.
func SetImportChunk(t *testing.T, bytes int) {
	former := importChunkText
	importChunkText = bytes
	t.Cleanup(func() { importChunkText = former })
}
