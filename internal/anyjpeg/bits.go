package anyjpeg

import "bufio"

// bits reads the bits of entropy-coded data.
type bits struct {
	in    *bufio.Reader
	last  uint8 // the byte that is being read
	count uint8 // its bits that are not read yet
}

// bit reads one bit. At a marker it fails, and leaves the marker to be read.
func (b *bits) bit() (int, error) {
	if b.count == 0 {
		next, err := b.in.ReadByte()
		if err != nil {
			return 0, err
		}
		if next == 0xff {
			stuffed, err := b.in.ReadByte()
			if err != nil {
				return 0, err
			}
			if stuffed != 0 {
				return 0, errFormat
			}
		}
		b.last, b.count = next, 8
	}
	b.count--
	return int(b.last>>b.count) & 1, nil
}

// number reads a number of n bits.
func (b *bits) number(n int) (v int, err error) {
	for range n {
		bit, err := b.bit()
		if err != nil {
			return 0, err
		}
		v = v<<1 | bit
	}
	return v, nil
}

// signed reads a number of n bits, of which the lower half stands for negative values.
func (b *bits) signed(n int) (int, error) {
	v, err := b.number(n)
	if n > 0 && v < 1<<(n-1) {
		v += 1 - 1<<n
	}
	return v, err
}

// A huffman is a table of prefix codes.
type huffman struct {
	most   [17]int // greatest code of each length, -1 if there is none
	offset [17]int // what to add to a code of a length for the index of its value
	values []byte
}

// readTables reads tables of prefix codes.
func (d *decoder) readTables(content []byte) error {
	for len(content) > 0 {
		class, number := content[0]>>4, content[0]&15
		if class > 1 || number > 3 || len(content) < 17 {
			return errFormat
		}
		t := &huffman{}
		code, total := 0, 0
		for length := 1; length <= 16; length++ {
			n := int(content[length])
			t.offset[length], t.most[length] = total-code, -1
			code, total = code+n, total+n
			if code > 1<<length {
				return errFormat
			}
			if n > 0 {
				t.most[length] = code - 1
			}
			code <<= 1
		}
		if total > 256 || len(content) < 17+total {
			return errFormat
		}
		t.values = content[17 : 17+total]
		d.tables[class][number] = t
		content = content[17+total:]
	}
	return nil
}

// value reads a prefix code, and returns its value.
func (b *bits) value(t *huffman) (int, error) {
	code := 0
	for length := 1; length <= 16; length++ {
		bit, err := b.bit()
		if err != nil {
			return 0, err
		}
		if code = code<<1 | bit; code <= t.most[length] {
			return int(t.values[code+t.offset[length]]), nil
		}
	}
	return 0, errFormat
}
