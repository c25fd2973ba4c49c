package anyjpeg

import "slices"

// A scan is a pass over some components.
type scan struct {
	components  []*component
	dc, ac      []*huffman // of each component; nil if a table is not defined
	first, last int        // coefficients, in the order of the file
	high, low   int        // the lowest bit that is known before, and after the scan; high is 0 if none is known
}

// scan decodes a scan with this header.
func (d *decoder) scan(header []byte) error {
	s, err := d.readScan(header)
	if err != nil {
		return err
	}
	decode := d.decoderOf(s)
	d.count, d.zeros = 0, 0
	units, each := d.across*d.down, d.interleaved
	if len(s.components) == 1 {
		units, each = s.components[0].covered[0]*s.components[0].covered[1], d.alone
	}
	for unit := range units {
		if d.restart > 0 && unit > 0 && unit%d.restart == 0 {
			if err := d.readRestart(); err != nil {
				return err
			}
		}
		if d.restart > 0 && unit%d.restart == 0 || unit == 0 {
			for _, c := range s.components {
				c.dc = 0
			}
		}
		if err := each(s, unit, decode); err != nil {
			return err
		}
	}
	d.count = 0
	return nil
}

// readRestart reads a restart marker.
func (d *decoder) readRestart() error {
	d.count, d.zeros = 0, 0
	marker, err := d.marker()
	if err == nil && (marker < 0xd0 || marker > 0xd7) {
		err = errFormat
	}
	return err
}

// readScan reads the header of a scan.
func (d *decoder) readScan(header []byte) (*scan, error) {
	if len(header) < 1 || d.width == 0 {
		return nil, errFormat
	}
	n := int(header[0])
	if n < 1 || n > 3 || len(header) != 1+2*n+3 {
		return nil, errFormat
	}
	s := &scan{last: 63}
	for i := range n {
		var found *component
		for at := range d.components {
			if d.components[at].id == header[1+2*i] {
				found = &d.components[at]
			}
		}
		if slices.Contains(s.components, found) {
			return nil, errFormat
		}
		tables := header[2+2*i]
		if found == nil || tables>>4 > 3 || tables&15 > 3 {
			return nil, errFormat
		}
		s.components = append(s.components, found)
		s.dc, s.ac = append(s.dc, d.tables[0][tables>>4]), append(s.ac, d.tables[1][tables&15])
	}
	if d.progressive {
		rest := header[1+2*n:]
		s.first, s.last, s.high, s.low = int(rest[0]), int(rest[1]), int(rest[2]>>4), int(rest[2]&15)
	}
	return s, d.check(s)
}

// check refuses scans that mean nothing, and scans without the tables that they need.
func (d *decoder) check(s *scan) error {
	switch {
	case s.first > s.last || s.last > 63 || s.low > 13 || s.high != 0 && s.high != s.low+1:
		return errFormat
	case d.progressive && s.first == 0 && s.last != 0, s.first > 0 && len(s.components) > 1:
		return errFormat
	}
	for i := range s.components {
		if s.first == 0 && s.high == 0 && s.dc[i] == nil || s.last > 0 && s.ac[i] == nil {
			return errFormat
		}
	}
	return nil
}

// A blockDecoder decodes what a scan has of a block of the component with this index in the scan.
type blockDecoder func(s *scan, i int, block []int16) error

// interleaved decodes the blocks of all components of an MCU.
func (d *decoder) interleaved(s *scan, unit int, decode blockDecoder) error {
	x, y := unit%d.across, unit/d.across
	for i, c := range s.components {
		for j := range c.h * c.v {
			at := (y*c.v+j/c.h)*c.wide + x*c.h + j%c.h
			if err := decode(s, i, c.blocks[64*at:][:64]); err != nil {
				return err
			}
		}
	}
	return nil
}

// alone decodes a block of the only component of a scan.
func (d *decoder) alone(s *scan, unit int, decode blockDecoder) error {
	c := s.components[0]
	at := unit/c.covered[0]*c.wide + unit%c.covered[0]
	return decode(s, 0, c.blocks[64*at:][:64])
}

