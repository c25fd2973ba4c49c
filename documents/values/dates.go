package values

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"lectern/contenttypes"
	"lectern/documents/apierror"
	"lectern/jsontree"
)

// These are the messages for dates and times that cannot be parsed. The first such error is the only one in an answer;
// its details are empty.
const (
	badDate     = "Invalid format, expected yyyy-MM-dd"
	noSuchDay   = "Invalid date"
	badTime     = "Invalid time format, expected HH:mm:ss.SSS"
	badDateTime = "Invalid format, expected a timestamp or an ISO date"
)

// CastTime parses the value of a date, time or datetime attribute and returns the text to store: yyyy-MM-dd,
// HH:mm:ss.SSS, or UTC with milliseconds and Z. It returns nil for nil.
func CastTime(a *contenttypes.Attribute, v any) (any, *apierror.Error) {
	if v == nil {
		return nil, nil
	}
	s, isString := v.(string)
	var text, says string
	switch a.Type {
	case contenttypes.Date:
		text, says = readDate(s)
		if says == "" && !isTimeOfDay(s[len(text):]) {
			says = badDate
		}
	case contenttypes.Time:
		if !isString {
			return nil, apierror.Validation("Expected a string, got a " + typeOf(v))
		}
		text, says = readTime(s)
	default:
		t, ok := time.Time{}, false
		switch v := v.(type) {
		case string:
			t, ok = ParseTime(v)
		case jsontree.Number:
			t, ok = unixMilli(v.Float())
		}
		if text = FormatTime(t); !ok {
			says = badDateTime
		}
	}
	if says != "" {
		return nil, apierror.Validation(says)
	}
	return text, nil
}

// ParseFilterTime parses the operand of a filter on a date, time or datetime attribute and returns it in the stored
// form. It ignores everything after a date.
func ParseFilterTime(a *contenttypes.Attribute, s string) (string, *apierror.Error) {
	if a.Type == contenttypes.Date {
		date, says := readDate(s)
		if says != "" {
			return "", apierror.Validation(says)
		}
		return date, nil
	}
	stored, err := CastTime(a, s)
	text, _ := stored.(string)
	return text, err
}

// typeOf returns the type of a value as JavaScript's typeof names it. The value must not be null.
func typeOf(v any) string {
	switch v.(type) {
	case string:
		return "string"
	case bool:
		return "boolean"
	case jsontree.Number:
		return "number"
	}
	return "object"
}

// readDate parses the date (yyyy-MM-dd) at the beginning of s. says is the error message, or "" if there is no error.
func readDate(s string) (date, says string) {
	const form = "yyyy-MM-dd"
	if len(s) < len(form) {
		return "", badDate
	}
	date = s[:len(form)]
	r := reader{date}
	year := r.digits(4)
	r.pass("-")
	month := r.digits(2)
	r.pass("-")
	day := r.digits(2)
	if r.failed() || month < 1 || month > 12 || day < 1 || day > 31 {
		return "", badDate
	}
	if _, ok := dateOf(year, month, day); !ok {
		return "", noSuchDay
	}
	return date, ""
}

// readTime parses a time (HH:mm:ss) with up to three decimals and returns it with exactly three.
func readTime(s string) (text, says string) {
	r := reader{s}
	hour := r.digits(2)
	r.pass(":")
	minute := r.digits(2)
	r.pass(":")
	second := r.digits(2)
	decimals := ""
	if r.s != "" {
		r.pass(".")
		decimals = r.s
	}
	if r.failed() || hour > 23 || minute > 59 || second > 59 || len(decimals) > 3 ||
		len(s) > len("HH:mm:ss") && !isDigits(decimals) {
		return "", badTime
	}
	return s[:len("HH:mm:ss")] + "." + decimals + "000"[len(decimals):], ""
}

