package conformance

import (
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"sort"
	"strings"
)

// A Diff is one difference between a response and the expected one.
type Diff struct {
	At   string // a path such as body.data[0].name
	Why  string
	Want any
	Got  any
}

func (d Diff) String() string {
	return fmt.Sprintf("%s: %s · want %s · got %s", d.At, d.Why, brief(d.Want), brief(d.Got))
}

func brief(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	if len(data) > 300 {
		return string(data[:300]) + "…"
	}
	return string(data)
}

var (
	wordsPath = regexp.MustCompile(
		`\.error\.(message|details)|\.errors\[[0-9]+\]\.(message|locations|extensions\.(error|exception|http))|\.errors: want`)
	countWords = regexp.MustCompile(`want [0-9]+ items`)
)

// Words reports whether only the wording of an error differs: its message, details, or locations in a GraphQL query.
// Its status, name, code and path are not wording.
func (d Diff) Words() bool {
	return wordsPath.MatchString(d.At) || d.At == "body.errors" && countWords.MatchString(d.Why)
}

var (
	docPattern  = regexp.MustCompile(`^[a-z0-9]{24}$`)
	timePattern = regexp.MustCompile(`^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}Z$`)
	jwtPattern  = regexp.MustCompile(`^[\w-]+\.[\w-]+\.[\w-]+$`)
	digits      = regexp.MustCompile(`^[0-9]+$`)

	docToken      = regexp.MustCompile(`<doc:[0-9]+>`)
	wholeDocToken = regexp.MustCompile(`^<doc:[0-9]+>$`)
	uploadToken   = regexp.MustCompile(`^<upload:(.*?)(\.\w+)?>$`)
)

// tokens are the placeholders in expected responses, each of which matches any value of a kind.
var tokens = map[string]struct {
	want string
	ok   func(any) bool
}{
	"<any>":    {"anything", func(any) bool { return true }},
	"<int>":    {"want an integer", isInteger},
	"<number>": {"want a number", func(v any) bool { _, ok := v.(json.Number); return ok }},
	"<string>": {"want a string", func(v any) bool { _, ok := v.(string); return ok }},
	"<intstr>": {"want an integer as a string", like(digits)},
	"<time>":   {"want an ISO 8601 time with milliseconds, in UTC", like(timePattern)},
	"<jwt>":    {"want a JWT", like(jwtPattern)},
}

func like(re *regexp.Regexp) func(any) bool {
	return func(v any) bool { s, ok := v.(string); return ok && re.MatchString(s) }
}

func isInteger(v any) bool {
	n, ok := v.(json.Number)
	if !ok {
		return false
	}
	f, err := n.Float64()
	return err == nil && f == math.Trunc(f)
}

// A Matcher compares the responses to the steps of one suite. It remembers the documentId that each <doc:N> matched,
// and the values that steps saved.
type Matcher struct {
	Vars Vars
	docs map[string]string // from token to documentId
	used map[string]bool   // documentIds that a token has matched
}

// NewMatcher returns a matcher for the beginning of a suite.
func NewMatcher() *Matcher {
	return &Matcher{Vars: Vars{}, docs: map[string]string{}, used: map[string]bool{}}
}

// Save stores the values that a step saves from its response.
func (m *Matcher) Save(save map[string]string, body any) error {
	names := make([]string, 0, len(save))
	for name := range save {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		v := dig(body, save[name])
		if v == nil {
			return fmt.Errorf("nothing at %s to save as %s", save[name], name)
		}
		m.Vars[name] = v
	}
	return nil
}

// dig returns the value at a dotted path; numbers are indexes of arrays.
func dig(v any, path string) any {
	for _, key := range strings.Split(path, ".") {
		switch x := v.(type) {
		case map[string]any:
			v = x[key]
		case []any:
			i := -1
			if _, err := fmt.Sscanf(key, "%d", &i); err != nil || i < 0 || i >= len(x) {
				return nil
			}
			v = x[i]
		default:
			return nil
		}
	}
	return v
}

// Match returns the differences between a response and a step's expected one.
func (m *Matcher) Match(e *Expect, a *Answer) ([]Diff, error) {
	c := &comparison{Matcher: m}
	if e.Status != a.Status {
		c.bad("status", "differs", e.Status, a.Status)
	}
	if e.Headers != nil {
		want, err := decode(e.Headers)
		if err != nil {
			return nil, err
		}
		c.match("headers", want, a.Headers)
	}
	if e.Cookies != nil {
		want, err := decode(e.Cookies)
		if err != nil {
			return nil, err
		}
		c.match("cookies", want, a.Cookies)
	}
	want, err := decode(e.Body)
	if err != nil {
		return nil, err
	}
	c.match("body", want, a.Body)
	return c.diffs, nil
}

