package query

import (
	"bytes"

	"lectern/contenttypes"
	"lectern/store/internal/format"
)

// Predicate compiles a comparison to a test of JSON that is not null. It returns nil if the comparison is unknown for
// every value.
func Predicate(f Compare) func(raw []byte) bool {
	values := make([]any, 0, len(f.Values))
	for _, v := range f.Values {
		if v != nil {
			values = append(values, v)
		}
	}
	hadNull := len(values) < len(f.Values)
	switch f.Op {
	case In:
		return oneOf(f.Attr, values)
	case NotIn:
		if hadNull {
			return nil
		}
		in := oneOf(f.Attr, values)
		return func(raw []byte) bool { return !in(raw) }
	case Between:
		if hadNull || len(values) != 2 {
			return nil
		}
		low, high := comparer(f.Attr, values[0]), comparer(f.Attr, values[1])
		return func(raw []byte) bool { return low(raw) >= 0 && high(raw) <= 0 }
	}
	if hadNull || len(values) == 0 {
		return nil
	}
	if text, ok := values[0].(string); ok {
		if ok := TextTest(f.Op, text); ok != nil {
			return func(raw []byte) bool { return ok(format.Unquote(raw)) }
		}
	}
	cmp := comparer(f.Attr, values[0])
	switch f.Op {
	case Eq:
		return func(raw []byte) bool { return cmp(raw) == 0 }
	case Ne:
		return func(raw []byte) bool { return cmp(raw) != 0 }
	case Lt:
		return func(raw []byte) bool { return cmp(raw) < 0 }
	case Lte:
		return func(raw []byte) bool { return cmp(raw) <= 0 }
	case Gt:
		return func(raw []byte) bool { return cmp(raw) > 0 }
	case Gte:
		return func(raw []byte) bool { return cmp(raw) >= 0 }
	case EqI:
		return func(raw []byte) bool { return cmp(raw) == 0 }
	case NeI:
		return func(raw []byte) bool { return cmp(raw) != 0 }
	}
	return nil
}

func oneOf(a *contenttypes.Attribute, values []any) func(raw []byte) bool {
	cmps := make([]func([]byte) int, len(values))
	for i, v := range values {
		cmps[i] = comparer(a, v)
	}
	return func(raw []byte) bool {
		for _, cmp := range cmps {
			if cmp(raw) == 0 {
				return true
			}
		}
		return false
	}
}

// comparer returns a function that compares stored JSON with v. Its result is negative if the stored value is less, and
// 0 if they are equal.
func comparer(a *contenttypes.Attribute, v any) func(raw []byte) int {
	switch v := v.(type) {
	case float64:
		if a.Type == contenttypes.BigInteger {
			return func(raw []byte) int { return compareOrdered(float64(format.ParseBig(raw)), v) }
		}
		return func(raw []byte) int { return compareOrdered(format.ParseFloat(raw), v) }
	case int64:
		if a.Type == contenttypes.BigInteger {
			return func(raw []byte) int { return compareOrdered(format.ParseBig(raw), v) }
		}
		return func(raw []byte) int { return compareOrdered(format.ParseFloat(raw), float64(v)) }
	case bool:
		return func(raw []byte) int {
			switch stored := raw[0] == 't'; {
			case stored == v:
				return 0
			case v:
				return -1
			}
			return 1
		}
	case string:
		text := []byte(v)
		return func(raw []byte) int { return bytes.Compare(format.Unquote(raw), text) }
	}
	return func([]byte) int { return 1 }
}

func compareOrdered[T float64 | int64](a, b T) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// TextTest compiles an operator that looks at the text form of a value. It returns nil for all other operators.
func TextTest(op Op, text string) func(stored []byte) bool {
	plain, folded := []byte(text), Fold(text)
	switch op {
	case Contains:
		return func(stored []byte) bool { return bytes.Contains(stored, plain) }
	case NotContains:
		return func(stored []byte) bool { return !bytes.Contains(stored, plain) }
	case ContainsI, NotContainsI:
		found := ContainsFold(text)
		return func(stored []byte) bool { return found(stored) == (op == ContainsI) }
	case StartsWith:
		return func(stored []byte) bool { return bytes.HasPrefix(stored, plain) }
	case EndsWith:
		return func(stored []byte) bool { return bytes.HasSuffix(stored, plain) }
	case StartsWithI:
		return func(stored []byte) bool { return startsFold(stored, folded) }
	case EndsWithI:
		return func(stored []byte) bool { return endsFold(stored, folded) }
	case EqI, NeI:
		return func(stored []byte) bool { return equalFold(stored, folded) == (op == EqI) }
	}
	return nil
}
