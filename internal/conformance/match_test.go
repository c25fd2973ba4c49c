package conformance

import (
	"testing"
)

const (
	docA = `"aaaaaaaaaaaaaaaaaaaaaaaa"`
	docB = `"bbbbbbbbbbbbbbbbbbbbbbbb"`
)

// TestMatch checks that the matcher accepts and rejects what it should. A matcher that accepted too much would hide
// failures of every suite.
func TestMatch(t *testing.T) {
	for _, c := range []struct {
		name       string
		want, got  string
		differs    string // the path of the difference; "" for none
		onlyInWord bool
	}{
		{name: "equal objects, other order of keys", want: `{"a":1,"b":[true,null,"x"]}`,
			got: `{"b":[true,null,"x"],"a":1}`},
		{name: "numbers by value", want: `{"a":1}`, got: `{"a":1.0}`},
		{name: "numbers by value, exponent", want: `100`, got: `1e2`},
		{name: "another number", want: `{"a":1}`, got: `{"a":2}`, differs: "body.a"},
		{name: "a number is no text", want: `1`, got: `"1"`, differs: "body"},
		{name: "minus zero", want: `0`, got: `-0`, differs: "body"},
		{name: "another text", want: `"a"`, got: `"A"`, differs: "body"},
		{name: "null is not false", want: `{"a":null}`, got: `{"a":false}`, differs: "body.a"},
		{name: "null is not absent", want: `{"a":null}`, got: `{}`, differs: "body.a"},
		{name: "absent is not null", want: `{}`, got: `{"a":null}`, differs: "body.a"},
		{name: "a key too many", want: `{"a":{}}`, got: `{"a":{"b":1}}`, differs: "body.a.b"},
		{name: "a key too few", want: `{"a":{"b":1}}`, got: `{"a":{}}`, differs: "body.a.b"},
		{name: "stacktrace is not looked at", want: `{"a":1,"stacktrace":[1]}`, got: `{"a":1}`},
		{name: "stacktrace is not looked at when added", want: `{"a":1}`, got: `{"a":1,"stacktrace":[1]}`},
		{name: "order of arrays counts", want: `[1,2,1]`, got: `[1,1,1]`, differs: "body[1]"},
		{name: "a shorter array", want: `[1,2]`, got: `[1]`, differs: "body"},
		{name: "a longer array", want: `[1]`, got: `[1,2]`, differs: "body"},
		{name: "an object is no array", want: `[]`, got: `{}`, differs: "body"},
		{name: "an array is no object", want: `{}`, got: `[]`, differs: "body"},
		{name: "an empty body is null", want: `null`, got: ``},
		{name: "an empty body is no object", want: `{}`, got: ``, differs: "body"},
		{name: "what is no JSON is text", want: `"Method Not Allowed"`, got: `Method Not Allowed`},

		{name: "any", want: `["<any>","<any>"]`, got: `[null,{"a":1}]`},
		{name: "int", want: `"<int>"`, got: `5`},
		{name: "int: fraction", want: `"<int>"`, got: `5.5`, differs: "body"},
		{name: "int: text", want: `"<int>"`, got: `"5"`, differs: "body"},
		{name: "intstr", want: `"<intstr>"`, got: `"5"`},
		{name: "intstr: number", want: `"<intstr>"`, got: `5`, differs: "body"},
		{name: "intstr: word", want: `"<intstr>"`, got: `"5a"`, differs: "body"},
		{name: "number", want: `"<number>"`, got: `5.5`},
		{name: "number: null", want: `"<number>"`, got: `null`, differs: "body"},
		{name: "string", want: `"<string>"`, got: `""`},
		{name: "string: null", want: `"<string>"`, got: `null`, differs: "body"},
		{name: "time", want: `"<time>"`, got: `"2024-05-06T07:08:09.010Z"`},
		{name: "time without milliseconds", want: `"<time>"`, got: `"2024-05-06T07:08:09Z"`, differs: "body"},
		{name: "time with a zone", want: `"<time>"`, got: `"2024-05-06T07:08:09.010+00:00"`, differs: "body"},
		{name: "time: null", want: `"<time>"`, got: `null`, differs: "body"},
		{name: "jwt", want: `"<jwt>"`, got: `"a-b.c_d.e"`},
		{name: "jwt of two parts", want: `"<jwt>"`, got: `"a.b"`, differs: "body"},
		{name: "upload", want: `"<upload:a.txt>"`, got: `"/uploads/b_0123.txt"`},
		{name: "upload elsewhere", want: `"<upload:a.txt>"`, got: `"/files/b.txt"`, differs: "body"},
		{name: "upload of another extension", want: `"<upload:a.txt>"`, got: `"/uploads/b.png"`, differs: "body"},

		{name: "the same document", want: `["<doc:1>","<doc:1>"]`, got: `[` + docA + `,` + docA + `]`},
		{name: "two documents", want: `["<doc:1>","<doc:2>"]`, got: `[` + docA + `,` + docB + `]`},
		{name: "two for one", want: `["<doc:1>","<doc:1>"]`, got: `[` + docA + `,` + docB + `]`, differs: "body[1]"},
		{name: "one for two", want: `["<doc:1>","<doc:2>"]`, got: `[` + docA + `,` + docA + `]`, differs: "body[1]"},
		{name: "no documentId", want: `"<doc:1>"`, got: `"A"`, differs: "body"},
		{name: "a documentId in a text", want: `"id (<doc:1>) gone"`, got: `"id (aaaaaaaaaaaaaaaaaaaaaaaa) gone"`},
		{name: "another text around a documentId", want: `"id (<doc:1>) gone"`,
			got: `"id (aaaaaaaaaaaaaaaaaaaaaaaa) there"`, differs: "body"},

		{name: "what was saved", want: `{"id":"{{n}}","path":"/{{d}}"}`, got: `{"id":7,"path":"/abc"}`},
		{name: "what was saved keeps its type", want: `"{{n}}"`, got: `"7"`, differs: "body"},
		{name: "not what was saved", want: `"{{d}}"`, got: `"abd"`, differs: "body"},
		{name: "nothing was saved", want: `"{{nope}}"`, got: `"x"`, differs: "body"},

		{name: "words of an error", want: `{"data":null,"error":{"name":"N","message":"a","details":{}}}`,
			got: `{"data":null,"error":{"name":"N","message":"b","details":{}}}`, differs: "body.error.message",
			onlyInWord: true},
		{name: "details of an error", want: `{"error":{"details":{"errors":[1]}}}`,
			got:     `{"error":{"details":{"errors":[2]}}}`,
			differs: "body.error.details.errors[0]", onlyInWord: true},
		{name: "name of an error is no word", want: `{"error":{"name":"N"}}`, got: `{"error":{"name":"M"}}`,
			differs: "body.error.name"},
		{name: "a message elsewhere is no word", want: `{"data":{"message":"a"}}`, got: `{"data":{"message":"b"}}`,
			differs: "body.data.message"},
		{name: "words of a GraphQL error", want: `{"errors":[{"message":"a"}]}`, got: `{"errors":[{"message":"b"}]}`,
			differs: "body.errors[0].message", onlyInWord: true},
		{name: "place of a GraphQL error", want: `{"errors":[{"locations":[{"line":1}]}]}`,
			got:     `{"errors":[{"locations":[{"line":2}]}]}`,
			differs: "body.errors[0].locations[0].line", onlyInWord: true},
		{name: "code of a GraphQL error", want: `{"errors":[{"extensions":{"code":"A"}}]}`,
			got:     `{"errors":[{"extensions":{"code":"B"}}]}`,
			differs: "body.errors[0].extensions.code"},
		{name: "number of GraphQL errors", want: `{"errors":[{},{}]}`, got: `{"errors":[{}]}`, differs: "body.errors",
			onlyInWord: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := NewMatcher()
			if err := m.Save(map[string]string{"n": "a.0.n", "d": "a.0.d"},
				parseBody([]byte(`{"a":[{"n":7,"d":"abc"}]}`))); err != nil {
				t.Fatal(err)
			}
			diffs, err := m.Match(&Expect{Status: 200, Body: []byte(c.want)},
				&Answer{Status: 200, Body: parseBody([]byte(c.got))})
			if err != nil {
				t.Fatal(err)
			}
			checkDiffs(t, diffs, c.differs, c.onlyInWord)
		})
	}
}

