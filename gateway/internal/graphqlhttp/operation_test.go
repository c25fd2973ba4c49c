package graphqlhttp

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/url"
	"strconv"
	"testing"

	"lectern/internal/budget"
	"lectern/jsontree"
)

// FuzzOperation reads operations from any query string and from any JSON. What is read is an operation or a refusal
// with a status of 400, and an operation that is written as a body again is the same operation.
func FuzzOperation(f *testing.F) {
	for _, text := range []string{
		"query={__typename}&variables={}&extensions={}&operationName=A", "query=a&query=b", "variables=[]",
		"extensions=null&query=%7B", "%zz",
		`{"query":"{a}","variables":{"x":1},"operationName":"A"}`, `{"query":{}}`, `{"variables":"{}"}`,
		`[{"query":"{a}"}]`, `{"operationName":1}`, `null`,
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		check := func(op *operation, wrong *refusal) {
			if op == nil && wrong == nil || wrong != nil &&
				(wrong.status != http.StatusBadRequest || wrong.message == "") {
				t.Errorf("%q: %+v, %+v", text, op, wrong)
			}
		}
		memory := budget.New(1 << 20).Tally()
		if op, wrong, err := fromQuery(&url.URL{RawQuery: text}, &memory); err == nil {
			check(op, wrong)
		}
		body, err := jsontree.Parse([]byte(text), jsontree.MaxDepth)
		if err != nil {
			return
		}
		op, wrong := fromBody(body)
		if check(op, wrong); op == nil || !op.hasQuery {
			return
		}
		body, err = jsontree.Parse(op.appendBody(nil), jsontree.MaxDepth)
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		if again, wrong := fromBody(body); wrong != nil || again.query != op.query ||
			(again.name == nil) != (op.name == nil) || (again.variables == nil) != (op.variables == nil) {
			t.Errorf("%q: %+v is written as %+v (%+v)", text, op, again, wrong)
		}
	})
}

// A query is found by the hash under which it was persisted, and by no other.
func TestPersisted(t *testing.T) {
	const query = "{ __typename }"
	sum := sha256.Sum256([]byte(query))
	hash := hex.EncodeToString(sum[:])
	persisted := (*Persisted)(nil).WithLimit(2)
	asks := func(query, hash string, version int) *operation {
		return &operation{query: query, hasQuery: query != "", extensions: jsontree.ObjectOf("persistedQuery",
			jsontree.ObjectOf("version", jsontree.Number(strconv.Itoa(version)), "sha256Hash", hash))}
	}
	for _, c := range []struct {
		name    string
		op      *operation
		in      *Persisted
		refusal string
	}{
		{"none is persisted", asks("", hash, 1), persisted, "PersistedQueryNotFound"},
		{"nothing can be persisted", asks("", hash, 1), nil, "PersistedQueryNotSupported"},
		{"another hash", asks(query, "00", 1), persisted, "provided sha does not match query"},
		{"another version", asks(query, hash, 2), persisted, "Unsupported persisted query version"},
		{"neither", &operation{}, persisted, emptyMessage},
		{"query and hash", asks(query, hash, 1), persisted, ""},
	} {
		refused := c.in.resolve(c.op)
		if got := ""; refused != nil {
			if got = refused.message; got != c.refusal {
				t.Errorf("%s: %s, want %q", c.name, got, c.refusal)
			}
		} else if c.refusal != "" || !c.op.persist {
			t.Errorf("%s: %+v", c.name, c.op)
		}
	}
	persisted.Add(hash, query, len(query))
	if op := asks("", hash, 1); persisted.resolve(op) != nil || op.query != query || op.persist {
		t.Errorf("%+v", op)
	}
	if persisted.WithLimit(2) != persisted || persisted.WithLimit(3) == persisted {
		t.Error("the queries are kept as long as the limit stays the same")
	}
}
