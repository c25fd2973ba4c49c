package values

import (
	"regexp"
	"strings"
	"testing"

	"lectern/contenttypes"
)

func limits[T any](least, most T) (*T, *T) { return &least, &most }

// scalars returns the attributes of the test cases, keyed by their names in the cases.
func scalars() map[string]*contenttypes.Attribute {
	attrs := map[string]*contenttypes.Attribute{}
	for name, kind := range map[string]contenttypes.Type{
		"string": contenttypes.String, "text": contenttypes.Text, "richtext": contenttypes.RichText,
		"uid":   contenttypes.UID,
		"email": contenttypes.Email, "password": contenttypes.Password, "integer": contenttypes.Integer,
		"float":   contenttypes.Float,
		"decimal": contenttypes.Decimal, "biginteger": contenttypes.BigInteger, "boolean": contenttypes.Boolean,
		"json":        contenttypes.JSON,
		"enumeration": contenttypes.Enumeration, "date": contenttypes.Date, "time": contenttypes.Time,
		"datetime": contenttypes.DateTime,
		"blocks":   contenttypes.Blocks,
	} {
		attrs[name] = &contenttypes.Attribute{Type: kind}
		attrs[name+" required"] = &contenttypes.Attribute{Type: kind, Required: true}
		bounded := &contenttypes.Attribute{Type: kind, Regex: regexp.MustCompile(`^[a-c/]+$`), RegexSource: `^[a-c/]+$`}
		bounded.MinLength, bounded.MaxLength = limits(3, 5)
		bounded.Min, bounded.Max = limits(2.0, 4.5)
		attrs[name+" bounded"] = bounded
	}
	for name, a := range attrs {
		if strings.HasPrefix(name, "enumeration") {
			a.Enum = []string{"easy", "very hard"}
		}
	}
	return attrs
}

// valid begins the expected result of a valid value. The stored value follows.
const valid = "= "

