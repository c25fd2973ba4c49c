// Package jsonlines reads JSON Lines: a JSON object on each line.
package jsonlines

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"lectern/jsontree"
)

// A Reader reads objects from lines. Blank lines are skipped.
type Reader struct {
	r      *bufio.Reader
	max    int
	number int
	line   []byte // memory of the current line
}

// NewReader returns a Reader of r that refuses lines of more than max bytes.
func NewReader(r io.Reader, max int) *Reader {
	return &Reader{r: bufio.NewReaderSize(r, 64<<10), max: max}
}

// Line returns the number of the line that Next read last, from 1.
func (r *Reader) Line() int { return r.number }

// Next returns the object on the next line, and io.EOF after the last one. It accepts the key "__proto__", which harms
// no program but those in JavaScript.
func (r *Reader) Next() (*jsontree.Object, error) {
	for {
		line, err := r.next()
		if err != nil {
			return nil, err
		}
		if line = bytes.TrimSpace(line); len(line) > 0 {
			return Object(line)
		}
	}
}

// next returns the next line. It is valid until the next call.
func (r *Reader) next() ([]byte, error) {
	r.number++
	r.line = r.line[:0]
	for {
		piece, err := r.r.ReadSlice('\n')
		if len(r.line)+len(piece) > r.max {
			return nil, fmt.Errorf("longer than %d MB", r.max>>20)
		}
		r.line = append(r.line, piece...)
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF) && len(r.line) > 0:
			return r.line, nil
		default:
			return r.line, err
		}
	}
}

// maxObject is what an object may take, in bytes. It is far above that of real ones: a text may be made so that its
// values take forty times more.
const maxObject = 512 << 20

// An objectMemory counts the bytes of one object.
type objectMemory int64

// Add implements jsontree.Memory.
func (m *objectMemory) Add(bytes int64) error {
	if *m += objectMemory(bytes); *m > maxObject {
		return fmt.Errorf("a JSON object that takes more than %d MB of memory", maxObject>>20)
	}
	return nil
}

// Object parses a JSON object. It accepts the key "__proto__" too.
func Object(text []byte) (*jsontree.Object, error) {
	memory := objectMemory(0)
	v, err := jsontree.ParseWithin(text, jsontree.MaxDepth, &memory)
	if err != nil && !errors.Is(err, jsontree.ErrPrototype) {
		return nil, err
	}
	o, ok := v.(*jsontree.Object)
	if !ok {
		return nil, errors.New("not a JSON object")
	}
	return o, nil
}
