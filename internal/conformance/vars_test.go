package conformance

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// Vars are the values that earlier steps saved, as decoded by encoding/json with numbers as json.Number.
type Vars map[string]any

var (
	repeatToken = regexp.MustCompile(`<repeat:(.):([0-9]+)>`)
	onlyVar     = regexp.MustCompile(`^\{\{(\w+)\}\}$`)
	anyVar      = regexp.MustCompile(`\{\{(\w+)\}\}`)
)

// value replaces the tokens <repeat:c:n> and {{var}} in a string. A string that is only {{var}} becomes the saved value
// with its type.
func (v Vars) value(s string) (any, error) {
	if strings.Contains(s, "<repeat:") {
		return repeatToken.ReplaceAllStringFunc(s, func(m string) string {
			g := repeatToken.FindStringSubmatch(m)
			n, _ := strconv.Atoi(g[2])
			return strings.Repeat(g[1], n)
		}), nil
	}
	if g := onlyVar.FindStringSubmatch(s); g != nil {
		return v.lookup(g[1])
	}
	var err error
	out := anyVar.ReplaceAllStringFunc(s, func(m string) string {
		x, e := v.lookup(m[2 : len(m)-2])
		if e != nil && err == nil {
			err = e
		}
		return text(x)
	})
	return out, err
}

// text does what value does, and converts the result to a string.
func (v Vars) text(s string) (string, error) {
	x, err := v.value(s)
	return text(x), err
}

func (v Vars) lookup(name string) (any, error) {
	x, ok := v[name]
	if !ok {
		return nil, fmt.Errorf("no value was saved as %s", name)
	}
	return x, nil
}

// text converts a value to a string as JavaScript's String() does.
func text(x any) string {
	switch x := x.(type) {
	case nil:
		return "null"
	case string:
		return x
	case json.Number:
		return x.String()
	case bool:
		return strconv.FormatBool(x)
	}
	data, _ := json.Marshal(x)
	return string(data)
}

// json replaces the tokens in the strings and keys of a JSON text. It keeps the order of keys, since the server's
// response may depend on it.
func (v Vars) json(raw json.RawMessage) ([]byte, error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var out bytes.Buffer
	if err := v.copyValue(d, &out); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

func (v Vars) copyValue(d *json.Decoder, out *bytes.Buffer) error {
	tok, err := d.Token()
	if err != nil {
		return err
	}
	delim, ok := tok.(json.Delim)
	if !ok {
		if s, isText := tok.(string); isText {
			if tok, err = v.value(s); err != nil {
				return err
			}
		}
		return encode(out, tok)
	}
	out.WriteByte(byte(delim))
	for first := true; d.More(); first = false {
		if !first {
			out.WriteByte(',')
		}
		if delim == '{' {
			key, err := d.Token()
			if err != nil {
				return err
			}
			name, err := v.text(key.(string))
			if err != nil {
				return err
			}
			if err := encode(out, name); err != nil {
				return err
			}
			out.WriteByte(':')
		}
		if err := v.copyValue(d, out); err != nil {
			return err
		}
	}
	end, err := d.Token()
	if err != nil {
		return err
	}
	out.WriteByte(byte(end.(json.Delim)))
	return nil
}

// encode appends a value as JSON without HTML escaping.
func encode(out *bytes.Buffer, v any) error {
	e := json.NewEncoder(out)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return err
	}
	out.Truncate(out.Len() - 1) // the newline
	return nil
}
