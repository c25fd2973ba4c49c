package gateway

import (
	"crypto/sha256"
	"sync"

	"lectern/documents/changes"
)

// positions encodes positions in the changes of documents as texts for clients, and parses them. Any number of goroutines may use it.
type positions struct{ codecs sync.Pool }

// newPositions returns positions whose texts stay valid when the server is started again.
func (g *generation) newPositions() (*positions, error) {
	secret, err := g.jwtSecret()
	if err != nil {
		return nil, err
	}
	key := sha256.Sum256(secret)
	return &positions{sync.Pool{New: func() any { return changes.NewCodec(key[:]) }}}, nil
}

func (p *positions) text(at changes.Position) string {
	c := p.codecs.Get().(*changes.Codec)
	defer p.codecs.Put(c)
	return string(c.Append(nil, at))
}

func (p *positions) parse(text string) (changes.Position, error) {
	c := p.codecs.Get().(*changes.Codec)
	defer p.codecs.Put(c)
	return c.Parse(text)
}
