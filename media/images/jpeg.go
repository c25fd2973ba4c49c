package images

import (
	"bufio"
	"encoding/binary"
	"io"

	"lectern/internal/anyjpeg"
)

// A jpegHead is what the segments of a JPEG file before its picture say.
type jpegHead struct {
	frame       []byte // content of the frame header; nil if there is none that is known
	progressive bool
	orientation int  // EXIF: 1 to 8
	adobe       bool // a segment says how the components are to be read
	profiled    bool // there is a colour profile
}

const (
	exifMark    = "Exif\x00\x00"
	profileMark = "ICC_PROFILE\x00" // then the number of the part and how many there are
)

// readJPEGHead reads the segments of a JPEG file up to its picture. What is malformed ends the head: what was read
// before counts.
func readJPEGHead(r io.Reader) jpegHead {
	h := jpegHead{orientation: 1}
	exif := false
	eachSegment(r, func(marker byte, content []byte) bool {
		switch {
		case marker == 0xda:
			return false
		case marker == 0xc0 || marker == 0xc1 || marker == 0xc2:
			if h.frame == nil && len(content) >= 6 && len(content) >= 6+3*int(content[5]) {
				h.frame, h.progressive = append([]byte(nil), content...), marker == 0xc2
			}
		case marker == 0xe1 && !exif && hasMark(content, exifMark): // the first one counts
			exif, h.orientation = true, orientationOf(content[len(exifMark):])
		case marker == 0xe2 && hasMark(content, profileMark):
			h.profiled = true
		case marker == 0xee && hasMark(content, "Adobe"):
			h.adobe = true
		}
		return true
	})
	return h
}

func hasMark(content []byte, mark string) bool {
	return len(content) >= len(mark) && string(content[:len(mark)]) == mark
}

// eachSegment calls f with marker and content of each segment of a JPEG file, until f returns false. The content is
// valid only during the call. Before a marker there may be any number of fill bytes.
func eachSegment(r io.Reader, f func(marker byte, content []byte) bool) {
	in := bufio.NewReaderSize(r, 16<<10)
	if _, err := in.Discard(2); err != nil {
		return
	}
	var room [1 << 16]byte
	for range 1024 {
		marker, err := readMarker(in)
		if err != nil || marker == 0 {
			return
		}
		var head [2]byte
		if _, err := io.ReadFull(in, head[:]); err != nil {
			return
		}
		size := int(binary.BigEndian.Uint16(head[:])) - 2
		if size < 0 {
			return
		}
		if _, err := io.ReadFull(in, room[:size]); err != nil || !f(marker, room[:size]) {
			return
		}
	}
}

// readMarker reads a marker with the fill bytes before it, as many as a segment may be long. It returns 0 if there is
// none.
func readMarker(in *bufio.Reader) (byte, error) {
	b, err := in.ReadByte()
	if err != nil || b != 0xff {
		return 0, err
	}
	for range 1 << 16 {
		if b, err = in.ReadByte(); err != nil || b != 0xff {
			return b, err
		}
	}
	return 0, nil
}

// readJPEG reads size and kind of a JPEG file from the segments before its picture.
func (p *Picture) readJPEG(r io.Reader) {
	h := readJPEGHead(r)
	p.width, p.height = h.size()
	p.orientation, p.pixelBytes = h.orientation, h.pixelBytes()
	p.gray = h.components() == 1
	p.sampled = anyjpeg.Unusual(h.frame)
	cmyk := h.components() == 4
	p.bareCMYK = cmyk && !h.adobe
	p.profiled = h.profiled && !cmyk // CMYK is converted without its profile
}

// pixelBytes returns how many bytes decoding takes for each pixel: one for each sample; five times that for a
// progressive file, whose coefficients are all in memory until its end; and four more for pixels that are not YCbCr,
// which are converted. Package anyjpeg tells what it takes itself.
func (h *jpegHead) pixelBytes() float64 {
	if h.frame == nil {
		return 3*5 + 4
	}
	if width, height := h.size(); anyjpeg.Unusual(h.frame) {
		return float64(anyjpeg.Memory(h.frame)) / float64(width*height)
	}
	return frameBytes(h.frame, h.progressive)
}

// size returns width and height of the picture, 0 if the frame header states none.
func (h *jpegHead) size() (width, height int) {
	if h.frame == nil {
		return 0, 0
	}
	return int(binary.BigEndian.Uint16(h.frame[3:])), int(binary.BigEndian.Uint16(h.frame[1:]))
}

// components returns how many components the picture has: 1 for gray, 3 for colours, 4 for CMYK.
func (h *jpegHead) components() int {
	if h.frame == nil {
		return 0
	}
	return int(h.frame[5])
}

// frameBytes computes the result of jpegHead.pixelBytes from a frame header.
func frameBytes(frame []byte, progressive bool) float64 {
	components := int(frame[5])
	samples, wide, high := 0, 1, 1
	for i := range components {
		h, v := int(frame[6+3*i+1]>>4), int(frame[6+3*i+1]&15)
		samples += h * v
		wide, high = max(wide, h), max(high, v)
	}
	bytes := float64(samples) / float64(wide*high)
	if components == 1 {
		bytes = 1
	}
	if progressive {
		bytes *= 5
	}
	if components == 4 || components == 3 && frame[6] == 'R' && frame[9] == 'G' && frame[12] == 'B' {
		bytes += 4
	}
	return bytes
}