type comparison struct {
	*Matcher
	diffs []Diff
}

func (c *comparison) bad(at, why string, want, got any) {
	c.diffs = append(c.diffs, Diff{at, why, want, got})
}

func (c *comparison) match(at string, want, got any) {
	switch want := want.(type) {
	case string:
		c.matchText(at, want, got)
	case []any:
		c.matchArray(at, want, got)
	case map[string]any:
		c.matchObject(at, want, got)
	default:
		if !same(want, got) {
			c.bad(at, "differs", want, got)
		}
	}
}

func (c *comparison) matchArray(at string, want []any, got any) {
	items, ok := got.([]any)
	if !ok {
		c.bad(at, "want an array", want, got)
		return
	}
	if len(items) != len(want) {
		c.bad(at, fmt.Sprintf("want %d items, got %d", len(want), len(items)), want, got)
		return
	}
	for i := range want {
		c.match(fmt.Sprintf("%s[%d]", at, i), want[i], items[i])
	}
}

func (c *comparison) matchObject(at string, want map[string]any, got any) {
	object, ok := got.(map[string]any)
	if !ok {
		c.bad(at, "want an object", want, got)
		return
	}
	for _, key := range unionOfKeys(want, object) {
		w, wanted := want[key]
		g, there := object[key]
		switch {
		case key == "stacktrace":
		case !wanted:
			c.bad(at+"."+key, "not in the reference answer", nil, g)
		case !there:
			c.bad(at+"."+key, "missing", w, nil)
		default:
			c.match(at+"."+key, w, g)
		}
	}
}

func unionOfKeys(a, b map[string]any) []string {
	var keys []string
	for key := range a {
		keys = append(keys, key)
	}
	for key := range b {
		if _, both := a[key]; !both {
			keys = append(keys, key)
		}
	}
	sort.Strings(keys)
	return keys
}

func (c *comparison) matchText(at, want string, got any) {
	if token, ok := tokens[want]; ok {
		if !token.ok(got) {
			c.bad(at, token.want, want, got)
		}
		return
	}
	if g := uploadToken.FindStringSubmatch(want); g != nil {
		if s, ok := got.(string); !ok || !strings.HasPrefix(s, "/uploads/") || !strings.HasSuffix(s, g[2]) {
			c.bad(at, "want an upload url", want, got)
		}
		return
	}
	if docToken.MatchString(want) {
		c.matchDoc(at, want, got)
		return
	}
	var filled any = want
	if anyVar.MatchString(want) {
		var err error
		if filled, err = c.Vars.value(want); err != nil {
			c.bad(at, err.Error(), want, got)
			return
		}
	}
	if !same(filled, got) {
		c.bad(at, "differs", filled, got)
	}
}

// matchDoc compares a text that contains <doc:N>. A value that is only the token must be the same documentId throughout
// the suite; within other text the token matches any documentId.
func (c *comparison) matchDoc(at, want string, got any) {
	s, isText := got.(string)
	if !wholeDocToken.MatchString(want) {
		pattern := docToken.ReplaceAllString(regexp.QuoteMeta(want), "[a-z0-9]{24}")
		if !isText || !regexp.MustCompile("^"+pattern+"$").MatchString(s) {
			c.bad(at, "differs", want, got)
		}
		return
	}
	if !isText || !docPattern.MatchString(s) {
		c.bad(at, "want a documentId of 24 characters a-z0-9", want, got)
		return
	}
	known, seen := c.docs[want]
	if seen && known != s || !seen && c.used[s] {
		c.bad(at, "names another document", want, got)
		return
	}
	c.docs[want] = s
	c.used[s] = true
}

// same compares two scalars; it compares numbers by value.
func same(want, got any) bool {
	a, ok := want.(json.Number)
	if !ok {
		switch want.(type) {
		case nil, bool, string:
			return want == got
		}
		return false
	}
	b, ok := got.(json.Number)
	if !ok {
		return false
	}
	x, errX := a.Float64()
	y, errY := b.Float64()
	return (errX == nil) == (errY == nil) && x == y && math.Signbit(x) == math.Signbit(y)
}