func checkDiffs(t *testing.T, diffs []Diff, at string, words bool) {
	t.Helper()
	switch {
	case at == "" && len(diffs) == 0:
	case at == "":
		t.Errorf("differs: %v", diffs)
	case len(diffs) != 1:
		t.Errorf("want one difference at %s, got %v", at, diffs)
	case diffs[0].At != at:
		t.Errorf("differs at %s, want %s", diffs[0].At, at)
	case diffs[0].Words() != words:
		t.Errorf("only in words: %t, want %t", diffs[0].Words(), words)
	}
}

func TestMatchStatusAndHeaders(t *testing.T) {
	for _, c := range []struct {
		name    string
		headers string
		answer  Answer
		differs string
	}{
		{"all as expected", `{"allow":"GET","vary":null}`,
			Answer{Status: 405, Headers: map[string]any{"allow": "GET", "vary": nil}}, ""},
		{"another status", `{}`, Answer{Status: 404, Headers: map[string]any{}}, "status"},
		{"another header", `{"allow":"GET"}`, Answer{Status: 405, Headers: map[string]any{"allow": "PUT"}},
			"headers.allow"},
		{"no header", `{"allow":"GET"}`, Answer{Status: 405, Headers: map[string]any{"allow": nil}}, "headers.allow"},
		{"a header that should not be there", `{"allow":null}`,
			Answer{Status: 405, Headers: map[string]any{"allow": "GET"}}, "headers.allow"},
	} {
		t.Run(c.name, func(t *testing.T) {
			diffs, err := NewMatcher().Match(&Expect{Status: 405, Headers: []byte(c.headers), Body: []byte("null")},
				&c.answer)
			if err != nil {
				t.Fatal(err)
			}
			checkDiffs(t, diffs, c.differs, false)
		})
	}
}

// TestMatchDocumentsAcrossSteps checks that a <doc:N> token stands for the same document in every step.
func TestMatchDocumentsAcrossSteps(t *testing.T) {
	m := NewMatcher()
	expect := &Expect{Status: 200, Body: []byte(`"<doc:1>"`)}
	for _, c := range []struct{ got, differs string }{{docA, ""}, {docA, ""}, {docB, "body"}} {
		diffs, err := m.Match(expect, &Answer{Status: 200, Body: parseBody([]byte(c.got))})
		if err != nil {
			t.Fatal(err)
		}
		checkDiffs(t, diffs, c.differs, false)
	}
}

func TestSaveNothing(t *testing.T) {
	for _, path := range []string{"data.id", "data.0", "list.2", "list.x", "null"} {
		if err := NewMatcher().Save(map[string]string{"v": path},
			parseBody([]byte(`{"data":{},"list":[1],"null":null}`))); err == nil {
			t.Errorf("%s: something was saved", path)
		}
	}
}
