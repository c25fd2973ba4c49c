package images

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"errors"
	"image"
	"io"
	"slices"

	"lectern/internal/icc"
)

const (
	maxProfile  = 1 << 20   // bytes of the longest colour profile that is read
	maxEmbedded = 128 << 10 // bytes of the longest one that is written into images
)

// colours say how an image is shown as its colour profile demands, in images that are made of it: its colours become
// sRGB, which needs no profile, or the images keep the profile.
type colours struct {
	convert *icc.Transform // nil if nothing changes
	profile []byte         // written into the images; nil if there is none
}

// coloursOf reads the colour profile of an image. A profile that is damaged, or for pixels of another kind, counts as
// none, as in browsers. One that has tables is kept, unless it is too long: then its matrix, if it has one, must do.
func (p *Picture) coloursOf(f io.ReaderAt) colours {
	if !p.profiled {
		return colours{}
	}
	profile := p.readProfile(f)
	if profile == nil {
		return colours{}
	}
	t, err := icc.New(profile)
	tables := errors.Is(err, icc.ErrTables) || err == nil && t.Tables()
	switch {
	case tables && !p.gray && len(profile) <= maxEmbedded:
		return colours{profile: profile}
	case err != nil || t.Gray() != p.gray || t.Identity():
		return colours{}
	}
	return colours{convert: t}
}

// apply converts an image.
func (c colours) apply(m *image.RGBA) {
	if c.convert != nil {
		c.convert.Convert(m)
	}
}

// readProfile returns the colour profile in an image file, nil if there is none that can be read.
func (p *Picture) readProfile(f io.ReaderAt) []byte {
	file := io.NewSectionReader(f, 0, 1<<62)
	switch p.format {
	case "jpeg":
		return jpegProfile(file)
	case "png":
		_, named, ok := bytes.Cut(pngChunk(file, "iCCP", maxProfile), []byte{0})
		if !ok || len(named) == 0 || named[0] != 0 { // the compression method
			return nil
		}
		z, err := zlib.NewReader(bytes.NewReader(named[1:]))
		if err != nil {
			return nil
		}
		return readAtMost(z, maxProfile)
	case "webp":
		if p.icc.size <= maxProfile {
			return readAtMost(io.NewSectionReader(f, p.icc.at, p.icc.size), maxProfile)
		}
	}
	return nil
}

// readAtMost reads r to its end. It returns nil if that fails or r has more than n bytes.
func readAtMost(r io.Reader, n int64) []byte {
	data, err := io.ReadAll(io.LimitReader(r, n+1))
	if err != nil || int64(len(data)) > n {
		return nil
	}
	return data
}

// jpegProfile joins the parts of the colour profile of a JPEG file. It returns nil if one is missing.
func jpegProfile(r io.Reader) []byte {
	parts, size := map[byte][]byte{}, 0
	count := byte(0)
	eachSegment(r, func(marker byte, content []byte) bool {
		if rest := len(content) - len(profileMark) - 2; marker == 0xe2 && rest >= 0 && hasMark(content, profileMark) {
			number := content[len(profileMark)]
			count = content[len(profileMark)+1]
			if size += rest; size <= maxProfile {
				parts[number] = slices.Clone(content[len(profileMark)+2:])
			}
		}
		return marker != 0xda
	})
	if size > maxProfile {
		return nil
	}
	var profile []byte
	for number := range int(count) {
		part, ok := parts[byte(number+1)]
		if !ok {
			return nil
		}
		profile = append(profile, part...)
	}
	return profile
}

// embedding returns a writer of an image in a format, which adds a colour profile to what it writes to w. It is w
// itself for a format that is written with its profile, or if there is none.
func (c colours) embedding(w io.Writer, form string) io.Writer {
	switch {
	case c.profile == nil:
	case form == "jpeg":
		return &inserting{w, len("\xff\xd8"), jpegProfileSegments(c.profile)}
	case form == "png":
		return &inserting{w, 8 + 8 + 13 + 4, pngProfileChunk(c.profile)} // after signature and IHDR
	}
	return w
}

// An inserting writer writes data after the first bytes, at of them.
type inserting struct {
	io.Writer
	at   int
	data []byte
}

// Write implements io.Writer.
func (w *inserting) Write(p []byte) (n int, err error) {
	if w.data == nil {
		return w.Writer.Write(p)
	}
	n, err = w.Writer.Write(p[:min(w.at, len(p))])
	if w.at -= n; w.at > 0 || err != nil {
		return n, err
	}
	if _, err := w.Writer.Write(w.data); err != nil {
		return n, err
	}
	w.data = nil
	rest, err := w.Writer.Write(p[n:])
	return n + rest, err
}

// jpegProfileSegments returns the segments of a JPEG file that hold a colour profile of at most maxEmbedded bytes.
func jpegProfileSegments(profile []byte) (data []byte) {
	const most = 1<<16 - 1 - 2 - len(profileMark) - 2
	count := (len(profile) + most - 1) / most
	for i := range count {
		part := profile[i*most : min((i+1)*most, len(profile))]
		data = append(data, 0xff, 0xe2)
		data = binary.BigEndian.AppendUint16(data, uint16(2+len(profileMark)+2+len(part)))
		data = append(data, profileMark...)
		data = append(data, byte(i+1), byte(count))
		data = append(data, part...)
	}
	return data
}

// pngProfileChunk returns the chunk of a PNG file that holds a colour profile.
func pngProfileChunk(profile []byte) []byte {
	var b bytes.Buffer
	b.WriteString("iCCPICC\x00\x00") // the chunk's name, the profile's name, and the compression method
	z := zlib.NewWriter(&b)
	z.Write(profile) // into memory: it cannot fail
	z.Close()
	return pngChunkOf(b.Bytes())
}
