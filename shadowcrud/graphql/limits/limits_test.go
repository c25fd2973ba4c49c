package limits_test

import (
	"testing"

	"github.com/vektah/gqlparser/v2/ast"

	"lectern/shadowcrud/graphql/limits"
)

// TestDefaults checks that zeros, and nothing else, are replaced by the defaults.
func TestDefaults(t *testing.T) {
	l := limits.Operation{MaxLimit: 50, Rows: 7}.OrDefaults()
	want := limits.Default
	want.MaxLimit, want.Rows, want.Document.Introspection = 50, 7, false
	if l != want {
		t.Errorf("got %+v, want %+v", l, want)
	}
}

// TestShare checks that a mutation may use a tenth of a limit, at least one.
func TestShare(t *testing.T) {
	for _, tt := range []struct {
		op          ast.Operation
		limit, want int
	}{
		{ast.Query, 100, 100}, {ast.Subscription, 100, 100}, {ast.Mutation, 100, 10}, {ast.Mutation, 5, 1},
		{ast.Mutation, 0, 0},
	} {
		if got := limits.Share(tt.op, tt.limit); got != tt.want {
			t.Errorf("%s of %d: %d, want %d", tt.op, tt.limit, got, tt.want)
		}
	}
}
