package media

import (
	"context"
	"errors"
	"fmt"
	"image"
	"io/fs"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"lectern/internal/budget"
	"lectern/internal/diskcache"
)

// TestLayoutIsThatOfSharp checks the sizes that sharp gives for the same parameters, with withoutEnlargement for all
// fits but fill.
func TestLayoutIsThatOfSharp(t *testing.T) {
	for _, test := range []struct {
		query, from string
		want        string // part, scaled, canvas
	}{
		{"width=800", "4000x3000", "4000x3000 800x600 800x600"},
		{"height=600", "4000x3000", "4000x3000 800x600 800x600"},
		{"width=800&height=800", "4000x3000", "4000x3000 800x600 800x600"},
		{"width=800&height=800&fit=inside", "3000x4000", "3000x4000 600x800 600x800"},
		{"width=800&height=800&fit=outside", "4000x3000", "4000x3000 1067x800 1067x800"},
		{"width=800&height=800&fit=cover", "4000x3000", "3000x3000 800x800 800x800"},
		{"width=800&height=400&fit=cover", "4000x3000", "4000x2000 800x400 800x400"},
		{"width=800&height=800&fit=contain", "4000x3000", "4000x3000 800x600 800x800"},
		{"width=800&height=100&fit=fill", "4000x3000", "4000x3000 800x100 800x100"},
		{"width=800&fit=fill", "4000x3000", "4000x3000 800x3000 800x3000"},
		{"height=800&fit=fill", "4000x3000", "4000x3000 4000x800 4000x800"},
		{"width=800&fit=cover", "4000x3000", "4000x3000 800x600 800x600"},
		{"width=800&fit=contain", "4000x3000", "4000x3000 800x600 800x600"},
		{"format=png", "4000x3000", "4000x3000 4000x3000 4000x3000"},
		// Smaller images are not enlarged.
		{"width=800", "40x30", "40x30 40x30 40x30"},
		{"width=800&height=800&fit=outside", "40x30", "40x30 40x30 40x30"},
		{"width=80&height=20&fit=cover", "40x30", "40x20 40x20 40x20"},
		{"width=80&height=80&fit=contain", "40x30", "40x30 40x30 80x80"},
		{"width=80&height=20&fit=contain", "40x30", "40x30 27x20 80x20"},
		{"width=80&height=80&fit=fill", "40x30", "40x30 80x80 80x80"},
		// No side is ever 0.
		{"width=1", "4000x3", "4000x3 1x1 1x1"},
		{"width=1&height=1&fit=cover", "1x4000", "1x1 1x1 1x1"},
		{"width=1&height=10000&fit=cover", "4000x3", "1x3 1x3 1x3"},
		{"width=10000&height=1&fit=outside", "3x10000", "3x10000 3x10000 3x10000"},
	} {
		v, _, err := parseVariant(test.query)
		if err != nil {
			t.Fatal(err)
		}
		var w, h int
		fmt.Sscanf(test.from, "%dx%d", &w, &h)
		at := v.layout(w, h)
		text := func(p image.Point) string { return fmt.Sprintf("%dx%d", p.X, p.Y) }
		if got := text(at.Part) + " " + text(at.Scaled) + " " + text(at.Canvas); got != test.want {
			t.Errorf("%s of %s: %s, not %s", test.query, test.from, got, test.want)
		}
	}
}