var castCases = []struct {
	attr, in string
	want     string // the result in the draft stage, and in the full stage if full is ""
	full     string // the result in the full stage
}{
	{"string", `"  Ω 👩‍👩 \t\"q\" "`, valid + `"  Ω 👩‍👩 \t\"q\" "`, ""},
	{"string", `5`, "k| k must be a `string` type, but the final value was: `5`. = 5", ""},
	{"string", `{"a":1}`, "k| k must be a `string` type, but the final value was: `{\n  \"a\": \"1\"\n}`. = {\"a\":1}",
		""},
	{"string", `"` + strings.Repeat("é", 255) + `"`, valid + `"` + strings.Repeat("é", 255) + `"`, ""},
	{"string", `"` + strings.Repeat("x", 256) + `"`, "k| k must be at most 255 characters = \"" +
		strings.Repeat("x", 256) + `"`, ""},
	{"string", `"` + strings.Repeat("😀", 128) + `"`, "k| k must be at most 255 characters = \"" +
		strings.Repeat("😀", 128) + `"`, ""},
	{"string bounded", `"ab"`, valid + `"ab"`, "k| k must be at least 3 characters = \"ab\""},
	{"string bounded", `"a/b"`, valid + `"a/b"`, ""},
	{"string bounded", `"abcabc"`, "k| k must be at most 5 characters = \"abcabc\"", ""},
	{"string bounded", `"abd"`, valid + `"abd"`, `k| k must match the following: "/^[a-c/]+$/" = "abd"`},
	{"string bounded", `"d"`, valid + `"d"`,
		"k| k must be at least 3 characters = \"d\"\nk| k must match the following: \"/^[a-c/]+$/\" = \"d\""},
	{"string bounded", `""`, valid + `""`, "k| k must be at least 3 characters = \"\""},
	{"string required", `""`, valid + `""`, ""},
	{"string required", `null`, valid + "null",
		"k| k must be a `string` type, but the final value was: `null`. = null"},
	{"text", `"` + strings.Repeat("x", 300) + `"`, valid + `"` + strings.Repeat("x", 300) + `"`, ""},
	{"richtext", `{}`, "k| k must be a `string` type, but the final value was: `{}`. = {}", ""},
	{"uid", `"aZ09-_.~"`, valid + `"aZ09-_.~"`, ""},
	{"uid", `""`, valid + `""`, ""},
	{"uid", `"a b"`, valid + `"a b"`, `k| k must match the following: "/^[A-Za-z0-9-_.~]*$/" = "a b"`},
	{"uid bounded", `""`, valid + `""`,
		"k| k must be at least 3 characters = \"\"\nk| k must match the following: \"/^[a-c/]+$/\" = \"\""},
	{"password", `5`, "k| k must be a `string` type, but the final value was: `5`. = 5", ""},

	{"email", `"O'Neil+tag_1@Sub.Example.CO"`, valid + `"O'Neil+tag_1@Sub.Example.CO"`, ""},
	{"email", `""`, valid + `""`, `k| k cannot be empty = ""`},
	{"email", `"bad"`, valid + `"bad"`, `k| k must be a valid email = "bad"`},
	{"email", `5`, "k| k must be a `string` type, but the final value was: `5`. = 5", ""},

	{"enumeration", `"very hard"`, valid + `"very hard"`, ""},
	{"enumeration", `null`, valid + `null`, ""},
	{"enumeration", `"Easy"`, `k| k must be one of the following values: easy, very hard,  = "Easy"`, ""},
	{"enumeration", `1`, `k| k must be one of the following values: easy, very hard,  = "1"`, ""},
	{"enumeration", `["easy"]`,
		"k| k must be a `string` type, but the final value was: `[\n  \"\\\"easy\\\"\"\n]`. = [\"easy\"]\nk| k must be one of the following values: easy, very hard,  = [\"easy\"]", ""},

	{"boolean", `"TRUE"`, valid + `true`, ""},
	{"boolean", `"0"`, valid + `false`, ""},
	{"boolean", `1`, valid + `true`, ""},
	{"boolean", `1.0`, valid + `true`, ""},
	{"boolean", `2`, "k| k must be a `boolean` type, but the final value was: `2`. = 2", ""},
	{"boolean", `"yes"`, "k| k must be a `boolean` type, but the final value was: `\"yes\"`. = \"yes\"", ""},
	{"boolean", `["true"]`,
		"k| k must be a `boolean` type, but the final value was: `[\n  \"\\\"true\\\"\"\n]`. = [\"true\"]", ""},
	{"boolean required", `null`, valid + `null`, "k| k must be defined. = null"},

	{"integer", `" 7 "`, valid + `7`, ""},
	{"integer", `"1 2"`, valid + `12`, ""},
	{"integer", `"1e3"`, valid + `1000`, ""},
	{"integer", `"0x10"`, valid + `16`, ""},
	{"integer", `"-007"`, valid + `-7`, ""},
	{"integer", `-0`, valid + `0`, ""},
	{"integer", `5.0`, valid + `5`, ""},
	{"integer", `9007199254740993`, valid + `9007199254740993`, ""},
	{"integer", `"9007199254740993"`, valid + `9007199254740993`, ""},
	{"integer", `1.5`, "k| k must be an integer = 1.5", ""},
	{"integer", `"ten"`,
		"k| k must be a `number` type, but the final value was: `NaN` (cast from the value `\"ten\"`). = null", ""},
	{"integer", `""`, "k| k must be a `number` type, but the final value was: `NaN` (cast from the value `\"\"`). = null", ""},
	{"integer", `true`, "k| k must be a `number` type, but the final value was: `NaN` (cast from the value `true`). = null", ""},
	{"integer", `[5]`, "k| k must be a `number` type, but the final value was: `NaN` (cast from the value `[\n  \"5\"\n]`). = null", ""},
	{"integer", `1e400`, "k| k must be an integer = null", ""},
	{"integer bounded", `1`, valid + `1`, "k| k must be greater than or equal to 2 = 1"},
	{"integer bounded", `5`, "k| k must be less than or equal to 4.5 = 5", ""},
	{"integer bounded", `1.5`, "k| k must be an integer = 1.5",
		"k| k must be an integer = 1.5\nk| k must be greater than or equal to 2 = 1.5"},
	{"integer bounded", `5000.5`, "k| k must be an integer = 5000.5\nk| k must be less than or equal to 4.5 = 5000.5",
		""},
	{"integer required", `null`, valid + `null`,
		"k| k must be a `number` type, but the final value was: `NaN`. = null"},
	{"float", `0.30000000000000004`, valid + `0.30000000000000004`, ""},
	{"float", `"Infinity"`, "k| k must be a finite number = null", ""},
	{"float bounded", `"Infinity"`,
		"k| k must be a finite number = null\nk| k must be less than or equal to 4.5 = null", ""},
	{"float", `"NaN"`, "k| k must be a `number` type, but the final value was: `NaN` (cast from the value `\"NaN\"`). = null", ""},
	{"decimal", `"12.50"`, valid + `12.5`, ""},
	{"decimal", `"1,5"`,
		"k| k must be a `number` type, but the final value was: `NaN` (cast from the value `\"1,5\"`). = null", ""},

	{"biginteger", `5`, valid + `"5"`, ""},
	{"biginteger", `"+007"`, valid + `"7"`, ""},
	{"biginteger", `"-0"`, valid + `"0"`, ""},
	{"biginteger", `5.0`, valid + `"5"`, ""},
	{"biginteger", `1e3`, valid + `"1000"`, ""},
	{"biginteger", `9007199254740993`, valid + `"9007199254740993"`, ""},
	{"biginteger", `"9223372036854775807"`, valid + `"9223372036854775807"`, ""},
	{"biginteger", `"-9223372036854775808"`, valid + `"-9223372036854775808"`, ""},
	{"biginteger", `"9223372036854775808"`, `k| k must be a valid integer = "9223372036854775808"`, ""},
	{"biginteger", `1e20`, `k| k must be a valid integer = 100000000000000000000`, ""},
	{"biginteger", `"1e3"`, `k| k must be a valid integer = "1e3"`, ""},
	{"biginteger", `1.5`, `k| k must be a valid integer = 1.5`, ""},
	{"biginteger", `""`, `k| k must be a valid integer = ""`, ""},
	{"biginteger", `true`, `k| k must be a valid integer = true`, ""},
	{"biginteger", `[5]`, `k| k must be a valid integer = [5]`, ""},
	{"biginteger required", `null`, valid + `null`, "k| k must be defined. = null"},

	{"json", `{"0":5,"":1,"a.b":2,"$ne":3}`, valid + `{"0":5,"":1,"a.b":2,"$ne":3}`, ""},
	{"json", `true`, valid + `true`, ""},
	{"json", `"plain"`, valid + `"plain"`, ""},
	{"json", `"{\"a\":[1,2]}"`, valid + `{"a":[1,2]}`, ""},
	{"json", `"{\"a\":"`, valid + `"{\"a\":"`, ""},
	{"json", `"true"`, valid + `true`, ""},
	{"json", `"null"`, valid + `"null"`, ""},
	{"json", `"\"s\""`, valid + `"\"s\""`, ""},
	{"json", `"{\"__proto__\":1}"`, valid + `"{\"__proto__\":1}"`, ""},
	{"json", `""`, valid + `""`, ""},
	{"json required", `null`, valid + `null`, "k| k must be defined. = null"},

	{"date", `"soon"`, valid + `"soon"`, ""}, // only castTemporal refuses it
	{"date required", `null`, valid + `null`, "k| k must be defined. = null"},
	{"time required", `null`, valid + `null`, "k| k must be defined. = null"},
	{"datetime required", `null`, valid + `null`, "k| k must be defined. = null"},
	{"blocks required", `null`, valid + `null`, "k| k must be a `array` type, but the final value was: `null`. = null"},
}

