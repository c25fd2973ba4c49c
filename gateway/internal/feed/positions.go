package feed

import (
	"crypto/sha256"
	"sync"

	"lectern/documents/changes"
)

// Positions encode positions in the changes of documents as texts for clients, and parse them. Any number of goroutines
// may use them.
type Positions struct{ codecs sync.Pool }

// NewPositions returns Positions whose texts are signed with a secret. They stay valid as long as the secret stays the
// same.
func NewPositions(secret []byte) *Positions {
	key := sha256.Sum256(secret)
	return &Positions{sync.Pool{New: func() any { return changes.NewCodec(key[:]) }}}
}

// Text returns the text of a position.
func (p *Positions) Text(at changes.Position) string {
	c := p.codecs.Get().(*changes.Codec)
	defer p.codecs.Put(c)
	return string(c.Append(nil, at))
}

// Parse returns the position that a text names.
func (p *Positions) Parse(text string) (changes.Position, error) {
	c := p.codecs.Get().(*changes.Codec)
	defer p.codecs.Put(c)
	return c.Parse(text)
}
