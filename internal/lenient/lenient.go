// Package lenient mends image files on the way to their decoders, which are stricter than browsers. What it returns are
// streams that the decoders of the standard library and of golang.org/x/image accept wherever Chromium shows the file.
// It decodes nothing, holds at most a few kilobytes, and leaves what it cannot mend to the decoder, which then refuses
// it.
package lenient

import (
	"bytes"
	"io"
)

// JPEG returns a JPEG file with a marker of its end, which may be missing. If cmyk is true, it tells the decoder that
// the four components are inverted CMYK, as browsers assume of a file that does not say how its components are to be
// read.
func JPEG(r io.Reader, cmyk bool) io.Reader {
	end := bytes.NewReader([]byte{0xff, 0xd9})
	if !cmyk {
		return io.MultiReader(r, end)
	}
	var start [2]byte
	if _, err := io.ReadFull(r, start[:]); err != nil {
		return failed{err}
	}
	adobe := []byte("\xff\xee\x00\x0eAdobe\x00\x64\x00\x00\x00\x00\x00") // version, flags, and 0: no conversion of colours
	return io.MultiReader(bytes.NewReader(start[:]), bytes.NewReader(adobe), r, end)
}

type failed struct{ err error }

func (f failed) Read([]byte) (int, error) { return 0, f.err }

// A pipe is a reader of parts that are made one after another. next adds bytes to head, sets how many bytes of source
// follow them, or returns the error that ends the stream.
type pipe struct {
	source io.Reader
	head   []byte
	copied int64 // bytes of source that follow head
	passed func([]byte)
	next   func() error
	err    error
}

// Read implements io.Reader.
func (p *pipe) Read(b []byte) (int, error) {
	for len(p.head) == 0 && p.copied == 0 {
		if p.err != nil {
			return 0, p.err
		}
		p.err = p.next()
	}
	if len(p.head) > 0 {
		n := copy(b, p.head)
		p.head = p.head[n:]
		return n, nil
	}
	n, err := p.source.Read(b[:min(int64(len(b)), p.copied)])
	p.copied -= int64(n)
	if p.passed != nil {
		p.passed(b[:n])
	}
	if err == io.EOF {
		err = nil
		if p.copied > 0 {
			p.copied, p.err = 0, io.ErrUnexpectedEOF
		}
	}
	return n, err
}

// skip discards n bytes of r. It returns an error if there are fewer.
func skip(r io.Reader, n int64) error {
	m, err := io.Copy(io.Discard, io.LimitReader(r, n))
	if err == nil && m < n {
		err = io.ErrUnexpectedEOF
	}
	return err
}