// isTimeOfDay reports whether s, the text after a date, is empty or a time with or without a zone.
func isTimeOfDay(s string) bool {
	_, ok := parseTimeOfDay(s)
	return ok
}

// maxMillis is the maximum distance of a time from 1970 in milliseconds, as in JavaScript.
const maxMillis = 8.64e15

func unixMilli(f float64) (time.Time, bool) {
	if f != math.Trunc(f) || math.Abs(f) > maxMillis {
		return time.Time{}, false
	}
	return time.UnixMilli(int64(f)).UTC(), true
}

// ParseTime parses an ISO 8601 date, with or without a time, or a number of milliseconds since 1970. The date may have
// the extended or basic form, and is in UTC unless it has a zone. A number of 4 (a year), 6, 7 or 8 digits is a date in
// the basic form; all other numbers are milliseconds.
func ParseTime(s string) (time.Time, bool) {
	if t, ok := parseISO(s); ok {
		return t, true
	}
	if !isDigits(strings.TrimPrefix(s, "-")) {
		return time.Time{}, false
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return time.Time{}, false
	}
	return unixMilli(f)
}

// FormatTime returns a time in UTC with milliseconds. A year of more than four digits gets a sign and six digits.
func FormatTime(t time.Time) string {
	t = t.UTC()
	if year := t.Year(); year < 0 || year > 9999 {
		return fmt.Sprintf("%+07d", year) + t.Format("-01-02T15:04:05.000Z")
	}
	return t.Format(contenttypes.TimeFormat)
}

func parseISO(s string) (time.Time, bool) {
	end := strings.IndexAny(s, "T Z")
	if end < 0 {
		end = len(s)
	}
	day, ok := parseDay(s[:end])
	if !ok {
		return time.Time{}, false
	}
	since, ok := parseTimeOfDay(s[end:])
	t := day.Add(since)
	if millis := t.UnixMilli(); !ok || millis > maxMillis || millis < -maxMillis {
		return time.Time{}, false
	}
	return t, true
}

// parseDay parses a year with an optional month and day, day of the year, or week and weekday. The first month, day,
// week or weekday is the default of an absent part.
func parseDay(s string) (time.Time, bool) {
	r := reader{s}
	var year int
	if strings.HasPrefix(s, "+") || strings.HasPrefix(s, "-") && !isDigits(s[1:]) { // -1000 is a number of milliseconds
		negative := s[0] == '-'
		r.s = s[1:]
		if year = r.digits(6); negative {
			year = -year
		}
	} else {
		year = r.digits(4)
	}
	if r.failed() || r.s == "" {
		return dateIf(!r.failed(), year, 1, 1)
	}
	r.skip("-")
	switch {
	case strings.HasPrefix(r.s, "W"):
		r.pass("W")
		week, weekday := r.digits(2), 1
		if r.s != "" {
			r.skip("-")
			weekday = r.digits(1)
		}
		return weekDate(r.done(), year, week, weekday)
	case len(r.s) == 3:
		t, ok := dateIf(true, year, 1, 1)
		t = t.AddDate(0, 0, r.digits(3)-1)
		return t, ok && r.done() && t.Year() == year
	}
	month, day := r.digits(2), 1
	if r.s != "" {
		r.skip("-")
		day = r.digits(2)
	}
	return dateIf(r.done(), year, month, day)
}

// dateOf returns the beginning of a day; ok is false if there is no such day.
func dateOf(year, month, day int) (time.Time, bool) {
	t := time.Date(year, time.Month(month), day, 0, 0, 0, 0, time.UTC)
	return t, t.Month() == time.Month(month) && t.Day() == day
}

func dateIf(ok bool, year, month, day int) (time.Time, bool) {
	t, exists := dateOf(year, month, day)
	return t, ok && exists
}

