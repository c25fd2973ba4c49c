package slug_test

import (
	"regexp"
	"testing"

	"lectern/internal/slug"
)

// TestOf compares slugs with those of the reference for the same texts, except for ǎ, which the reference drops.
func TestOf(t *testing.T) {
	for text, want := range map[string]string{
		"A garden on a windowsill": "a-garden-on-a-windowsill",
		"  Hello,   World!! ":      "hello-world",
		"Déjà vu":                  "deja-vu",
		"Österreich & Ungarn":      "oesterreich-and-ungarn",
		"straße":                   "strasse",
		"iPhone 15 Pro":            "i-phone-15-pro",
		"fooBar":                   "foo-bar",
		"APIGateway":               "api-gateway",
		"HTML5 and XMLHttpRequest": "html-5-and-xml-http-request",
		"C++ / C#":                 "c-c",
		"100% cotton":              "100-cotton",
		"日本語":                      "",
		"Привет, мир":              "privet-mir",
		"Ελληνικά":                 "ellinika",
		"Tiếng Việt":               "tieng-viet",
		"şğüİıç":                   "sgue-iic",
		"I ♥ unicorns 🦄":           "i-love-unicorns-unicorn",
		"łódź":                     "lodz",
		"مرحبا":                    "mrhba",
		"Հայաստան":                 "hayastan",
		"საქართველო":               "saqartvelo",
		"été":                    "ete",
		"---":                      "",
		"a_b.c~d":                  "a-b-c-d",
		"œuvre":                    "oeuvre",
		"Æsir":                     "a-esir",
		"ﬁne":                      "ne",
		"ǎ":                        "a",
		"x y":                      "x-y",
		"Don't stop":               "don-t-stop",
		"ABC12":                    "abc-12",
		"a1B2":                     "a1-b2",
		"smörgåsbord":              "smoergasbord",
		"ŉ":                        "n",
		"ĲSSEL":                    "ijssel",
		"тсс":                      "tss",
		"ու":                       "vo",
		"ԵՐԵՎԱՆ և":                 "ye-r-ye-van-yev",
		"1,000.50":                 "1-000-50",
		"Ёлка Йод":                 "yolka-jod",
	} {
		if got := slug.Of(text); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
}

func TestCut(t *testing.T) {
	for _, c := range []struct {
		slug string
		n    int
		want string
	}{{"one-two-three", 13, "one-two-three"}, {"one-two-three", 12, "one-two"}, {"one-two-three", 7, "one-two"},
		{"one-two", 3, "one"}, {"one-two", 2, "on"}} {
		if got := slug.Cut(c.slug, c.n); got != c.want {
			t.Errorf("%s in %d bytes is %s, want %s", c.slug, c.n, got, c.want)
		}
	}
}

func FuzzOf(f *testing.F) {
	for _, text := range []string{"Déjà vu", "fooBar XMLHttp2", "日本", "a\xff-\u0301", "ـ_"} {
		f.Add(text)
	}
	form := regexp.MustCompile(`^([a-z0-9]+(-[a-z0-9]+)*)?$`)
	f.Fuzz(func(t *testing.T, text string) {
		got := slug.Of(text)
		if !form.MatchString(got) {
			t.Errorf("%q becomes %q", text, got)
		}
		if again := slug.Of(got); again != got {
			t.Errorf("the slug %q of %q becomes %q", got, text, again)
		}
	})
}