func TestCast(t *testing.T) {
	attrs := scalars()
	for _, c := range castCases {
		full := c.full
		if full == "" {
			full = c.want
		}
		for st, want := range map[Stage]string{DraftStage: c.want, FullStage: full} {
			v, found := Cast(attrs[c.attr], []string{"k"}, parsed(t, c.in), true, st)
			got := strings.TrimSuffix(said(found), "\n")
			if found == nil {
				got = valid + printed(v)
			}
			if got != want {
				t.Errorf("%s of %s in stage %d:\n got %s\nwant %s", c.in, c.attr, st, got, want)
			}
		}
	}
}

// TestCastPublishing publishes the values that a draft may hold. They are published unchanged, or refused with the
// message of the full stage.
func TestCastPublishing(t *testing.T) {
	attrs := scalars()
	for _, c := range castCases {
		a := attrs[c.attr]
		v, found := Cast(a, []string{"k"}, parsed(t, c.in), true, DraftStage)
		if found != nil {
			continue
		}
		stored := Encode(v)
		if (stored == nil) != (v == nil) {
			t.Errorf("%s of %s is stored as %q", c.in, c.attr, stored)
		}
		if stored != nil {
			v = parsed(t, string(stored))
		}
		want := c.full
		if want == "" {
			want = valid + printed(v)
		}
		published, found := Cast(a, []string{"k"}, v, false, PublishStage)
		got := strings.TrimSuffix(said(found), "\n")
		if found == nil {
			got = valid + printed(published)
		}
		if got != want {
			t.Errorf("publishing %s of %s:\n got %s\nwant %s", stored, c.attr, got, want)
		}
	}
}

