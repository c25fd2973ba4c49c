package media

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"

	"lectern/documents/apierror"
)

// A Fit says how an image is fitted into a width and a height. The words are those of sharp, an image library for Node.
// Only Fill enlarges an image.
type Fit string

// The fits.
const (
	Inside  Fit = "inside"  // keep the proportions; at most as wide and as high
	Outside Fit = "outside" // keep the proportions; at least as wide and as high
	Cover   Fit = "cover"   // keep the proportions and cut off what sticks out, evenly on both sides
	Contain Fit = "contain" // like Inside, then add black bars to reach the size
	Fill    Fit = "fill"    // stretch to the size
)

// Fits are all fits.
var Fits = []Fit{Inside, Outside, Cover, Contain, Fill}

// VariantFormats are the formats in which variants can be made.
var VariantFormats = []string{"jpeg", "png", "webp"}

// UnmarshalText reads a fit from a configuration.
func (f *Fit) UnmarshalText(text []byte) error {
	*f = Fit(text)
	if !slices.Contains(Fits, *f) {
		return fmt.Errorf("must be one of %s, not %q", join(Fits), text)
	}
	return nil
}

// MaxSide is the largest width and height of a variant.
const MaxSide = 10_000

// A Size is the width and height that a variant is fitted into. One of them may be 0: the proportions then decide it.
type Size struct{ Width, Height int }

// ParseSize reads a size as WIDTH, WIDTHxHEIGHT or xHEIGHT.
func ParseSize(text string) (Size, error) {
	width, height, both := strings.Cut(text, "x")
	var s Size
	var err error
	if width != "" || !both {
		s.Width, err = parseSide(width)
	}
	if both && err == nil {
		s.Height, err = parseSide(height)
	}
	return s, err
}

// String returns the text that ParseSize reads.
func (s Size) String() string {
	text := ""
	if s.Width > 0 {
		text = strconv.Itoa(s.Width)
	}
	if s.Height > 0 {
		text += "x" + strconv.Itoa(s.Height)
	}
	return text
}

// UnmarshalText reads a size from a configuration.
func (s *Size) UnmarshalText(text []byte) (err error) {
	if *s, err = ParseSize(string(text)); err != nil {
		return fmt.Errorf("must be WIDTH, WIDTHxHEIGHT or xHEIGHT, such as 400 or 1200x630, "+
			"and each side from 1 to %d, not %q", MaxSide, text)
	}
	return nil
}

func parseSide(text string) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > MaxSide || strconv.Itoa(n) != text {
		return 0, fmt.Errorf("must be a number of pixels from 1 to %d", MaxSide)
	}
	return n, nil
}

// A Variant describes an image that is made of an uploaded one when a client asks for it, such as
// /uploads/cat.jpg?width=400&format=webp.
type Variant struct {
	Size
	Fit    Fit    // "" means Inside
	Format string // one of VariantFormats; "" means the format of the uploaded image
}

// variantParameters are the query parameters that ask for a variant. URLs ignore all others.
var variantParameters = []string{"fit", "format", "height", "signature", "width"}

// parseVariant reads a query string. It returns nil if the query has no parameter of a variant. signature is "" if
// there is none.
func parseVariant(query string) (v *Variant, signature string, err error) {
	if query == "" {
		return nil, "", nil
	}
	values, err := url.ParseQuery(query)
	if err != nil {
		return nil, "", apierror.Validation("the query string is malformed")
	}
	v = &Variant{}
	asked := false
	for _, name := range variantParameters {
		list, given := values[name]
		if !given {
			continue
		}
		asked = true
		if len(list) > 1 {
			return nil, "", apierror.Validation(name + " is given more than once")
		}
		if name == "signature" {
			signature = list[0]
			continue
		}
		if err := v.set(name, list[0]); err != nil {
			return nil, "", apierror.Validation(name + " " + err.Error())
		}
	}
	if !asked {
		return nil, "", nil
	}
	return v, signature, v.check()
}

// set sets the field of a parameter. The error continues a sentence that begins with the name of the parameter.
func (v *Variant) set(name, value string) (err error) {
	switch name {
	case "width":
		v.Width, err = parseSide(value)
	case "height":
		v.Height, err = parseSide(value)
	case "fit":
		v.Fit = Fit(value)
		if !slices.Contains(Fits, v.Fit) {
			err = fmt.Errorf("must be one of %s", join(Fits))
		}
	case "format":
		v.Format = value
		if !slices.Contains(VariantFormats, value) {
			err = fmt.Errorf("must be one of %s", join(VariantFormats))
		}
	}
	return err
}