// decoderOf returns the decoder of blocks of a scan.
func (d *decoder) decoderOf(s *scan) blockDecoder {
	switch {
	case !d.progressive:
		return d.sequential
	case s.first == 0 && s.high == 0:
		return d.firstDC
	case s.first == 0:
		return d.refineDC
	case s.high == 0:
		return d.firstAC
	}
	return d.refineAC
}

func (d *decoder) sequential(s *scan, i int, block []int16) error {
	if err := d.firstDC(s, i, block); err != nil {
		return err
	}
	for k := 1; k < 64; k++ {
		value, err := d.value(s.ac[i])
		if err != nil {
			return err
		}
		run, size := value>>4, value&15
		if size == 0 {
			if run < 15 {
				return nil
			}
			k += 15
			continue
		}
		if k += run; k > 63 {
			return errFormat
		}
		v, err := d.signed(size)
		if err != nil {
			return err
		}
		block[zigzag[k]] = int16(v)
	}
	return nil
}

func (d *decoder) firstDC(s *scan, i int, block []int16) error {
	size, err := d.value(s.dc[i])
	if err != nil {
		return err
	}
	if size > 15 {
		return errFormat
	}
	v, err := d.signed(size)
	c := s.components[i]
	c.dc += v
	block[0] = int16(c.dc << s.low)
	return err
}

func (d *decoder) refineDC(s *scan, _ int, block []int16) error {
	bit, err := d.bit()
	block[0] |= int16(bit << s.low)
	return err
}

func (d *decoder) firstAC(s *scan, _ int, block []int16) error {
	if d.zeros > 0 {
		d.zeros--
		return nil
	}
	for k := s.first; k <= s.last; k++ {
		value, err := d.value(s.ac[0])
		if err != nil {
			return err
		}
		run, size := value>>4, value&15
		if size == 0 && run < 15 {
			more, err := d.number(run)
			d.zeros = 1<<run + more - 1
			return err
		}
		if k += run; size == 0 {
			continue
		}
		if k > s.last {
			return errFormat
		}
		v, err := d.signed(size)
		if err != nil {
			return err
		}
		block[zigzag[k]] = int16(v << s.low)
	}
	return nil
}

func (d *decoder) refineAC(s *scan, _ int, block []int16) error {
	k := s.first
	for d.zeros == 0 && k <= s.last {
		value, err := d.value(s.ac[0])
		if err != nil {
			return err
		}
		run, size := value>>4, value&15
		added := int16(0)
		switch {
		case size == 1:
			bit, err := d.bit()
			if err != nil {
				return err
			}
			if added = 1 << s.low; bit == 0 {
				added = -added
			}
		case size > 1:
			return errFormat
		case run < 15:
			more, err := d.number(run)
			if err != nil {
				return err
			}
			d.zeros = 1<<run + more
			continue
		}
		if k, err = d.refine(s, block, k, run); err != nil {
			return err
		}
		if k <= s.last && added != 0 {
			block[zigzag[k]] = added
		}
		k++
	}
	if d.zeros == 0 {
		return nil
	}
	d.zeros--
	_, err := d.refine(s, block, k, 64)
	return err
}

// refine adds a bit to each coefficient from index k on that is not 0, and passes as many that are 0 as run says. It
// returns the index of the next one that is 0.
func (d *decoder) refine(s *scan, block []int16, k, run int) (int, error) {
	step := int16(1) << s.low
	for ; k <= s.last; k++ {
		v := &block[zigzag[k]]
		if *v == 0 {
			if run--; run < 0 {
				break
			}
			continue
		}
		bit, err := d.bit()
		if err != nil {
			return k, err
		}
		if bit == 1 && *v&step == 0 {
			if *v > 0 {
				*v += step
			} else {
				*v -= step
			}
		}
	}
	return k, nil
}