// weekDate returns a day of an ISO 8601 week. The first week of a year is the one with January 4.
func weekDate(ok bool, year, week, weekday int) (time.Time, bool) {
	fourth := time.Date(year, time.January, 4, 0, 0, 0, 0, time.UTC)
	monday := fourth.AddDate(0, 0, -(int(fourth.Weekday())+6)%7)
	t := monday.AddDate(0, 0, (week-1)*7+weekday-1)
	y, w := t.ISOWeek()
	return t, ok && weekday >= 1 && weekday <= 7 && y == year && w == week
}

// parseTimeOfDay parses the text after a date and returns the duration to add to the date. The text is empty, Z, or a T
// or blank followed by a time, which may be empty, and a zone.
func parseTimeOfDay(s string) (time.Duration, bool) {
	if s == "" || s == "Z" {
		return 0, true
	}
	if s[0] != 'T' && s[0] != ' ' {
		return 0, false
	}
	clock, zone := s[1:], ""
	if i := strings.IndexAny(clock, "Z+-"); i >= 0 {
		clock, zone = clock[:i], clock[i:]
	}
	since, ok := parseClock(clock)
	offset, zoneOK := parseZone(zone)
	return since - offset, ok && zoneOK
}

// parseClock parses hours, minutes and seconds; the last of them may have decimals. 24:00:00 is the end of a day.
func parseClock(s string) (time.Duration, bool) {
	r := reader{s}
	var since time.Duration
	for i, unit := range []time.Duration{time.Hour, time.Minute, time.Second} {
		if r.s == "" {
			break
		}
		if i > 0 {
			r.skip(":")
		}
		n := r.digits(2)
		if i > 0 && n > 59 {
			return 0, false
		}
		since += time.Duration(n) * unit
		if strings.HasPrefix(r.s, ".") || strings.HasPrefix(r.s, ",") {
			since += r.decimals(unit)
			break
		}
	}
	return since, r.done() && since <= 24*time.Hour
}

func parseZone(s string) (time.Duration, bool) {
	if s == "" || s == "Z" {
		return 0, true
	}
	r := reader{s[1:]}
	hours, minutes := r.digits(2), 0
	if r.s != "" {
		r.skip(":")
		minutes = r.digits(2)
	}
	offset := time.Duration(hours)*time.Hour + time.Duration(minutes)*time.Minute
	if s[0] == '-' {
		offset = -offset
	}
	return offset, r.done() && s[0] != 'Z' && hours < 24 && minutes < 60
}

// A reader consumes expected parts from the beginning of a text. If a part is missing, the reader fails, and so do all
// further reads.
type reader struct{ s string }

// failure replaces the text of a reader that has failed. No part matches it.
const failure = "\x00"

func (r *reader) failed() bool { return r.s == failure }
func (r *reader) done() bool   { return r.s == "" }

// digits consumes exactly n digits and returns the number that they make.
func (r *reader) digits(n int) int {
	if len(r.s) < n || !isDigits(r.s[:n]) {
		r.s = failure
		return 0
	}
	i, _ := strconv.Atoi(r.s[:n])
	r.s = r.s[n:]
	return i
}

// pass consumes a word. The reader fails if the word does not come next.
func (r *reader) pass(word string) {
	rest, ok := strings.CutPrefix(r.s, word)
	if !ok {
		rest = failure
	}
	r.s = rest
}

// skip consumes a word if it comes next.
func (r *reader) skip(word string) { r.s = strings.TrimPrefix(r.s, word) }

// decimals consumes a point or comma and all digits after it. It returns that fraction of a unit, cut to milliseconds.
func (r *reader) decimals(unit time.Duration) time.Duration {
	s := r.s[1:]
	r.s = strings.TrimLeft(s, "0123456789")
	s = s[:len(s)-len(r.s)]
	part, scale := int64(0), int64(1)
	for i := 0; i < len(s) && i < 9; i++ {
		part, scale = part*10+int64(s[i]-'0'), scale*10
	}
	return time.Duration(unit.Milliseconds()*part/scale) * time.Millisecond
}
