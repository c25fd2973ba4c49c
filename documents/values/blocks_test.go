package values

import (
	"strings"
	"testing"

	"lectern/documents/issues"
	"lectern/jsontree"
)

const (
	word  = `{"type":"text","text":"x"}`
	image = `"name":"a.png","url":"/uploads/a_1.png","width":3,"height":2,"hash":"a_1","ext":".png","mime":"image/png","size":1.5,"provider":"local","createdAt":"2024-01-01T00:00:00.000Z","updatedAt":"2024-01-01T00:00:00.000Z"`
)

func paragraph(children string) string {
	return `[{"type":"paragraph","children":[` + children + `]}]`
}

func listOf(children string) string {
	return `[{"type":"list","format":"ordered","children":[` + children + `]}]`
}

func linkTo(url string) string {
	return paragraph(`{"type":"link","url":` + url + `,"children":[` + word + `]}`)
}

// Paths in these cases begin with K, which stands for the attribute.
var blocksCases = []struct{ in, want string }{
	{`[]`, valid + `[]`},
	{`"[]"`, valid + `[]`},
	{paragraph(word), valid + paragraph(word)},
	{paragraph(`{"type":"text","text":"x","foo":1}`), valid + paragraph(`{"type":"text","text":"x","foo":1}`)},
	{paragraph(`{"type":"text","text":5,"bold":"TRUE","italic":0}`),
		valid + paragraph(`{"type":"text","text":"5","bold":true,"italic":false}`)},
	{`[{"type":"heading","level":"2","children":[` + word + `],"id":7}]`,
		valid + `[{"type":"heading","level":2,"children":[` + word + `],"id":7}]`},
	{`[{"type":"quote","children":[` + word + `]},{"type":"code","language":"go","children":[` + word + `]}]`, valid +
		`[{"type":"quote","children":[` + word + `]},{"type":"code","language":"go","children":[` + word + `]}]`},
	{listOf(`{"type":"list-item","children":[]},{"type":"list","format":"unordered","children":[{"type":"list-item","children":[` + word + `]}]}`), valid + listOf(`{"type":"list-item","children":[]},{"type":"list","format":"unordered","children":[{"type":"list-item","children":[`+word+`]}]}`)},
	{`[{"type":"image","image":{` + image + `,"alternativeText":null,"formats":{}},"children":[]}]`,
		valid + `[{"type":"image","image":{` + image + `,"alternativeText":null,"formats":{}},"children":[]}]`},
	{`[{"type":"paragraph","children":"[{\"type\":\"text\",\"text\":\"x\"}]"}]`, valid + paragraph(word)},

	{`"x"`, "K| K must be a `array` type, but the final value was: `null` (cast from the value `\"x\"`). = null"},
	{`5`, "K| K must be a `array` type, but the final value was: `null` (cast from the value `5`). = null"},
	{`{}`, "K| K must be a `array` type, but the final value was: `null` (cast from the value `{}`). = null"},
	{`[null]`, "K.0| Block node is of invalid type = null"},
	{`["x",{}]`, "K.0| Block node is of invalid type = \"x\"\nK.1| Block node is of invalid type = {}"},
	{`[{"type":"table","children":[]}]`, `K.0| Block node is of invalid type = {"type":"table","children":[]}`},
	{`[` + word + `]`, "K.0| Block node is of invalid type = " + word},
	{`[{"type":"paragraph"}]`, "K.0.children| K[0].children is a required field"},
	{`[{"type":"paragraph","children":null}]`,
		"K.0.children| K[0].children must be a `array` type, but the final value was: `null`. = null"},
	{`[{"type":"paragraph","children":5}]`,
		"K.0.children| K[0].children must be a `array` type, but the final value was: `null` (cast from the value `5`). = null"},
	{paragraph(""), "K.0.children| Paragraph node children must have at least one Text or Link node = []"},
	{`[{"type":"quote","children":[]}]`,
		"K.0.children| Quote node children must have at least one Text or Link node = []"},
	{`[{"type":"code","children":[]}]`,
		"K.0.children| Quote node children must have at least one Text or Link node = []"},
	{paragraph(`null`), "K.0.children.0| Inline node must be Text or Link = null"},
	{paragraph(word + `,{"type":"nope"},{"type":"text"}`),
		"K.0.children.1| Inline node must be Text or Link = {\"type\":\"nope\"}\nK.0.children.2.text| Text must be defined with at least an empty string"},
	{paragraph(`{"type":"text","text":null}`),
		"K.0.children.0.text| K[0].children[0].text must be a `string` type, but the final value was: `null`. = null"},
	{paragraph(`{"type":"text","text":"x","bold":"yes","code":null}`),
		"K.0.children.0.bold| K[0].children[0].bold must be a `boolean` type, but the final value was: `\"yes\"`. = \"yes\"\nK.0.children.0.code| K[0].children[0].code must be a `boolean` type, but the final value was: `null`. = null"},
	{`[{"type":"heading","level":7,"children":[]}]`,
		"K.0.level| K[0].level must be one of the following values: 1, 2, 3, 4, 5, 6 = 7\nK.0.children| Heading node children must have at least one Text or Link node = []"},
	{`[{"type":"heading"}]`,
		"K.0.level| K[0].level is a required field\nK.0.children| K[0].children is a required field"},
	{`[{"type":"heading","level":null,"children":[` + word + `]}]`,
		"K.0.level| K[0].level must be a `number` type, but the final value was: `NaN`. = null\nK.0.level| K[0].level must be one of the following values: 1, 2, 3, 4, 5, 6 = null"},
	{`[{"type":"heading","level":"x","children":[` + word + `]}]`,
		"K.0.level| K[0].level must be a `number` type, but the final value was: `NaN` (cast from the value `\"x\"`). = null\nK.0.level| K[0].level must be one of the following values: 1, 2, 3, 4, 5, 6 = null"},
	{`[{"type":"list","format":"dashed","children":[]}]`,
		"K.0.format| K[0].format must be one of the following values: ordered, unordered = \"dashed\"\nK.0.children| List node children must have at least one ListItem or ListNode = []"},
	{`[{"type":"list"}]`,
		"K.0.format| K[0].format is a required field\nK.0.children| K[0].children is a required field"},
	{listOf(word), "K.0.children.0| Inline node must be list-item or list = " + word},
	{listOf(`null`), "K.0.children.0| Inline node must be list-item or list = null"},
	{listOf(`{"type":"list"}`),
		"K.0.children.0.format| K[0].children[0].format is a required field\nK.0.children.0.children| K[0].children[0].children is a required field"},
	{`[{"type":"code","children":[{"type":"link","url":"/a","children":[` + word + `]}]}]`,
		"K.0.children.0.type| K[0].children[0].type must be one of the following values: text = \"link\"\nK.0.children.0.text| Text must be defined with at least an empty string"},
	{`[{"type":"code","children":[null,"x",{}]}]`,
		"K.0.children.0| K[0].children[0] must be a `object` type, but the final value was: `null`. = null\nK.0.children.1| K[0].children[1] must be a `object` type, but the final value was: `null` (cast from the value `\"x\"`). = null\nK.0.children.2.type| K[0].children[2].type is a required field\nK.0.children.2.text| Text must be defined with at least an empty string"},
	{linkTo(`null`), "K.0.children.0.url| K[0].children[0].url must be a `string` type, but the final value was: `null`. = null"},
	{linkTo(`5`), "K.0.children.0.url| Please specify a valid link. = \"5\""},
	{paragraph(`{"type":"link"}`),
		"K.0.children.0.url| Please specify a valid link.\nK.0.children.0.children| K[0].children[0].children is a required field"},
	{`[{"type":"image","image":null,"children":[]}]`,
		"K.0.image| K[0].image must be a `object` type, but the final value was: `null`. = null"},
	{`[{"type":"image","image":{` + strings.Replace(image, `"a.png"`, `""`, 1) + `},"children":[]}]`,
		"K.0.image.name| K[0].image.name is a required field = \"\""},
	{`[{"type":"image","image":{` + strings.Replace(image, `"width":3`, `"width":"x"`, 1) + `},"children":[]}]`,
		"K.0.image.width| K[0].image.width must be a `number` type, but the final value was: `NaN` (cast from the value `\"x\"`). = null"},
}