var (
	errNoVariant = apierror.Validation("an image on request needs width, height or format")
	errFitOnly   = apierror.Validation("fit needs width or height")
)

// check refuses parameters that mean nothing together.
func (v *Variant) check() error {
	switch noSize := v.Size == (Size{}); {
	case noSize && v.Fit != "":
		return errFitOnly
	case noSize && v.Format == "":
		return errNoVariant
	}
	return nil
}

// query returns the parameters that describe v, sorted by name, without those that are not set.
func (v *Variant) query() string {
	var parameters []string
	add := func(name, value string) {
		if value != "" && value != "0" {
			parameters = append(parameters, name+"="+value)
		}
	}
	add("fit", string(v.Fit))
	add("format", v.Format)
	add("height", strconv.Itoa(v.Height))
	add("width", strconv.Itoa(v.Width))
	return strings.Join(parameters, "&")
}

// normal returns the variant that shows the same as v. All variants that show the same for any image have one normal
// form.
func (v Variant) normal() Variant {
	if v.Fit == "" || v.Fit != Fill && (v.Width == 0 || v.Height == 0) {
		v.Fit = Inside
	}
	return v
}

// SignedURL returns the URL of a variant with a signature, which allows any size. fileURL is the attribute url of a
// file; secret is upload.config.images.secret. The signature is the HMAC-SHA256, in hexadecimal, of the file name in
// the URL, a question mark, and the other parameters sorted by name.
func (v Variant) SignedURL(secret, fileURL string) (string, error) {
	u, err := url.Parse(fileURL)
	if err != nil {
		return "", fmt.Errorf("sign the URL of an image: %w", err)
	}
	checked, _, err := parseVariant(v.query())
	if err == nil && (checked == nil || *checked != v) {
		err = errNoVariant
	}
	if err != nil {
		return "", fmt.Errorf("sign the URL of an image: %w", err)
	}
	u.RawQuery = v.query() + "&signature=" + v.signature(secret, path.Base(u.Path))
	return u.String(), nil
}

// signature returns the signature of a variant of the file with this stored name.
func (v *Variant) signature(secret, name string) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(name + "?" + v.query()))
	return hex.EncodeToString(mac.Sum(nil))
}

// ImageSettings say which images clients may ask for. The zero value allows none: query parameters then change nothing.
type ImageSettings struct {
	Sizes   []Size // allowed without a signature
	Fits    []Fit
	Formats []string
	Secret  string // signs URLs, which may then ask for any size; "" means that no URL is signed
	Cache   int64  // maximum number of bytes of the cached images
}

func (s *ImageSettings) enabled() bool { return len(s.Sizes) > 0 || s.Secret != "" }

var errSignature = &apierror.Error{Status: 403, Name: "ForbiddenError",
	Message: "the signature does not fit the file and the parameters"}

// check returns an error if a client may not have this variant of the file with this stored name.
func (s *ImageSettings) check(v *Variant, name, signature string) error {
	if signature != "" {
		if s.Secret == "" || !hmac.Equal([]byte(signature), []byte(v.signature(s.Secret, name))) {
			return errSignature
		}
		return nil
	}
	refuse := func(what, allowed string) error {
		hint := ""
		if s.Secret != "" {
			hint = "; other images need a signature"
		}
		return apierror.Validation(what + " is not configured: allowed are " + allowed + hint)
	}
	fit, fits := v.Fit, true
	if fit == "" {
		fit = Inside
	}
	if v.Fit != "" || v.Width > 0 && v.Height > 0 { // without a fit, one side alone decides the other
		fits = slices.Contains(s.Fits, fit)
	}
	switch {
	case len(s.Sizes) == 0:
		return apierror.Validation("images on request need a signature")
	case !slices.Contains(s.Sizes, v.Size):
		return refuse("the size "+quotedSize(v.Size), join(s.Sizes))
	case !fits:
		return refuse("fit="+string(fit), join(s.Fits))
	case v.Format != "" && !slices.Contains(s.Formats, v.Format):
		return refuse("format="+v.Format, join(s.Formats))
	}
	return nil
}

func quotedSize(s Size) string {
	if s == (Size{}) {
		return "of the original"
	}
	return s.String()
}

func join[T any](list []T) string {
	texts := make([]string, len(list))
	for i, item := range list {
		texts[i] = fmt.Sprint(item)
	}
	return strings.Join(texts, ", ")
}
