package answer_test

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"lectern/documents/apierror"
	"lectern/internal/budget"
	"lectern/shadowcrud/graphql/answer"
	"lectern/shadowcrud/graphql/language"
	"lectern/store"
)

var errLong = errors.New("too long")

// TestWriter prints answers with values, nulls and errors.
func TestWriter(t *testing.T) {
	for _, tt := range []struct {
		name   string
		print  func(w *answer.Writer) (ok bool)
		want   string
		logged string
		failed error
	}{
		{name: "values", want: `{"data":{"a":"x","b":"\"y","c":true,"d":-5,"e":null,"f":9007199254740991,"g":"9007199254740993"}}` + "\n",
			print: func(w *answer.Writer) bool {
				w.Key(0, []byte(`"a":`))
				w.Text("x")
				w.Key(1, []byte(`"b":`))
				w.String(`"y`)
				w.Key(2, []byte(`"c":`))
				w.Boolean(true)
				w.Key(3, []byte(`"d":`))
				w.Number(-5)
				w.Key(4, []byte(`"e":`))
				w.Null()
				w.Key(5, []byte(`"f":`))
				w.Long([]byte(`"9007199254740991"`))
				w.Key(6, []byte(`"g":`))
				w.Long([]byte(`"9007199254740993"`))
				return true
			}},
		{name: "null in place of a value that failed", want: `{"errors":[{"message":"no","path":["list",2,"a"],` +
			`"extensions":{"code":"BAD_USER_INPUT","error":{"name":"ValidationError","message":"no","details":{}}}}],"data":{"list":null}}` + "\n",
			print: func(w *answer.Writer) bool {
				w.Key(0, []byte(`"list":`))
				begin := len(w.Buf)
				w.Push("list")
				w.PushIndex(2)
				w.Text("half")
				w.AddError("a", apierror.Validation("no"))
				w.Pop()
				w.Pop()
				return w.NullFrom(begin, false)
			}},
		{name: "null for all data",
			want: `{"errors":[{"message":"Cannot","locations":[{"line":1,"column":3}],"path":["a"],` +
				`"extensions":{"code":"INTERNAL_SERVER_ERROR"}}],"data":null}` + "\n",
			print: func(w *answer.Writer) bool {
				w.Key(0, []byte(`"a":`))
				w.AddFault(language.Location{Line: 1, Column: 3}, "a", "Cannot")
				return w.NullFrom(len(w.Buf), true)
			}},
		{name: "an error that clients may not see", logged: "disk on fire",
			want: `{"errors":[{"message":"Internal Server Error","path":["a"],` +
				`"extensions":{"code":"INTERNAL_SERVER_ERROR","error":{"name":"InternalServerError","message":"Internal Server Error","details":{}}}}],"data":{"a":null}}` + "\n",
			print: func(w *answer.Writer) bool {
				w.Key(0, []byte(`"a":`))
				w.AddError("a", errors.New("disk on fire"))
				w.Null()
				return true
			}},
		{name: "what a mutation prints again", want: `{"data":{"a":2}}` + "\n",
			print: func(w *answer.Writer) bool {
				w.Key(0, []byte(`"a":`))
				begin := len(w.Buf)
				w.Push("a")
				w.Number(1)
				w.AddError("", apierror.Validation("no"))
				w.TakeBack(begin, 0)
				w.Number(2)
				return true
			}},
		{name: "changed definitions end the printing", failed: store.ErrRedefined, print: func(w *answer.Writer) bool {
			w.AddError("a", store.ErrRedefined)
			return true
		}},
		{name: "too long an answer", failed: errLong, print: func(w *answer.Writer) bool {
			w.Fits(1 << 20)
			return true
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var log bytes.Buffer
			settings := &answer.Settings{TooLong: errLong, Log: slog.New(slog.NewTextHandler(&log, nil))}
			w := answer.New()
			for range 2 { // the second answer uses the memory of the first
				if !w.Begin(t.Context(), (*budget.Budget)(nil).Answer(512<<10), settings, "request") {
					t.Fatal("no memory")
				}
				w.BeginData()
				w.EndData(tt.print(&w))
				if w.Failed != tt.failed {
					t.Fatalf("failed with %v, want %v", w.Failed, tt.failed)
				}
				if got := string(w.Answer()); tt.failed == nil && got != tt.want {
					t.Errorf("got  %s\nwant %s", got, tt.want)
				}
				if !w.End() {
					t.Error("a small answer is not kept for the next one")
				}
			}
			if !strings.Contains(log.String(), tt.logged) || tt.logged == "" && log.Len() > 0 {
				t.Errorf("logged %q, want %q", log.String(), tt.logged)
			}
		})
	}
}
