package yamlfile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// json reads JSON. The YAML library cannot read all of JSON: it lacks surrogate pairs of \u escapes, for example.
func (r *reader) json(data []byte) *Node {
	data = bytes.TrimPrefix(data, []byte("\xEF\xBB\xBF"))
	if len(bytes.TrimSpace(data)) == 0 {
		return r.node(Null, 1)
	}
	j := &jsonReader{reader: r, data: data, decoder: json.NewDecoder(bytes.NewReader(data)), line: 1}
	if err := json.Unmarshal(data, new(json.RawMessage)); err != nil {
		j.syntax(err)
		return nil
	}
	j.decoder.UseNumber()
	n, err := j.value(1)
	if err != nil {
		j.syntax(err)
	}
	return n
}

// A jsonReader reads the tokens of a JSON text and counts lines.
type jsonReader struct {
	*reader
	data    []byte
	decoder *json.Decoder
	line    int // the line of offset
	offset  int64
}

// position returns the line of the last token that was read.
func (j *jsonReader) position() int {
	return j.lineAt(j.decoder.InputOffset())
}

// lineAt returns the line of an offset. It counts onwards from the previous offset, since offsets mostly grow.
func (j *jsonReader) lineAt(offset int64) int {
	offset = min(offset, int64(len(j.data)))
	if offset < j.offset {
		return 1 + bytes.Count(j.data[:offset], []byte("\n"))
	}
	j.line += bytes.Count(j.data[j.offset:offset], []byte("\n"))
	j.offset = offset
	return j.line
}

func (j *jsonReader) syntax(err error) {
	line := j.position()
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		line = j.lineAt(max(syntax.Offset-1, 0))
	}
	j.problem(line, "not valid JSON: "+strings.TrimPrefix(err.Error(), "json: "))
}

// value reads the next value.
func (j *jsonReader) value(depth int) (*Node, error) {
	token, err := j.decoder.Token()
	if err != nil {
		return nil, err
	}
	line := j.position()
	if !j.enter(line, depth) {
		return j.node(Null, line), nil
	}
	switch t := token.(type) {
	case json.Delim:
		if t == '{' {
			return j.object(line, depth)
		}
		return j.array(line, depth)
	case string:
		return j.scalar(t, false, line), nil
	case json.Number:
		return j.scalar(t.String(), true, line), nil
	case bool:
		return j.scalar(fmt.Sprint(t), true, line), nil
	}
	return j.node(Null, line), nil
}

func (j *jsonReader) array(line, depth int) (*Node, error) {
	n := j.node(List, line)
	for j.decoder.More() {
		item, err := j.value(depth + 1)
		if err != nil || j.over {
			return n, err
		}
		n.Items = append(n.Items, item)
	}
	_, err := j.decoder.Token()
	return n, err
}

func (j *jsonReader) object(line, depth int) (*Node, error) {
	n := j.node(Map, line)
	lines := map[string]int{}
	for j.decoder.More() {
		token, err := j.decoder.Token()
		if err != nil {
			return n, err
		}
		key, at := fmt.Sprint(token), j.position()
		value, err := j.value(depth + 1)
		if err != nil || j.over {
			return n, err
		}
		if first, twice := lines[key]; twice {
			j.problem(at, fmt.Sprintf("key %q is here a second time (first in line %d); keep one of them", key, first))
			continue
		}
		lines[key] = at
		n.Entries = append(n.Entries, Entry{Key: key, Line: at, Value: value})
	}
	_, err := j.decoder.Token()
	return n, err
}
