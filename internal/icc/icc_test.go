package icc_test

import (
	"encoding/binary"
	"errors"
	"image"
	"image/color"
	"testing"

	"lectern/internal/icc"
	"lectern/internal/icc/icctest"
)

// TestColours converts colours. The expected ones are those of Chromium and of sharp, which round some
// channels another way: one step is allowed, and two where pixels are half transparent.
func TestColours(t *testing.T) {
	adobe := icctest.RGB(icctest.AdobeRGB, icctest.Gamma(2.19921875))
	for _, test := range []struct {
		name     string
		profile  []byte
		from, to color.NRGBA
	}{
		{"Adobe RGB", adobe, color.NRGBA{64, 200, 64, 255}, color.NRGBA{0, 201, 44, 255}},
		{"Adobe RGB, half transparent", adobe, color.NRGBA{64, 200, 64, 128}, color.NRGBA{0, 201, 44, 128}},
		{"Adobe RGB, transparent", adobe, color.NRGBA{}, color.NRGBA{}},
		{"Display P3", icctest.RGB(icctest.DisplayP3, icctest.Curve()), color.NRGBA{230, 60, 40, 255},
			color.NRGBA{250, 31, 14, 255}},
		{"Display P3, sampled", icctest.RGB(icctest.DisplayP3, icctest.Samples(1024)), color.NRGBA{230, 60, 40, 255},
			color.NRGBA{250, 31, 14, 255}},
		{"Display P3 with gamma 2.2", icctest.RGB(icctest.DisplayP3, icctest.Gamma(2.2)), color.NRGBA{230, 60, 40, 255},
			color.NRGBA{251, 25, 0, 255}},
		{"linear", icctest.RGB(icctest.SRGB, icctest.Gamma(1)), color.NRGBA{55, 55, 55, 255},
			color.NRGBA{128, 128, 128, 255}},
		{"gray with gamma 1", icctest.Gray(icctest.Gamma(1)), color.NRGBA{55, 55, 55, 255},
			color.NRGBA{128, 128, 128, 255}},
	} {
		tr, err := icc.New(test.profile)
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
			continue
		}
		m := image.NewRGBA(image.Rect(0, 0, 3, 2))
		for i := range 6 {
			m.Set(i%3, i/3, test.from)
		}
		tr.Convert(m)
		got := color.NRGBAModel.Convert(m.At(2, 1)).(color.NRGBA)
		for i, d := range []int{int(got.R) - int(test.to.R), int(got.G) - int(test.to.G), int(got.B) - int(test.to.B),
			int(got.A) - int(test.to.A)} {
			if most := 1 + (255-int(test.to.A))/100; max(d, -d) > most {
				t.Errorf("%s: %v, want %v (channel %d)", test.name, got, test.to, i)
			}
		}
		if tr.Identity() {
			t.Errorf("%s changes nothing", test.name)
		}
	}
	for name, profile := range map[string][]byte{"sRGB": icctest.RGB(icctest.SRGB, icctest.Curve()),
		"sRGB, sampled": icctest.RGB(icctest.SRGB, icctest.Samples(1024))} {
		if tr, err := icc.New(profile); err != nil || !tr.Identity() || tr.Gray() || tr.Tables() {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestProfiles reads profiles that cannot be used, and parts of them.
func TestProfiles(t *testing.T) {
	p3 := icctest.RGB(icctest.DisplayP3, icctest.Curve())
	if tr, err := icc.New(icctest.RGB(icctest.DisplayP3, icctest.Curve(), "A2B0", "mft2")); err != nil || !tr.Tables() {
		t.Errorf("a matrix beside tables: %v", err)
	}
	if _, err := icc.New(icctest.Profile("RGB ", "A2B0", "mft2")); !errors.Is(err, icc.ErrTables) {
		t.Errorf("tables alone: %v", err)
	}
	huge := func(at int) []byte {
		b := append([]byte(nil), p3...)
		binary.BigEndian.PutUint32(b[at:], 0xffffffff)
		return b
	}
	for name, profile := range map[string][]byte{
		"nothing": nil, "CMYK": icctest.Profile("CMYK"), "no curve": icctest.Profile("GRAY"),
		"no matrix":     icctest.Profile("RGB "),
		"unknown curve": icctest.Gray([]byte("curvcurvcurv")), "too many tags": huge(128),
		"a tag past the end": huge(128 + 4 + 4), "a huge tag": huge(128 + 4 + 8),
		"unknown formula": icctest.Gray([]byte("para\x00\x00\x00\x00\x00\x05\x00\x00")),
		"cut formula":     icctest.Gray([]byte("para\x00\x00\x00\x00\x00\x04\x00\x00")),
	} {
		if _, err := icc.New(profile); err == nil || errors.Is(err, icc.ErrTables) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for n := range p3 {
		if _, err := icc.New(p3[:n]); err == nil && n < len(p3)-3 {
			t.Errorf("the first %d bytes are a profile", n)
		}
	}
}

// FuzzNew reads random profiles and converts colours with those that it takes. White and black stay within the range of
// colours, and transparency stays.
func FuzzNew(f *testing.F) {
	f.Add(icctest.RGB(icctest.AdobeRGB, icctest.Gamma(2.2)))
	f.Add(icctest.RGB(icctest.SRGB, icctest.Samples(5)))
	f.Add(icctest.Gray(icctest.Curve()))
	f.Fuzz(func(t *testing.T, profile []byte) {
		tr, err := icc.New(profile)
		if err != nil {
			return
		}
		m := image.NewRGBA(image.Rect(0, 0, 16, 16))
		for i := range m.Pix {
			a := uint8(i / 4)
			m.Pix[i] = uint8(int(a) * (i % 4) / 3)
		}
		tr.Convert(m)
		for i := 0; i < len(m.Pix); i += 4 {
			if a := uint8(i / 4); m.Pix[i+3] != a || m.Pix[i] > a || m.Pix[i+1] > a || m.Pix[i+2] > a {
				t.Fatalf("%v", m.Pix[i:i+4])
			}
		}
		tr.Identity()
	})
}
