package simulation

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
)

// An answer's object, its members in order.
type answered []member

type member struct {
	key   string
	value any
}

// An idText is an id that is printed as a text.
type idText struct{ *Given }

// A matcher compares the bytes of an answer with what is expected. What the server gives is taken from the first answer that
// shows it.
type matcher struct {
	rest []byte
	path []any
}

// match returns where raw parts from what is wanted, or "".
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
	case answered:
		return m.object(want)
	case []any:
		return m.list(want)
	case *Given:
		return m.given(want)
	case idText:
		return m.idText(want.Given)
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
	return m.text(jsonOf(want))
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

func (m *matcher) object(want answered) string {
	open := "{"
	for _, member := range want {
		m.path = append(m.path, member.key)
		if where := m.text(open + jsonOf(member.key) + ":"); where != "" {
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

// given takes the next value of the answer for what the server gave.
func (m *matcher) given(g *Given) string {
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

func (m *matcher) idText(g *Given) string {
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

// pathText writes a path as a person would.
func pathText(path []any) string {
	text := ""
	for _, step := range path {
		switch step := step.(type) {
		case string:
			text += "." + step
		case int:
			text += fmt.Sprintf("[%d]", step)
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

// legible writes what is wanted as JSON, what the server has not given yet in angle brackets.
func legible(want any) string {
	switch v := want.(type) {
	case answered:
		text := ""
		for i, m := range v {
			if i > 0 {
				text += ","
			}
			text += jsonOf(m.key) + ":" + legible(m.value)
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
		return `"` + printed(v.Given) + `"`
	case JSONText:
		return string(v)
	}
	return printed(want)
}
