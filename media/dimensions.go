package media

import (
	"encoding/binary"
	"errors"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"io"
	"os"

	"golang.org/x/image/webp"

	"lectern/documents/apierror"
)

// A picture describes an image file as far as its header tells, before the image is decoded.
type picture struct {
	format      string // jpeg, png, gif, webp or svg
	width       int    // as stored, before the orientation is applied
	height      int
	orientation int     // EXIF: 1 to 8
	pixelBytes  float64 // memory that decoding takes for each pixel
	animated    bool
}

var errImage = apierror.Application("File is not a valid image")

// pictureFormats maps the media type of a file's content to the format that readPicture reads.
var pictureFormats = map[string]string{
	"image/jpeg": "jpeg", "image/png": "png", "image/vnd.mozilla.apng": "png", "image/gif": "gif", "image/webp": "webp", svgType: "svg",
}

// readPicture reads the header of an image. It returns nil for content of any other type.
func readPicture(f io.ReaderAt, k kind) (*picture, error) {
	p := &picture{format: pictureFormats[k.content], orientation: 1}
	if k.served == svgType { // SVG may look like any other XML in its first bytes
		p.format = "svg"
	}
	head := func() io.Reader { return io.NewSectionReader(f, 0, 1<<62) }
	var c image.Config
	var err error
	switch p.format {
	case "":
		return nil, nil
	case "svg":
		p.width, p.height = svgSize(f)
		return p, nil
	case "jpeg":
		c, err = jpeg.DecodeConfig(head())
		p.pixelBytes = jpegBytes(head())
		p.orientation = jpegOrientation(head())
	case "png":
		if c, err = png.DecodeConfig(head()); err == nil {
			p.pixelBytes = pngBytes(c, head())
		}
		p.orientation = pngOrientation(head())
	case "gif":
		c, err = gif.DecodeConfig(head())
		p.pixelBytes = 1 + 4 // one byte of the decoded image, four of the canvas that its first frame is drawn on
	case "webp":
		return p, p.readWebP(f)
	}
	if err != nil {
		return nil, unreadableImage(err)
	}
	p.width, p.height = c.Width, c.Height
	return p, nil
}

// unreadableImage returns err if reading the disk failed, and otherwise errImage: the file itself is damaged.
func unreadableImage(err error) error {
	var disk *os.PathError
	if errors.As(err, &disk) {
		return err
	}
	return errImage
}

// pngBytes returns how many bytes decoding takes for each pixel of a PNG file. An interlaced file takes twice as many, because
// it is assembled from several smaller images.
func pngBytes(c image.Config, r io.Reader) float64 {
	bytes := 4.0
	switch c.ColorModel.Convert(color.White).(type) {
	case color.Gray:
		bytes = 1
	case color.Gray16:
		bytes = 2
	case color.RGBA64, color.NRGBA64:
		bytes = 8
	}
	var head [8 + 8 + 13]byte // signature, then the chunk IHDR with its length and name
	if _, err := io.ReadFull(r, head[:]); err != nil || head[28] != 0 {
		bytes *= 2
	}
	return bytes
}

// size returns width and height as the image is shown, with its orientation applied.
func (p *picture) size() (width, height int) {
	if p.orientation >= 5 {
		return p.height, p.width
	}
	return p.width, p.height
}

func (p *picture) pixels() int64 { return int64(p.width) * int64(p.height) }

// decode decodes the image. Of an animated GIF it decodes the first frame.
func (p *picture) decode(r io.Reader) (image.Image, error) {
	switch p.format {
	case "jpeg":
		return jpeg.Decode(r)
	case "png":
		return png.Decode(r)
	case "gif":
		return gif.Decode(r)
	}
	return webp.Decode(r)
}

// readWebP reads size, orientation and kind from the chunks of a WebP file. It refuses an extended file whose picture has
// another size than the file states; otherwise a small file could hide a huge picture.
func (p *picture) readWebP(f io.ReaderAt) error {
	var head [12]byte
	if _, err := f.ReadAt(head[:], 0); err != nil {
		return unreadableImage(err)
	}
	end := int64(binary.LittleEndian.Uint32(head[4:])) + 8
	extended := false
	p.pixelBytes = 1.5 + 1 // lossy: YCbCr and transparency
	for at := int64(12); at+8 <= end; {
		var chunk [8 + 10]byte
		n, err := f.ReadAt(chunk[:], at)
		if n < 8 {
			return unreadableImage(err)
		}
		size := int64(binary.LittleEndian.Uint32(chunk[4:]))
		data := chunk[8:n]
		w, h := 0, 0
		switch string(chunk[:4]) {
		case "VP8X":
			if len(data) < 10 || extended {
				return errImage
			}
			extended, p.animated = true, data[0]&2 != 0
			p.width, p.height = 1+uint24(data[4:]), 1+uint24(data[7:])
			if p.animated {
				return nil
			}
		case "VP8 ":
			if len(data) < 10 {
				return errImage
			}
			w, h = int(binary.LittleEndian.Uint16(data[6:]))&0x3fff, int(binary.LittleEndian.Uint16(data[8:]))&0x3fff
		case "VP8L":
			if len(data) < 5 {
				return errImage
			}
			bits := binary.LittleEndian.Uint32(data[1:])
			w, h = 1+int(bits&0x3fff), 1+int(bits>>14&0x3fff)
			p.pixelBytes = 2 * 4 // lossless: the transformed pixels and the result
		case "EXIF":
			p.orientation = tiffOrientation(io.NewSectionReader(f, at+8, min(size, maxEXIF)))
		}
		if w > 0 {
			if extended && (w != p.width || h != p.height) {
				return errImage
			}
			p.width, p.height = w, h
			if !extended {
				return nil
			}
		}
		at += 8 + size + size&1
	}
	if p.width == 0 {
		return errImage
	}
	return nil
}

func uint24(b []byte) int { return int(b[0]) | int(b[1])<<8 | int(b[2])<<16 }
