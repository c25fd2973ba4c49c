package images

import (
	"bufio"
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"math"
	"strconv"
	"strings"

	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"
)

// maxSVGHead is how many bytes of a file are searched for the root element of an SVG image.
const maxSVGHead = 64 << 10

// svgSize returns the size that the root element of an SVG file states, 0 if it states none.
func svgSize(r io.ReaderAt) (width, height int) {
	root, err := rootElement(headOf(r, maxSVGHead))
	if err != nil || root.Name.Local != "svg" {
		return 0, 0
	}
	return rootSize(root.Attr)
}

// IsSVG reports whether the root element of a file that begins with head is that of an SVG image. Comments, an XML
// declaration and a document type may come before it. Only if they fill head does it read more of the file, from r,
// which is nil if head is all of it.
func IsSVG(head []byte, r io.ReaderAt) bool {
	text, _, err := transform.Bytes(byteOrder(), head[:len(head)&^1]) // UTF-16 has two bytes for each character
	if err != nil || !bytes.HasPrefix(bytes.TrimLeft(text, "\ufeff \t\r\n"), []byte("<")) {
		return false
	}
	root, err := rootElement(bytes.NewReader(head))
	if err != nil && r != nil {
		root, err = rootElement(headOf(r, maxSVGHead))
	}
	return err == nil && root.Name.Local == "svg"
}

// headOf reads the first bytes of a file, at most n of them, at once.
func headOf(r io.ReaderAt, n int) io.Reader {
	return bufio.NewReaderSize(io.NewSectionReader(r, 0, int64(n)), n)
}

// byteOrder returns a transformer of UTF-16 with a byte order mark to UTF-8. It leaves other text as it is.
func byteOrder() transform.Transformer { return unicode.BOMOverride(transform.Nop) }

var errHTML = errors.New("the document type is that of HTML")

// rootElement returns the first element of an XML document.
func rootElement(r io.Reader) (xml.StartElement, error) {
	d := xml.NewDecoder(transform.NewReader(r, byteOrder()))
	d.Strict = false
	d.CharsetReader = func(_ string, r io.Reader) (io.Reader, error) { return r, nil }
	for {
		token, err := d.RawToken()
		if err != nil {
			return xml.StartElement{}, err
		}
		switch t := token.(type) {
		case xml.StartElement:
			return t, nil
		case xml.Directive:
			if words := strings.Fields(string(t)); len(words) > 1 && strings.EqualFold(words[1], "html") {
				return xml.StartElement{}, errHTML
			}
		}
	}
}

// rootSize returns the size in the attributes of a root element: width and height, and viewBox for the one that is
// absent.
func rootSize(attrs []xml.Attr) (width, height int) {
	var w, h, boxW, boxH float64
	for _, a := range attrs {
		switch a.Name.Local {
		case "width":
			w = svgLength(a.Value)
		case "height":
			h = svgLength(a.Value)
		case "viewBox":
			if box := strings.Fields(strings.ReplaceAll(a.Value, ",", " ")); len(box) == 4 {
				boxW, boxH = svgLength(box[2]), svgLength(box[3])
			}
		}
	}
	switch {
	case w > 0 && h > 0:
	case boxW == 0 || boxH == 0:
		return 0, 0
	case w > 0:
		h = w * boxH / boxW
	case h > 0:
		w = h * boxW / boxH
	default:
		w, h = boxW, boxH
	}
	return rounded(w), rounded(h)
}

func rounded(f float64) int {
	if f < 1 {
		return 1
	}
	return int(math.Min(math.Round(f), math.MaxInt32))
}

// svgUnits lists the units of length in pixels. An inch has 72 pixels, as in the reference.
var svgUnits = []struct {
	suffix string
	factor float64
}{{"px", 1}, {"pt", 1}, {"pc", 12}, {"in", 72}, {"cm", 72 / 2.54}, {"mm", 72 / 25.4}, {"em", 16}, {"ex", 8}, {"", 1}}

// svgLength returns a length in pixels, 0 if it is malformed or relative.
func svgLength(s string) float64 {
	s = strings.TrimSpace(s)
	for _, u := range svgUnits {
		if digits, ok := strings.CutSuffix(s, u.suffix); ok {
			f, err := strconv.ParseFloat(digits, 64)
			if err == nil && f > 0 && f <= math.MaxInt32 {
				return f * u.factor
			}
			if u.suffix != "" {
				return 0
			}
		}
	}
	return 0
}
