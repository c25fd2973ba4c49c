package yamlfile

import "strings"

// valueBytes is what a value takes while a file is read, in bytes: as a node of the library, as a Node, and as what is
// made of it.
const valueBytes = 512

// Memory returns how many bytes a file with this text may take while it is read, at most.
func Memory(text string) int64 {
	values := 1
	for _, mark := range []string{"\n", ",", ":", "-", "[", "{"} { // one of them stands before each value
		values += strings.Count(text, mark)
	}
	return int64(len(text)) + int64(values)*valueBytes
}
