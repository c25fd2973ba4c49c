package media

import (
	"encoding/xml"
	"io"
	"math"
	"strconv"
	"strings"
)

// maxSVGHead is how many bytes of an SVG file are searched for its root element.
const maxSVGHead = 64 << 10

// svgSize returns the size that the root element of an SVG file states, 0 if it states none.
func svgSize(r io.Reader) (width, height int) {
	d := xml.NewDecoder(io.LimitReader(r, maxSVGHead))
	d.Strict = false
	d.CharsetReader = func(_ string, r io.Reader) (io.Reader, error) { return r, nil }
	for {
		token, err := d.RawToken()
		if err != nil {
			return 0, 0
		}
		root, ok := token.(xml.StartElement)
		if !ok {
			continue
		}
		if root.Name.Local != "svg" {
			return 0, 0
		}
		return rootSize(root.Attr)
	}
}

// rootSize returns the size in the attributes of a root element: width and height, and viewBox for the one that is absent.
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
