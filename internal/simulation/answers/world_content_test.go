package answers

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
)

// JSONText is the value of a json or blocks attribute, and Hash that of a password. The other values of the evaluator
// are nil, string (texts, and dates and times as responses print them), float64 (integer, float, decimal, id), int64
// (biginteger) and bool.
type JSONText string

// A Hash is a password as it is stored. Each write of a password makes another one, even of the same password.
type Hash int

// A Literal is a scalar in two forms: as a request writes it, and as the server should store it.
type Literal struct {
	Send any
	Keep any
}

// Pools of values. They are small, so that conditions often match.
var (
	words = []string{
		"alpha", "Alpha", "beta", "Beta inn", "100% sure", "under_score", `back\slash`, "it's", "", "  pad ", "Zed",
		"zed",
		"élan", "naïve café", `say "hi"`, "null", "日本", "😀 smile", "delta & co", "a+b=c", "12", "[x]",
	}
	unfolded = []string{"Élan", "NAÏVE", "ΟΔΟΣ", "οδος", "Straße", "STRASSE", "ﬁn",
		"İz"} // need case folding beyond ASCII
	uids      = []string{"alpha", "Alpha-1", "b_2", "c.d~e", "zed", "12"}
	emails    = []string{"a@example.org", "B.C@Example.org", "z+9@mail.example.com", "under_score@x.io"}
	integers  = []int{-3, 0, 1, 2, 3, 5, 7, 12, 20, 35}
	bigs      = []int64{-9007199254740991, -12, 0, 1, 7, 12, 4200000000, 9007199254740991}
	biggest   = []int64{9007199254740993, 9223372036854775807, -9223372036854775808}
	fractions = []float64{-1.5, 0.25, 0.5, 2.75, 12.34, 1000.125}
	wholes    = []float64{0, 3, 12, -7}
	days      = []string{"1969-12-31", "2020-01-05", "2020-02-29", "2024-05-01", "2024-05-02", "2031-11-30"}
	times     = []string{"00:00:00.000", "08:30:00.000", "08:30:00.250", "12:00:01.000", "23:59:59.999"}
	moments   = []string{"1969-12-31T23:59:59.500Z", "2020-01-05T00:00:00.000Z", "2024-05-01T10:20:30.456Z",
		"2024-05-01T10:20:31.000Z", "2031-11-30T08:00:00.000Z"}
	jsons      = []string{`{"a":1,"b":[true,null]}`, `[1,2,"plum"]`, `{"b":{"c":"Plum"}}`, `[]`, `{}`}
	loneJSONs  = []string{`"plum"`, `5`, `true`, `false`, `-1.5`}
	paragraphs = []string{
		`[{"type":"paragraph","children":[{"type":"text","text":"alpha"}]}]`,
		`[{"type":"heading","level":2,"children":[{"type":"text","text":"Beta","bold":true}]}]`,
	}
)

func pick[T any](rng *rand.Rand, list []T) T { return list[rng.IntN(len(list))] }

// randomLiteral returns a valid value for a scalar attribute, sometimes in a spelling that the server normalizes.
func randomLiteral(rng *rand.Rand, a *Attribute, quirk Quirks) Literal {
	other := rng.Float64() < .25
	switch a.Type {
	case "string", "text", "richtext", "password":
		return randomText(rng, a, quirk)
	case "uid":
		return same(pick(rng, uids) + strings.Repeat("-x", rng.IntN(3)))
	case "email":
		return same(pick(rng, emails))
	case "enumeration":
		return same(pick(rng, a.Enum))
	case "integer":
		n := pick(rng, integers)
		if other {
			return Literal{fmt.Sprintf(" %d ", n), float64(n)}
		}
		return Literal{n, float64(n)}
	case "biginteger":
		return randomBig(rng, quirk, other)
	case "float", "decimal":
		f := pick(rng, fractions)
		if !quirk.NumbersAsSQL && rng.IntN(3) == 0 {
			f = pick(rng, wholes)
		}
		if other {
			return Literal{strconv.FormatFloat(f, 'e', -1, 64), f}
		}
		return Literal{f, f}
	case "date":
		d := pick(rng, days)
		return Literal{d + map[bool]string{true: "T22:00:00Z"}[other], d}
	case "time":
		t := pick(rng, times)
		return Literal{map[bool]string{true: strings.TrimSuffix(t, ".000"), false: t}[other], t}
	case "datetime":
		m := pick(rng, moments)
		return Literal{map[bool]string{true: strings.TrimSuffix(m, "Z") + "+00:00", false: m}[other], m}
	case "boolean":
		b := rng.IntN(2) == 0
		if other {
			return Literal{map[bool]any{true: "TRUE", false: 0}[b], b}
		}
		return Literal{b, b}
	case "json":
		list := jsons
		if !quirk.OddJSON {
			list = append(list[:len(list):len(list)], loneJSONs...)
		}
		text := pick(rng, list)
		return Literal{json.RawMessage(text), JSONText(text)}
	case "blocks":
		text := pick(rng, paragraphs)
		return Literal{json.RawMessage(text), JSONText(text)}
	}
	panic("no values for " + a.Type)
}

func same(s string) Literal { return Literal{s, s} }

func randomText(rng *rand.Rand, a *Attribute, quirk Quirks) Literal {
	list := words
	if !quirk.ASCIICase {
		list = append(list[:len(list):len(list)], unfolded...)
	}
	s := pick(rng, list)
	if rng.IntN(3) == 0 {
		s += " " + pick(rng, list)
	}
	if a.Type != "string" && a.Type != "password" && rng.IntN(12) == 0 {
		s += strings.Repeat(" long", 80)
	}
	if a.MaxLength != nil && len(s) > *a.MaxLength {
		s = "brief"
	}
	if a.MinLength != nil && s == "" {
		s = "x"
	}
	return same(s)
}

func randomBig(rng *rand.Rand, quirk Quirks, other bool) Literal {
	n := pick(rng, bigs)
	if !quirk.SmallBigIntegers && rng.IntN(4) == 0 {
		n = pick(rng, biggest)
	}
	switch {
	case other && n >= 0:
		return Literal{fmt.Sprintf("+00%d", n), n}
	case n > -9007199254740992 && n < 9007199254740992 && rng.IntN(2) == 0:
		return Literal{n, n}
	}
	return Literal{strconv.FormatInt(n, 10), n}
}