func TestCastAbsent(t *testing.T) {
	attrs := scalars()
	for name, a := range attrs {
		for st, want := range map[Stage]string{DraftStage: "", FullStage: "k| k must be defined.\n"} {
			if !a.Required {
				want = ""
			}
			if v, found := Cast(a, []string{"k"}, nil, false, st); v != nil || said(found) != want {
				t.Errorf("%s, absent, in stage %d: %v, %s", name, st, v, said(found))
			}
		}
	}
}

func TestEmailAddress(t *testing.T) {
	good := []string{`a@b.co`, `é@bücher.de`, `a@b.рф`, `"a b"@c.de`, `"a\"b"@c.de`, `""@b.co`, `a@b.c`, `a@b_c.de`,
		`a@b.xn--p1ai`, `a@a.b.c.dd`, "a/b=?^`{|}~!#$%&*@c.de"}
	bad := []string{``, `a`, `a@`, `@b.co`, `a@localhost`, ` a@b.co `, `a..b@c.de`, `.a@b.co`, `a.@b.co`, `a@b..co`,
		`a@.b.co`, `a@b.co.`, `a@-b.co`, `a@b-.co`,
		`a@1.2.3.4`, `a@[1.2.3.4]`, `a@b.c1`, `a@@b.co`, `a b@c.de`, `a,b@c.de`, `a(b)@c.de`, `a"b@c.de`, `a\b@c.de`,
		`"a@b.co`, `"a"b@c.de`, `"@b.co`, "a@b.co\n", "\"\n\"@b.co",
		`😀@b.co`, `a@😀.co`, `a@b!c.de`}
	for _, s := range good {
		if !IsEmail(s) {
			t.Errorf("%q is refused", s)
		}
	}
	for _, s := range bad {
		if IsEmail(s) {
			t.Errorf("%q is taken", s)
		}
	}
}

func TestPrintRegex(t *testing.T) {
	for in, want := range map[string]string{`^[A-Z]{3}$`: `/^[A-Z]{3}$/`, `a/b`: `/a\/b/`, `a\/[/]`: `/a\/[/]/`,
		`\[/]`: `/\[\/]/`} {
		if got := printRegex(in); got != want {
			t.Errorf("printRegex(%s) = %s, want %s", in, got, want)
		}
	}
}
