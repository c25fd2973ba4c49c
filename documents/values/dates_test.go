package values

import (
	"testing"
	"time"

	"lectern/contenttypes"
	"lectern/jsontree"
)

var temporalCases = []struct{ attr, in, want string }{
	{"date", `null`, `null`},
	{"date", `"2024-02-29"`, `"2024-02-29"`},
	{"date", `"2024-01-01T23:30:00-05:00"`, `"2024-01-01"`},
	{"date", `"2024-01-01 10:00"`, `"2024-01-01"`},
	{"date", `"2023-02-29"`, noSuchDay},
	{"date", `"2024-04-31"`, noSuchDay},
	{"date", `"2024-13-01"`, badDate},
	{"date", `"2024-00-10"`, badDate},
	{"date", `"2024-01-32"`, badDate},
	{"date", `"2024-2-3"`, badDate},
	{"date", `"20240101"`, badDate},
	{"date", `"10000-01-01"`, badDate},
	{"date", `"2024-01-01foo"`, badDate},
	{"date", `"2024-01-01T25:00"`, badDate},
	{"date", `""`, badDate},
	{"date", `20240101`, badDate},
	{"date", `["2024-01-01"]`, badDate},

	{"time", `"23:59:59"`, `"23:59:59.000"`},
	{"time", `"10:00:00.5"`, `"10:00:00.500"`},
	{"time", `"10:00:00.123"`, `"10:00:00.123"`},
	{"time", `"10:00:00.1234"`, badTime},
	{"time", `"10:00:00."`, badTime},
	{"time", `"10:00"`, badTime},
	{"time", `"1:00:00"`, badTime},
	{"time", `"24:00:00"`, badTime},
	{"time", `"23:60:00"`, badTime},
	{"time", `"23:59:60"`, badTime},
	{"time", `"10:00:00Z"`, badTime},
	{"time", `""`, badTime},
	{"time", `36000`, "Expected a string, got a number"},
	{"time", `true`, "Expected a string, got a boolean"},
	{"time", `[]`, "Expected a string, got a object"},
	{"time", `{}`, "Expected a string, got a object"},

	{"datetime", `null`, `null`},
	{"datetime", `"2024"`, `"2024-01-01T00:00:00.000Z"`},
	{"datetime", `"2024-05"`, `"2024-05-01T00:00:00.000Z"`},
	{"datetime", `"202405"`, `"2024-05-01T00:00:00.000Z"`},
	{"datetime", `"20240501"`, `"2024-05-01T00:00:00.000Z"`},
	{"datetime", `"2024-W18"`, `"2024-04-29T00:00:00.000Z"`},
	{"datetime", `"2024-W18-3"`, `"2024-05-01T00:00:00.000Z"`},
	{"datetime", `"2024W183T10:00"`, `"2024-05-01T10:00:00.000Z"`},
	{"datetime", `"2024-123"`, `"2024-05-02T00:00:00.000Z"`},
	{"datetime", `"2024366"`, `"2024-12-31T00:00:00.000Z"`},
	{"datetime", `"2024-01-01T10"`, `"2024-01-01T10:00:00.000Z"`},
	{"datetime", `"2024-01-01T10.5"`, `"2024-01-01T10:30:00.000Z"`},
	{"datetime", `"2024-01-01T10:00"`, `"2024-01-01T10:00:00.000Z"`},
	{"datetime", `"2024-01-01 10:00:00"`, `"2024-01-01T10:00:00.000Z"`},
	{"datetime", `"20240101T100000.5Z"`, `"2024-01-01T10:00:00.500Z"`},
	{"datetime", `"2024-01-01T10:00:00,123"`, `"2024-01-01T10:00:00.123Z"`},
	{"datetime", `"2024-01-01T10:00:00.123987Z"`, `"2024-01-01T10:00:00.123Z"`},
	{"datetime", `"2024-01-01T10:00:00.99999999999Z"`, `"2024-01-01T10:00:00.999Z"`},
	{"datetime", `"2024-01-01T10:00:00+02:00"`, `"2024-01-01T08:00:00.000Z"`},
	{"datetime", `"2024-01-01T10:00:00-1230"`, `"2024-01-01T22:30:00.000Z"`},
	{"datetime", `"2024-01-01T10:00:00+02"`, `"2024-01-01T08:00:00.000Z"`},
	{"datetime", `"2024-05-01T24:00:00"`, `"2024-05-02T00:00:00.000Z"`},
	{"datetime", `"1960-05-05T05:05:05Z"`, `"1960-05-05T05:05:05.000Z"`},
	{"datetime", `"0000-01-01"`, `"0000-01-01T00:00:00.000Z"`},
	{"datetime", `"-000001-01-01"`, `"-000001-01-01T00:00:00.000Z"`},
	{"datetime", `"+012024-01-01T00:00:00Z"`, `"+012024-01-01T00:00:00.000Z"`},
	{"datetime", `1704067200000`, `"2024-01-01T00:00:00.000Z"`},
	{"datetime", `"1704067200000"`, `"2024-01-01T00:00:00.000Z"`},
	{"datetime", `1e3`, `"1970-01-01T00:00:01.000Z"`},
	{"datetime", `2024`, `"1970-01-01T00:00:02.024Z"`},
	{"datetime", `-1000`, `"1969-12-31T23:59:59.000Z"`},
	{"datetime", `"-1000"`, `"1969-12-31T23:59:59.000Z"`},
	{"datetime", `8640000000000000`, `"+275760-09-13T00:00:00.000Z"`},
	{"datetime", `8640000000000001`, badDateTime},
	{"datetime", `"+275760-09-13T00:00:00.001Z"`, badDateTime},
	{"datetime", `1e30`, badDateTime},
	{"datetime", `1.5`, badDateTime},
	{"datetime", `"1.5"`, badDateTime},
	{"datetime", `true`, badDateTime},
	{"datetime", `["2024-01-01"]`, badDateTime},
	{"datetime", `""`, badDateTime},
	{"datetime", `" 2024-01-01"`, badDateTime},
	{"datetime", `"2024-02-30T10:00:00Z"`, badDateTime},
	{"datetime", `"2024-13-01"`, badDateTime},
	{"datetime", `"2023-366"`, badDateTime},
	{"datetime", `"2024-W54"`, badDateTime},
	{"datetime", `"2024-W01-8"`, badDateTime},
	{"datetime", `"2024-01-01T24:00:01"`, badDateTime},
	{"datetime", `"2024-01-01T10:60"`, badDateTime},
	{"datetime", `"2024-01-01t10:00:00Z"`, badDateTime},
	{"datetime", `"2024-01-01T10:00:00z"`, badDateTime},
	{"datetime", `"2024-01-01T10:00:00 +02:00"`, badDateTime},
	{"datetime", `"2024-01-01T10:00:00+25:00"`, badDateTime},
	{"datetime", `"2024-01-01+02:00"`, badDateTime},
	{"datetime", `"2024-1-1"`, badDateTime},
	{"datetime", `"Mon, 01 Jan 2024 10:00:00 GMT"`, badDateTime},
	{"datetime", `"now"`, badDateTime},
}

