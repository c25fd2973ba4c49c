package jsontree

// A Memory says whether there is memory for a value.
type Memory interface {
	// Add is called before so many more bytes are allocated, in steps of several kilobytes. Its error ends the parsing.
	Add(bytes int64) error
}

// What the parts of a value take, in bytes, as the allocator of Go rounds it. Lists and objects that grow are copied:
// what they leave behind counts too, since it is collected later.
const (
	objectBytes   = 64 // an Object without its keys and values
	keyBytes      = 32 // a key and its value in the slices of an Object
	mapBytes      = 56 // a key in the map of an Object
	valueBytes    = 16 // an element of a list
	listBytes     = 24 // a list without its elements
	textBytes     = 16 // a text or number without its characters, which are those of the parsed text
	allocated     = 16 // what an allocation may take beside its bytes
	usualElements = 4  // for how many elements a list with more than one has room at first
)

// stepBytes is how many bytes a parser asks for at a time.
const stepBytes = 16 << 10

// take asks for memory for so many bytes.
func (p *parser) take(bytes int) error {
	p.room -= bytes
	if p.room >= 0 || p.memory == nil {
		return nil
	}
	step := max(stepBytes, -p.room)
	p.room += step
	return p.memory.Add(int64(step))
}

// growth returns how many bytes one more key takes.
func (o *Object) growth() (bytes int) {
	n := len(o.Keys)
	if n == cap(o.Keys) {
		bytes = 2 * n * keyBytes
		if n > fewKeys {
			bytes += 2 * n * mapBytes
		}
	}
	if n == fewKeys {
		bytes += 2 * fewKeys * mapBytes
	}
	return bytes
}