// FuzzVariant parses query strings. Each one that is accepted describes a variant within the limits, whose own query
// describes the same one, and whose signed URL is accepted for its file alone. A layout of it has no side of length 0
// and enlarges only for Fill.
func FuzzVariant(f *testing.F) {
	for _, query := range []string{
		"", "width=400", "width=400&height=300&fit=cover&format=webp", "format=png", "fit=fill", "width=0", "width=-1",
		"width=1&width=2", "width=01",
		"width=99999999999999999999", "width=%34", "width=4;height=3", "%zz", "height=10000&fit=outside&v=3",
		"signature=abc", "width=1e3", "width[]=1",
	} {
		f.Add(query, uint16(4000), uint16(3000))
	}
	const secret, name = "0123456789abcdef", "cat_1a2b.jpg"
	signed := &ImageSettings{Secret: secret}
	f.Fuzz(func(t *testing.T, query string, w, h uint16) {
		v, _, err := parseVariant(query)
		if v == nil || err != nil {
			return
		}
		if v.Width < 0 || v.Width > MaxSide || v.Height < 0 || v.Height > MaxSide {
			t.Fatalf("%q: %+v", query, v)
		}
		again, _, err := parseVariant(v.query())
		if err != nil || *again != *v {
			t.Fatalf("%q: %+v, then %+v, %v", query, v, again, err)
		}
		checkSignature(t, signed, v, name)
		width, height := max(int(w), 1), max(int(h), 1)
		at := v.layout(width, height)
		for _, p := range []image.Point{at.Part, at.Scaled, at.Canvas} {
			if p.X < 1 || p.Y < 1 {
				t.Fatalf("%q of %dx%d: %+v", query, width, height, at)
			}
		}
		if v.Fit != Fill && (at.Scaled.X > width || at.Scaled.Y > height) || at.Part.X > width || at.Part.Y > height {
			t.Fatalf("%q of %dx%d enlarges: %+v", query, width, height, at)
		}
	})
}

// checkSignature signs a variant and checks that its URL is accepted, and not for another file, secret or variant.
func checkSignature(t *testing.T, s *ImageSettings, v *Variant, name string) {
	t.Helper()
	link, err := v.SignedURL(s.Secret, "https://example.org/cms/uploads/"+name+"?old=1")
	if err != nil {
		t.Fatal(err)
	}
	u, err := url.Parse(link)
	if err != nil {
		t.Fatal(err)
	}
	parsed, signature, err := parseVariant(u.RawQuery)
	if err != nil || *parsed != *v || s.check(parsed, name, signature) != nil {
		t.Fatalf("%s: %+v %v %v", link, parsed, err, s.check(parsed, name, signature))
	}
	other := *v
	other.Width++
	flipped := []byte(signature)
	flipped[0] ^= 1
	for what, err := range map[string]error{
		"name":      s.check(v, "x"+name, signature),
		"variant":   s.check(&other, name, signature),
		"secret":    (&ImageSettings{Secret: s.Secret + "x"}).check(v, name, signature),
		"no secret": (&ImageSettings{Sizes: []Size{v.Size}}).check(v, name, signature),
		"signature": s.check(v, name, string(flipped)),
		"shorter":   s.check(v, name, signature[:63]),
		"unsigned":  s.check(v, name, ""),
	} {
		if err == nil {
			t.Fatalf("%s is accepted with another %s", link, what)
		}
	}
}

// TestNoURLIsSignedThatTheServerRefuses checks that no URL is made for a variant that the server would refuse.
func TestNoURLIsSignedThatTheServerRefuses(t *testing.T) {
	for _, v := range []Variant{
		{}, {Fit: Cover}, {Size: Size{Width: -1}}, {Size: Size{Width: MaxSide + 1}},
		{Size: Size{Width: 1}, Fit: "middle"}, {Format: "gif"},
		{Format: "png&width=5"},
	} {
		if link, err := v.SignedURL("secret", "/uploads/a.jpg"); err == nil {
			t.Errorf("%+v: %s", v, link)
		}
	}
	if link, err := (Variant{Format: "png"}).SignedURL("secret", ":"); err == nil {
		t.Errorf("no URL: %s", link)
	}
}

