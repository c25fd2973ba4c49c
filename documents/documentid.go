package documents

import (
	"crypto/rand"
	"sync"
)

// documentIDs generates documentIds: 24 characters, the first a letter. Its methods are safe for concurrent use.
//
// The store keeps the versions of a document under its documentId. If all of an id were random, each document that is
// created would cost a page of the file for that alone. So the ids of a run begin alike, and documents that are created
// together share a page. Ids tell neither when nor in which order their documents were created, and nobody can guess
// one from others: 18 characters, 89 bits, are random in each.
//
// There are no vowels in an id, since _q looks for its words in documentIds as well: an id that spells a word by chance
// would be found by it.
type documentIDs struct {
	mu    sync.Mutex
	start string // of the ids of the present run
	left  int    // how many of them are to come
}

const (
	documentIDLength = 24
	runStart         = 6  // characters that the ids of a run share: runs hardly ever begin alike
	runLength        = 64 // lists of versions that fill a page, about

	letters      = "bcdfghjklmnpqrstvwxyz"
	alphanumeric = letters + "0123456789"
)

// next returns an id that no document has.
func (d *documentIDs) next() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.left == 0 {
		d.start, d.left = randomText("", runStart), runLength
	}
	d.left--
	return randomText(d.start, documentIDLength)
}

// randomText extends a text to a length with random characters. The first of the text is a letter.
func randomText(start string, length int) string {
	text := append(make([]byte, 0, length), start...)
	var random [32]byte
	for {
		_, _ = rand.Read(random[:]) // never fails: crypto/rand ends the process instead
		for _, b := range random {
			set := alphanumeric
			if len(text) == 0 {
				set = letters
			}
			if int(b) >= 256-256%len(set) {
				continue // reject this byte, so that all characters are equally likely
			}
			if text = append(text, set[int(b)%len(set)]); len(text) == length {
				return string(text)
			}
		}
	}
}
