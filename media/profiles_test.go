package media_test

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"image/color"
	"io"
	"strings"
)

// withProfile puts a colour profile into a PNG file.
func withProfile(file string, profile []byte) string {
	var b bytes.Buffer
	z := zlib.NewWriter(&b)
	z.Write(profile)
	z.Close()
	return withChunk(file, pngChunk("iCCP", "name\x00\x00"+b.String()), "IDAT")
}

// grayWithAlpha returns a PNG file of 300×200 opaque pixels of gray with an alpha channel.
func grayWithAlpha(gray byte) string {
	var b bytes.Buffer
	z := zlib.NewWriter(&b)
	for range 200 {
		z.Write([]byte("\x00" + strings.Repeat(string([]byte{gray, 255}), 300)))
	}
	z.Close()
	head := pngChunk("IHDR", "\x00\x00\x01\x2c\x00\x00\x00\xc8\x08\x04\x00\x00\x00")
	return "\x89PNG\r\n\x1a\n" + head + pngChunk("IDAT", b.String()) + pngChunk("IEND", "")
}

const profileMark = "ICC_PROFILE\x00"

// jpegWithProfile puts a colour profile into a JPEG file, in parts of at least so many bytes, the last one first.
func jpegWithProfile(file string, profile []byte, part int) string {
	part = max(part, len(profile)/200)
	count := (len(profile) + part - 1) / part
	var segments string
	for i := count - 1; i >= 0; i-- {
		content := profileMark + string([]byte{byte(i + 1), byte(count)}) +
			string(profile[i*part:min((i+1)*part, len(profile))])
		segments += "\xff\xe2" + string(binary.BigEndian.AppendUint16(nil, uint16(2+len(content)))) + content
	}
	return file[:2] + segments + file[2:]
}

// profileIn returns the colour profile in an image file, "" if there is none.
func profileIn(file string) string {
	switch {
	case strings.HasPrefix(file, "\x89PNG"):
		_, rest, ok := strings.Cut(file, "iCCP")
		if !ok {
			return ""
		}
		_, rest, _ = strings.Cut(rest, "\x00\x00")
		z, err := zlib.NewReader(strings.NewReader(rest))
		if err != nil {
			return "damaged"
		}
		profile, err := io.ReadAll(z)
		if err != nil {
			return "damaged"
		}
		return string(profile)
	case strings.HasPrefix(file, "RIFF"):
		return riffChunk(file, "ICCP")
	}
	profile := ""
	for at := 2; file[at+1] != 0xda; {
		size := int(binary.BigEndian.Uint16([]byte(file[at+2:])))
		if content := file[at+4 : at+2+size]; file[at+1] == 0xe2 && strings.HasPrefix(content, profileMark) {
			profile += content[len(profileMark)+2:]
		}
		at += 2 + size
	}
	return profile
}

// withoutSegment removes the segments with a marker from a JPEG file.
func withoutSegment(file string, marker byte) string {
	out, at := file[:2], 2
	for file[at+1] != 0xda {
		size := int(binary.BigEndian.Uint16([]byte(file[at+2:])))
		if file[at+1] != marker {
			out += file[at : at+2+size]
		}
		at += 2 + size
	}
	return out + file[at:]
}

// riffChunk returns the content of a chunk of a WebP file, "" if there is none.
func riffChunk(file, name string) string {
	for at := 12; at+8 <= len(file); {
		size := int(binary.LittleEndian.Uint32([]byte(file[at+4:])))
		if file[at:at+4] == name {
			return file[at+8 : at+8+size]
		}
		at += 8 + size + size&1
	}
	return ""
}

// webpOf returns the chunk VP8L of a WebP file of 300×200 pixels of one opaque colour.
func webpOf(c color.NRGBA) string {
	var stream bitStream
	stream.put(0x2f, 8)
	stream.put(299, 14)
	stream.put(199, 14)
	stream.put(0, 1+3+1+1+1)
	for _, symbol := range []uint8{c.G, c.R, c.B, c.A, 0} {
		stream.put(1, 1)
		stream.put(0, 1)
		stream.put(1, 1)
		stream.put(uint64(symbol), 8)
	}
	stream.put(0, 8)
	return string(stream.data)
}
