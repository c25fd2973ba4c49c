package yamlfile_test

import (
	"reflect"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"lectern/internal/yamlfile"
)

type limits struct {
	Body    int64         `yaml:"body"`
	Timeout time.Duration `yaml:"timeout"`
}

type settings struct {
	Host    string                         `yaml:"host"`
	Port    uint16                         `yaml:"port,required"`
	Proxies []string                       `yaml:"proxies"`
	Ratio   float64                        `yaml:"ratio"`
	On      *bool                          `yaml:"on"`
	Limits  limits                         `yaml:"limits"`
	Roles   map[string]map[string][]string `yaml:"roles"`
	Raw     *yamlfile.Node                 `yaml:"raw"`
	Any     any                            `yaml:"any"`
}

func env(name string) (string, bool) {
	values := map[string]string{"PORT": "8080", "HOST": "example.org", "EMPTY": "", "ON": "true", "NUMBER": "12"}
	v, ok := values[name]
	return v, ok
}

func TestDecode(t *testing.T) {
	yes := true
	for _, test := range []struct {
		name, file, text string
		want             settings
		problems         string
	}{
		{name: "all", text: "host: a\nport: 1337\nproxies: [x, y]\nratio: 1\non: true\nlimits: {body: 5, timeout: 90s}\n" +
			"roles: {public: {x: [find]}}\nany: {a: [1, 2.5, b, null]}\n",
			want: settings{Host: "a", Port: 1337, Proxies: []string{"x", "y"}, Ratio: 1, On: &yes,
				Limits: limits{5, 90 * time.Second}, Roles: map[string]map[string][]string{"public": {"x": {"find"}}},
				Any: map[string]any{"a": []any{int64(1), 2.5, "b", nil}}}},
		{name: "json", file: "s.json", text: `{"host": "\ud83d\ude00", "port": 1, "ratio": 1e2}`,
			want: settings{Host: "😀", Port: 1, Ratio: 100}},
		{name: "null keeps", text: "host:\nport: 1\nlimits: ~\n", want: settings{Host: "kept", Port: 1}},
		{name: "environment",
			text: "host: ${NUMBER}\nport: \"${PORT}\"\non: ${ON:false}\nany: $${PORT} ${EMPTY:x}${NONE:y:z} ${3}\n",
			want: settings{Host: "12", Port: 8080, On: &yes, Any: "${PORT} y:z ${3}"}},
		{name: "merge", text: "raw: &a {host: b, port: 2}\n<<: *a\nhost: c\n", want: settings{Host: "c", Port: 2}},
		{name: "variable missing", text: "host: x\nport: ${NOPE}\n",
			problems: `s.yaml:2: environment variable NOPE is not set; set it, or give a default as in ${NOPE:default}`},
		{name: "unknown keys", text: "hots: a\nport: 1\nPORT: 1\nlimits:\n  size: 1\n", problems: `
s.yaml:1: unknown key "hots"; did you mean "host"?
s.yaml:3: unknown key "PORT"; did you mean "port"?
s.yaml:5: unknown key "size"; known are body, timeout`},
		{name: "wrong types", text: "host: 5\nport: 70000\nproxies: a\nratio: x\non: yes\nlimits: [1]\n", problems: `
s.yaml:1: host must be a text, not a whole number 5; put it in quotes: "5"
s.yaml:2: port must be a whole number from 0 to 65535, not a whole number 70000
s.yaml:3: proxies must be a list, not a text "a"
s.yaml:4: ratio must be a number, not a text "x"
s.yaml:5: on must be true or false, not a text "yes"
s.yaml:6: limits must be a mapping, not a list`},
		{name: "missing", text: "host: a\n", problems: `s.yaml:1: key "port" is missing`},
		{name: "duplicate", text: "port: 1\nhost: a\nport: 2\n",
			problems: `s.yaml:3: key "port" is here a second time (first in line 1); keep one of them`},
		{name: "duplicate json", file: "s.json", text: "{\"port\": 1,\n\"port\": 2}",
			problems: `s.json:2: key "port" is here a second time (first in line 1); keep one of them`},
		{name: "syntax", text: "port: 1\nhost: a: b\n",
			problems: `s.yaml:2: not valid YAML: mapping values are not allowed in this context; put a value with a colon in quotes, and check the indentation`},
		{name: "tab", text: "limits:\n\tbody: 1\n",
			problems: `s.yaml:2: not valid YAML: found character that cannot start any token; indent with blanks, not tabs, and put values that begin with @, ` + "`" + ` or % in quotes`},
		{name: "json syntax", file: "s.json", text: "{\n\"port\": 1,\n}",
			problems: `s.json:3: not valid JSON: invalid character '}' looking for beginning of object key string`},
		{name: "json cut off", file: "s.json", text: "{\n\"port\": 1\n",
			problems: `s.json:2: not valid JSON: unexpected end of JSON input`},
		{name: "json more", file: "s.json", text: "{}\n{}",
			problems: `s.json:2: not valid JSON: invalid character '{' after top-level value`},
		{name: "anchor missing", text: "port: 1\nhost: *x\n",
			problems: `s.yaml:2: alias *x has no anchor &x before it; a value that begins with * needs quotes`},
		{name: "anchor in itself", text: "port: 1\nproxies: &x [*x]\n",
			problems: `s.yaml:2: alias *x stands inside its own anchor; an anchor cannot hold itself`},
		{name: "two documents", text: "port: 1\n---\nport: 2\n",
			problems: `s.yaml:2: a second YAML document begins here; a file holds one, so take the --- away`},
		{name: "tag", text: "port: !!binary aGk=\n", problems: `s.yaml:1: tag !!binary is not supported; take it away`},
		{name: "utf-8", text: "port: 1\nhost: \xff\n",
			problems: `s.yaml:2: the text is not valid UTF-8; save the file as UTF-8`},
		{name: "bomb", text: "a: &a [x,x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b,*b]\n" +
			"d: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c,*c]\ne: [*d,*d,*d,*d,*d,*d,*d,*d,*d,*d]\n",
			problems: `s.yaml:2: the file holds more than 50000 values, aliases counted as what they stand for; split it up, or use fewer aliases`},
		{name: "deep", text: strings.Repeat("[", 200) + strings.Repeat("]", 200),
			problems: `s.yaml:1: values are nested more than 100 deep; nest them less`},
		{name: "deep json", file: "s.json", text: strings.Repeat("[", 200) + strings.Repeat("]", 200),
			problems: `s.json:1: values are nested more than 100 deep; nest them less`},
		{name: "large", text: strings.Repeat("# comment\n", 60_000),
			problems: `s.yaml: the file is larger than 512 KiB; split it up`},
	} {
		t.Run(test.name, func(t *testing.T) {
			file := test.file
			if file == "" {
				file = "s.yaml"
			}
			fsys := fstest.MapFS{file: {Data: []byte(test.text)}}
			var got settings
			if test.want.Host == "kept" {
				got.Host = "kept"
			}
			n, problems := yamlfile.Read(fsys, file, env)
			if len(problems) == 0 {
				problems = n.Decode(&got)
			}
			if want := strings.TrimSpace(test.problems); problems.Error() != want {
				t.Fatalf("problems:\n%v\nwant:\n%s", problems, want)
			}
			got.Raw = nil
			if test.problems == "" && !reflect.DeepEqual(got, test.want) {
				t.Errorf("got %+v, want %+v", got, test.want)
			}
		})
	}
}

func TestReadFileThatIsNone(t *testing.T) {
	fsys := fstest.MapFS{"config/a.yaml": {}, "config/a.json": {}}
	if _, problems := yamlfile.Read(fsys, "config/b.yaml", nil); problems.Error() != "config/b.yaml: does not exist" {
		t.Error(problems)
	}
	if _, problems := yamlfile.Read(fsys, "config", nil); problems.Error() != "config: is a directory, not a regular file; remove it, or put a file in its place" {
		t.Error(problems)
	}
	name, problems := yamlfile.Find(fsys, "config/a")
	if name != "config/a.yaml" ||
		problems.Error() != "config/a.json: says the same as config/a.yaml; keep one of the two" {
		t.Error(name, problems)
	}
	if n, problems := yamlfile.Read(fsys, "config/a.yaml", nil); problems != nil || !n.IsNull() {
		t.Error(n, problems)
	}
}
