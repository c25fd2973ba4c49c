package contenttypes

import (
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"

	"lectern/internal/spelling"
	"lectern/internal/yamlfile"
	"lectern/jsontree"
)

// defaultValue reads the default of an attribute. The attribute must accept the value, which is kept in the form that
// responses use.
func (l *loader) defaultValue(a *attributeDefinition) {
	n := a.file.Default
	if n.IsNull() || !keyTypes["default"].has(a.attr.Type) {
		return
	}
	a.attr.HasDefault = true
	value, problem := castDefault(a.attr, n)
	if problem != "" {
		l.report(n.Problem("default %s", problem))
		return
	}
	a.attr.Default = value
}

// castDefault converts a default to the type of its attribute. problem says what is wrong with it and is empty when
// nothing is.
func castDefault(a *Attribute, n *yamlfile.Node) (value any, problem string) {
	switch {
	case texts.has(a.Type) || a.Type == Enumeration:
		return textDefault(a, n)
	case numbers.has(a.Type):
		return numberDefault(a, n)
	case a.Type == Boolean:
		if b, ok := n.AsBool(); ok {
			return b, ""
		}
		return nil, "must be true or false, not " + n.Describe()
	case a.Type == Date:
		return timeDefault(n, "2006-01-02", "a day such as 2026-01-31", "2006-01-02")
	case a.Type == Time:
		return timeDefault(n, "15:04:05.000", "a time such as 09:30:00", "15:04:05")
	case a.Type == DateTime:
		return dateTimeDefault(n)
	case a.Type == Blocks && n.Kind != yamlfile.List:
		return nil, "must be a list of blocks, not " + n.Describe()
	}
	return jsonValue(n)
}

var emailValue = regexp.MustCompile(`^[^\s@.]+(\.[^\s@.]+)*@[^\s@.]+(\.[^\s@.]+)*\.\pL{2,}$`)

func textDefault(a *Attribute, n *yamlfile.Node) (any, string) {
	s, ok := n.AsText()
	if !ok {
		if n.Kind < yamlfile.List {
			return nil, fmt.Sprintf("must be a text, not %s; put it in quotes: %q", n.Describe(), n.Text)
		}
		return nil, "must be a text, not " + n.Describe()
	}
	length := len(utf16.Encode([]rune(s)))
	most, bounded := a.LengthLimit()
	switch {
	case a.Type == Enumeration && !slices.Contains(a.Enum, s):
		return nil, fmt.Sprintf("%q is not in enum; %s", s, spelling.Suggest(s, a.Enum))
	case a.MinLength != nil && length < *a.MinLength:
		return nil, fmt.Sprintf("has %d characters, but minLength is %d", length, *a.MinLength)
	case a.MaxLength != nil && length > *a.MaxLength:
		return nil, fmt.Sprintf("has %d characters, but maxLength is %d", length, *a.MaxLength)
	case a.MaxLength == nil && bounded && length > most:
		return nil, fmt.Sprintf("has %d characters, but a %s may have %d; use type text, or set maxLength", length,
			a.Type, most)
	case a.Regex != nil && s != "" && !a.Regex.MatchString(s):
		return nil, fmt.Sprintf("%q does not match regex %s", s, a.RegexSource)
	case a.Type == UID && !uidPattern.MatchString(s):
		return nil, fmt.Sprintf("%q may hold letters, digits and - _ . ~ alone", s)
	case a.Type == Email && !emailValue.MatchString(s):
		return nil, fmt.Sprintf("%q is no email address", s)
	}
	return s, ""
}

func numberDefault(a *Attribute, n *yamlfile.Node) (any, string) {
	integer := a.Type == Integer || a.Type == BigInteger
	if a.Type == BigInteger {
		n = n.Unquoted()
	}
	f, ok := n.AsFloat()
	switch {
	case integer && (!ok || f != math.Trunc(f)):
		return nil, "must be a whole number, not " + n.Describe()
	case !ok:
		return nil, "must be a number, not " + n.Describe()
	case a.Min != nil && f < *a.Min:
		return nil, fmt.Sprintf("%s is less than min %s", n.Text, formatFloat(*a.Min))
	case a.Max != nil && f > *a.Max:
		return nil, fmt.Sprintf("%s is greater than max %s", n.Text, formatFloat(*a.Max))
	}
	if a.Type == Integer && math.Abs(f) > jsontree.MaxSafeInteger {
		return nil, n.Text + " is beyond what an integer holds exactly; use type biginteger"
	}
	if a.Type == BigInteger {
		i, ok := n.AsInt(64)
		if !ok {
			return nil, n.Text + " does not fit into 64 bits"
		}
		return strconv.FormatInt(i, 10), ""
	}
	return numberText(n.Text), ""
}

func formatFloat(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }

// numberText converts a YAML number to JSON syntax.
func numberText(s string) jsontree.Number {
	s = strings.TrimPrefix(s, "+")
	if json.Valid([]byte(s)) {
		return jsontree.Number(s)
	}
	if i, ok := new(big.Int).SetString(s, 0); ok {
		return jsontree.Number(i.String())
	}
	f, _ := strconv.ParseFloat(s, 64)
	return jsontree.Number(strconv.FormatFloat(f, 'g', -1, 64))
}

// timeDefault parses a date or time in one of the layouts and formats it as responses do.
func timeDefault(n *yamlfile.Node, answer, want string, layouts ...string) (any, string) {
	if n.Kind == yamlfile.Text {
		for _, layout := range layouts {
			if t, err := time.Parse(layout, n.Text); err == nil {
				return t.UTC().Format(answer), ""
			}
		}
	}
	return nil, "must be " + want + ", not " + n.Describe()
}

func dateTimeDefault(n *yamlfile.Node) (any, string) {
	if ms, ok := n.AsInt(64); ok && ms > -1<<53 && ms < 1<<53 {
		return time.UnixMilli(ms).UTC().Format(TimeFormat), ""
	}
	return timeDefault(n, TimeFormat, "a time such as 2026-01-31T09:30:00.000Z",
		time.RFC3339, "2006-01-02 15:04:05Z07:00", "2006-01-02T15:04:05", "2006-01-02 15:04:05",
		"2006-01-02T15:04Z07:00", "2006-01-02T15:04", "2006-01-02")
}

// jsonValue converts a node to a jsontree value.
func jsonValue(n *yamlfile.Node) (value any, problem string) {
	switch n.Kind {
	case yamlfile.Null:
		return nil, ""
	case yamlfile.Bool:
		b, _ := n.AsBool()
		return b, ""
	case yamlfile.Text:
		return n.Text, ""
	case yamlfile.List:
		list := make([]any, len(n.Items))
		for i, item := range n.Items {
			if list[i], problem = jsonValue(item); problem != "" {
				return nil, problem
			}
		}
		return list, ""
	case yamlfile.Map:
		object := jsontree.NewObject()
		for _, e := range n.Entries {
			item, problem := jsonValue(e.Value)
			if problem != "" {
				return nil, problem
			}
			object.Set(e.Key, item)
		}
		return object, ""
	}
	if _, ok := n.AsFloat(); !ok {
		return nil, "holds " + n.Text + ", which JSON has no number for"
	}
	return numberText(n.Text), ""
}