// TestVariantSettings checks which variants may be asked for without a signature.
func TestVariantSettings(t *testing.T) {
	s := &ImageSettings{Sizes: []Size{{400, 0}, {0, 300}, {1200, 630}}, Fits: []Fit{Cover}, Formats: []string{"png"}}
	for query, want := range map[string]string{
		"width=400":                       "",
		"height=300&format=png":           "",
		"width=1200&height=630&fit=cover": "",
		"width=400&fit=cover":             "",
		"width=400&height=300":            "the size 400x300 is not configured: allowed are 400, x300, 1200x630",
		"height=400":                      "the size x400 is not configured",
		"width=1200&height=630":           "fit=inside is not configured: allowed are cover",
		"width=400&fit=fill":              "fit=fill is not configured",
		"width=400&format=webp":           "format=webp is not configured: allowed are png",
		"format=png":                      "the size of the original is not configured",
	} {
		v, signature, err := parseVariant(query)
		if err == nil {
			err = s.check(v, "a.jpg", signature)
		}
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v", query, err)
		}
	}
}

// TestVariantTurn checks that a variant waits only a bounded time for its turn and for memory, and that it reserves
// nothing then.
func TestVariantTurn(t *testing.T) {
	const mb = 1 << 20
	memory := budget.New(64 * mb)
	const long, short = time.Minute, time.Millisecond // for turns that come, and for those that do not
	turns := &variants{limits: newImageLimits(1), wait: long}
	l := &Library{files: &files{memory: memory, variants: turns}}
	done, err := l.reserveTurn(t.Context(), 10*mb)
	if err != nil || memory.Stats().Reserved != 10*mb {
		t.Fatalf("%v %+v", err, memory.Stats())
	}
	turns.wait = short
	if _, err := l.reserveTurn(t.Context(), 1); !errors.Is(err, errBusy) {
		t.Errorf("while another one is made: %v", err)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := l.reserveTurn(gone, 1); !errors.Is(err, context.Canceled) {
		t.Errorf("without a client: %v", err)
	}
	done()
	others := memory.Reservation()
	if err := others.Grow(40 * mb); err != nil {
		t.Fatal(err)
	}
	if _, err := l.reserveTurn(t.Context(), 20*mb); !errors.Is(err, errBusy) {
		t.Errorf("without memory: %v", err)
	}
	others.Release()
	turns.wait = long
	if _, err := l.reserveTurn(t.Context(), 100*mb); err == nil || errors.Is(err, errBusy) {
		t.Errorf("more than there is: %v", err)
	}
	if done, err = l.reserveTurn(t.Context(), 20*mb); err != nil {
		t.Fatal(err)
	}
	if done(); memory.Stats().Reserved != 0 {
		t.Errorf("left: %+v", memory.Stats())
	}
}

// A vanishing storage has one file, which is deleted when it was opened.
type vanishing struct {
	Storage
	path   string
	opened bool
}

func (s *vanishing) Open(context.Context, string) (*Object, error) {
	if s.opened {
		return nil, fs.ErrNotExist
	}
	s.opened = true
	f, err := os.Open(s.path)
	return &Object{Content: f, ETag: "etag"}, err
}

// TestVariantOfADeletedFileIsNotCached checks that an image is not cached if its file is deleted while it is made:
// nothing would remove it from the cache any more.
func TestVariantOfADeletedFileIsNotCached(t *testing.T) {
	dir, err := openDirectory(t.TempDir(), func(err error) { t.Error(err) })
	if err != nil {
		t.Fatal(err)
	}
	defer dir.close()
	cache, err := diskcache.Open(t.TempDir(), 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	l := &Library{files: &files{local: &local{dir: dir}, storage: &vanishing{path: "testdata/progressive.jpg"},
		settings: DefaultSettings,
		variants: &variants{cache: cache, limits: newImageLimits(1), wait: time.Minute}}}
	of, v := origin{name: "a.jpg", etag: "etag"}, &Variant{Size: Size{Width: 10}}
	data, err := l.makeVariant(t.Context(), of, keysOf(of.name)+v.etag(of.etag), v)
	if len(data) == 0 || err != nil || cache.Stats().Files != 0 {
		t.Errorf("%d bytes, %v, %+v", len(data), err, cache.Stats())
	}
}
