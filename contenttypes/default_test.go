package contenttypes_test

import (
	"testing"

	"lectern/jsontree"
)

// TestDefault checks that the Model holds defaults in the form that responses use.
func TestDefault(t *testing.T) {
	for _, test := range []struct{ attribute, want string }{
		{"{type: string, default: a}", `"a"`},
		{"{type: string, default: ''}", `""`},
		{"{type: text, default: x, maxLength: 1}", `"x"`},
		{"{type: integer, default: 0x10}", `16`},
		{"{type: integer, default: +5}", `5`},
		{"{type: float, default: .5}", `0.5`},
		{"{type: float, default: 1e3}", `1000`},
		{"{type: decimal, default: 5.}", `5`},
		{"{type: biginteger, default: 9223372036854775807}", `"9223372036854775807"`},
		{"{type: biginteger, default: '-1'}", `"-1"`},
		{"{type: date, default: 2026-01-31}", `"2026-01-31"`},
		{"{type: time, default: '09:30:00'}", `"09:30:00.000"`},
		{"{type: time, default: '09:30:00.5'}", `"09:30:00.500"`},
		{"{type: datetime, default: 2026-01-31T09:30:00+01:00}", `"2026-01-31T08:30:00.000Z"`},
		{"{type: datetime, default: 2026-01-31}", `"2026-01-31T00:00:00.000Z"`},
		{"{type: timestamp, default: 1500}", `"1970-01-01T00:00:01.500Z"`},
		{"{type: boolean, default: false}", `false`},
		{"{type: enumeration, enum: [a, b], default: b}", `"b"`},
		{"{type: json, default: {b: 1, a: [null, x]}}", `{"b":1,"a":[null,"x"]}`},
		{"{type: json, default: 5}", `5`},
		{"{type: email, default: jane@example.org}", `"jane@example.org"`},
		{"{type: uid, default: a-b}", `"a-b"`},
		{"{type: blocks, default: []}", `[]`},
	} {
		a, problems := loadOne(test.attribute)
		if problems != nil {
			t.Errorf("%s: %v", test.attribute, problems)
			continue
		}
		if got := string(jsontree.Append(nil, a.Default)); got != test.want || !a.HasDefault {
			t.Errorf("%s: default %s, want %s", test.attribute, got, test.want)
		}
	}
	for _, none := range []string{"{type: string}", "{type: string, default: null}", "{type: json, default: ~}"} {
		if a, problems := loadOne(none); problems != nil || a.HasDefault || a.Default != nil {
			t.Errorf("%s: %v %v", none, a, problems)
		}
	}
}