func TestCastTemporal(t *testing.T) {
	attrs := scalars()
	for _, c := range temporalCases {
		v, err := CastTime(attrs[c.attr], parsed(t, c.in))
		got := printed(v)
		if err != nil {
			got = err.Message
		}
		if got != c.want {
			t.Errorf("%s as a %s is %s, want %s", c.in, c.attr, got, c.want)
		}
		if err != nil && (err.Status != 400 || err.Name != "ValidationError" || err.Details != nil) {
			t.Errorf("%s as a %s is refused with %+v", c.in, c.attr, err)
		}
	}
}

func TestParseFilterTime(t *testing.T) {
	attrs := scalars()
	for _, c := range []struct{ attr, in, want string }{
		{"date", "2024-05-01", "2024-05-01"},
		{"date", "2024-05-01 and so on", "2024-05-01"},
		{"date", "2024-05", badDate},
		{"date", "2024-02-30", noSuchDay},
		{"time", "08:30:00", "08:30:00.000"},
		{"time", "08:30", badTime},
		{"datetime", "2024", "2024-01-01T00:00:00.000Z"},
		{"datetime", "20240501", "2024-05-01T00:00:00.000Z"},
		{"datetime", "1714521600000", "2024-05-01T00:00:00.000Z"},
		{"datetime", "2024-02-30", badDateTime},
	} {
		got, err := ParseFilterTime(attrs[c.attr], c.in)
		if err != nil {
			got = err.Message
		}
		if got != c.want {
			t.Errorf("%s as a %s is %s, want %s", c.in, c.attr, got, c.want)
		}
	}
}

// FuzzCastTemporal casts arbitrary texts to dates, times and datetimes. A valid result must be accepted again
// unchanged, must be the same as an operand of a filter, and a datetime in RFC 3339 must be the instant that time.Parse
// returns.
func FuzzCastTemporal(f *testing.F) {
	for _, c := range temporalCases {
		if s, ok := mustParse(c.in).(string); ok {
			f.Add(s)
		}
	}
	f.Fuzz(func(t *testing.T, s string) {
		for name, a := range scalars() {
			switch a.Type {
			case contenttypes.Date, contenttypes.Time, contenttypes.DateTime:
			default:
				continue
			}
			v, err := CastTime(a, s)
			if err != nil {
				continue
			}
			if again, err := CastTime(a, v); err != nil || again != v {
				t.Fatalf("%q as a %s is %v, which is %v, %v", s, name, v, again, err)
			}
			if filter, err := ParseFilterTime(a, s); err != nil || filter != v {
				t.Fatalf("%q as a %s is %v when written and %v, %v in a filter", s, name, v, filter, err)
			}
			if want, err := time.Parse(time.RFC3339, s); err == nil && a.Type == contenttypes.DateTime &&
				v != FormatTime(want) {
				t.Fatalf("%q is %v, want %v", s, v, FormatTime(want))
			}
		}
	})
}

func mustParse(text string) any {
	v, err := jsontree.Parse([]byte(text), jsontree.MaxDepth)
	if err != nil {
		panic(err)
	}
	return v
}
