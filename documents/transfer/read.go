package transfer

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"lectern/jsontree"
)

// These are the limits of an import.
const (
	maxImportLine   = 64 << 20 // maximum bytes of a line
	maxLineProblems = 1000     // problems in the result; more are only counted
	progressEvery   = 1000     // lines between two calls of Progress
	strangeLines    = 20       // a file is no export if this many lines at its beginning are not JSON
)

// A lineRef is the number of a line, and where in the file it is.
type lineRef struct {
	number int
	offset int64
	length int
}

// lengthBits is how many bits of an extent hold the length of a line.
const lengthBits = 27 // maxImportLine < 1<<lengthBits

// extent packs offset and length into one number.
func (at lineRef) extent() uint64 { return uint64(at.offset)<<lengthBits | uint64(at.length) }

// lineAt returns the line with a number and an extent.
func lineAt(number, extent uint64) lineRef {
	return lineRef{int(number), int64(extent >> lengthBits), int(extent & (1<<lengthBits - 1))}
}

// A lineReader reads the lines of a file one after the other.
type lineReader struct {
	im   *importer
	r    *bufio.Reader
	at   lineRef // of the line that was read last
	next int64   // offset of the next line
	text []byte

	objects int // lines that are JSON objects
}

func (im *importer) newLineReader() (*lineReader, error) {
	if _, err := im.file.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	return &lineReader{im: im, r: bufio.NewReaderSize(im.file, 256<<10)}, nil
}

// read reads the next line, which is valid until the next call. It skips a line that is too long and returns
// errLongLine for it. At the end of the file it returns io.EOF.
func (r *lineReader) read() ([]byte, error) {
	r.text = r.text[:0]
	length := 0
	for {
		part, err := r.r.ReadSlice('\n')
		if err := r.im.reserve(min(length+len(part), maxImportLine)); err != nil {
			return nil, err
		}
		length += len(part)
		r.im.length += int64(len(part))
		if length <= maxImportLine {
			r.text = append(r.text, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case errors.Is(err, io.EOF) && length > 0, err == nil:
			r.at = lineRef{r.at.number + 1, r.next, length}
			r.next += int64(length)
			if length > maxImportLine {
				return nil, errLongLine
			}
			return r.text, nil
		}
		return nil, err
	}
}

var errLongLine = fmt.Errorf("a line has at most %d MiB", maxImportLine>>20)

// object reads the next line as a JSON object, nil for an empty line and the header. wrong says why the line is no
// object; err ends the import.
func (r *lineReader) object() (o *jsontree.Object, wrong, err error) {
	text, err := r.read()
	if errors.Is(err, errLongLine) {
		return nil, err, nil
	}
	if err != nil {
		return nil, nil, err
	}
	if text = bytes.TrimSpace(text); len(text) == 0 {
		return nil, nil, nil
	}
	if o, wrong, err = r.im.parseObject(text); wrong != nil || err != nil {
		return nil, wrong, err
	}
	if r.at.number == 1 {
		if header, wrong := isHeader(o); header {
			return nil, wrong, nil
		}
	}
	r.objects++
	return o, nil, nil
}

// parseObject parses a line. wrong says why it is no object; err ends the import.
func (im *importer) parseObject(text []byte) (o *jsontree.Object, wrong, err error) {
	memory := lineMemory{im: im}
	v, err := jsontree.ParseWithin(text, jsontree.MaxDepth, &memory)
	var syntax *jsontree.SyntaxError
	switch {
	case errors.As(err, &syntax):
		return nil, fmt.Errorf("not valid JSON: %w", err), nil
	case err != nil:
		return nil, nil, err
	}
	o, ok := v.(*jsontree.Object)
	if !ok {
		return nil, errors.New("a line must be a JSON object"), nil
	}
	return o, nil, nil
}

// A lineMemory reserves the memory of the values of one line. Few lines take more than reserve estimates.
type lineMemory struct {
	im    *importer
	bytes int64
}

// Add implements jsontree.Memory.
func (m *lineMemory) Add(bytes int64) error {
	if m.bytes += bytes; m.bytes <= m.im.densest {
		return nil
	}
	m.im.densest = m.bytes
	return m.im.reserve(0)
}

// readAgain reads and parses a line that was found to be valid before.
func (im *importer) readAgain(at lineRef) (*importLine, error) {
	text := make([]byte, at.length)
	if _, err := im.file.Seek(at.offset, io.SeekStart); err != nil {
		return nil, err
	}
	if _, err := io.ReadFull(im.file, text); err != nil {
		return nil, fmt.Errorf("read line %d again: %w", at.number, err)
	}
	o, wrong, err := im.parseObject(bytes.TrimSpace(text))
	if err := errors.Join(wrong, err); err != nil {
		return nil, fmt.Errorf("line %d has changed since it was checked: %w", at.number, err)
	}
	l, err := im.parseLine(o)
	if err != nil {
		return nil, fmt.Errorf("line %d has changed since it was checked: %w", at.number, err)
	}
	return l, im.build(l)
}