func TestCastBlocks(t *testing.T) {
	for _, c := range blocksCases {
		in := parsed(t, c.in)
		before := printed(in)
		v, found := castBlocks([]string{"K"}, in)
		got := strings.TrimSuffix(said(found), "\n")
		if found == nil {
			got = valid + printed(v)
		}
		if got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.in, got, c.want)
		}
		if printed(in) != before {
			t.Errorf("%s was changed in place", c.in)
		}
	}
}

func TestCastBlocksImageAbsent(t *testing.T) {
	_, found := castBlocks([]string{"K"}, parsed(t, `[{"type":"image","children":[]}]`))
	var missing []string
	for _, f := range found {
		if f.HasValue || f.Message != issues.PathName(f.Path)+" is a required field" {
			t.Errorf("%v: %s", f.Path, f.Message)
		}
		missing = append(missing, f.Path[len(f.Path)-1])
	}
	if got := strings.Join(
		missing, " "); got != "name url width height hash ext mime size provider createdAt updatedAt" {
		t.Errorf("missing are %s", got)
	}
}

func TestIsLink(t *testing.T) {
	for _, s := range []string{"/", "/a b", "//host", "http://x", "https://example.com/a?b=c#d", "HTTP://X", "ftp://x",
		"http://é.fr", "http://user@x:80/", "mailto:a@b.co", "MAILTO:x", "tel:1", " http://x"} {
		if !isLinkURL(s) {
			t.Errorf("%q is refused", s)
		}
	}
	for _, s := range []string{"", " ", "#a", "?a", "./a", "a.b/c", "www.x.y", "http://", "http://x y", "http://[",
		"file:///x", "javascript:1", "JavaScript:alert(1)", "java\nscript:1", "data:text/html,x", "x:y", "\t/a"} {
		if isLinkURL(s) {
			t.Errorf("%q is taken", s)
		}
	}
}

// TestCastBlocksBounded expects a list of 100,001 wrong blocks to be answered with at most issues.Max issues.
func TestCastBlocksBounded(t *testing.T) {
	in := parsed(t, "["+strings.Repeat("0,", 100_000)+"0]")
	if _, found := castBlocks([]string{"K"}, in); len(found) > issues.Max {
		t.Errorf("%d issues are told", len(found))
	}
}

// FuzzCastBlocks casts arbitrary JSON. castBlocks must not panic and must not change its input, and must accept its own
// result unchanged.
func FuzzCastBlocks(f *testing.F) {
	for _, c := range blocksCases {
		f.Add(c.in)
	}
	f.Fuzz(func(t *testing.T, text string) {
		in, err := jsontree.Parse([]byte(text), 100)
		if err != nil {
			return
		}
		before := printed(in)
		v, found := castBlocks([]string{"K"}, in)
		if printed(in) != before {
			t.Fatalf("%s was changed in place", text)
		}
		if found != nil {
			_ = printed(issues.Error(found...).Details)
			return
		}
		again, found := castBlocks([]string{"K"}, v)
		if found != nil || printed(again) != printed(v) {
			t.Fatalf("%s is %s, which is %s: %s", text, printed(v), printed(again), said(found))
		}
	})
}
