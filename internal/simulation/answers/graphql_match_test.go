package answers

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"

	"lectern/internal/simulation/program"
)

// An orderedObject is an object in an expected response, with its members in order.
type orderedObject []member

type member struct {
	key   string
	value any
}

// An idText is an id that GraphQL prints as a text.
type idText struct{ *Generated }

// A matcher compares the bytes of a response with the expected value. It takes generated values from the first response
// that shows them.
type matcher struct {
	rest []byte
	path []any
}

// match returns the first difference between the expected value and raw, or "".
func match(want any, raw []byte) string {
	m := &matcher{rest: raw}
	if where := m.value(want); where != "" {
		return where
	}
	if len(m.rest) > 0 {
		return "behind the end: " + short(m.rest)
	}
	return ""
}

func (m *matcher) value(want any) string {
	switch want := want.(type) {
	case orderedObject:
		return m.object(want)
	case []any:
		return m.list(want)
	case *Generated:
		return m.generated(want)
	case idText:
		return m.idText(want.Generated)
	case JSONText:
		return m.text(string(want))
	case int64:
		if want > 9007199254740991 || want < -9007199254740991 {
			return m.text(`"` + strconv.FormatInt(want, 10) + `"`)
		}
		return m.text(strconv.FormatInt(want, 10))
	case float64:
		return m.text(strconv.FormatFloat(want, 'f', -1, 64))
	}
	return m.text(program.JSON(want))
}

func (m *matcher) text(want string) string {
	rest, ok := bytes.CutPrefix(m.rest, []byte(want))
	if !ok {
		return m.parts(want)
	}
	m.rest = rest
	return ""
}

func (m *matcher) parts(want string) string {
	return fmt.Sprintf("%s: wanted %s, got %s", pathText(m.path), want, short(m.rest))
}

func (m *matcher) object(want orderedObject) string {
	open := "{"
	for _, member := range want {
		m.path = append(m.path, member.key)
		if where := m.text(open + program.JSON(member.key) + ":"); where != "" {
			return where
		}
		if where := m.value(member.value); where != "" {
			return where
		}
		m.path = m.path[:len(m.path)-1]
		open = ","
	}
	if len(want) == 0 {
		return m.text("{}")
	}
	return m.text("}")
}

func (m *matcher) list(want []any) string {
	open := "["
	for i, x := range want {
		m.path = append(m.path, i)
		if where := m.text(open); where != "" {
			return where
		}
		if where := m.value(x); where != "" {
			return where
		}
		m.path = m.path[:len(m.path)-1]
		open = ","
	}
	if len(want) == 0 {
		return m.text("[]")
	}
	return m.text("]")
}

// generated reads the next value of the response and compares it with a generated value.
func (m *matcher) generated(g *Generated) string {
	d := json.NewDecoder(bytes.NewReader(m.rest))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return m.parts("<" + g.Kind + ">")
	}
	where := g.meet(pathText(m.path), v)
	if where == "" {
		m.rest = m.rest[d.InputOffset():]
	}
	return where
}

func (m *matcher) idText(g *Generated) string {
	end := bytes.IndexByte(m.rest[min(1, len(m.rest)):], '"') + 1
	if end <= 1 || m.rest[0] != '"' {
		return m.parts("<id>")
	}
	where := g.meet(pathText(m.path), json.Number(m.rest[1:end]))
	if where == "" {
		m.rest = m.rest[end+1:]
	}
	return where
}

// pathText formats a path for a message.
func pathText(path []any) string {
	text := ""
	for _, element := range path {
		switch element := element.(type) {
		case string:
			text += "." + element
		case int:
			text += fmt.Sprintf("[%d]", element)
		}
	}
	return text
}

func short(raw []byte) string {
	if len(raw) > 120 {
		return string(raw[:120]) + "…"
	}
	return string(raw)
}

// legible returns an expected value as JSON. Generated values that are not known yet are in angle brackets.
func legible(want any) string {
	switch v := want.(type) {
	case orderedObject:
		text := ""
		for i, m := range v {
			if i > 0 {
				text += ","
			}
			text += program.JSON(m.key) + ":" + legible(m.value)
		}
		return "{" + text + "}"
	case []any:
		text := ""
		for i, x := range v {
			if i > 0 {
				text += ","
			}
			text += legible(x)
		}
		return "[" + text + "]"
	case idText:
		return `"` + printed(v.Generated) + `"`
	case JSONText:
		return string(v)
	}
	return printed(want)
}
