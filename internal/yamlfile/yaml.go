package yamlfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"
)

// yaml reads YAML. Only this file uses the YAML library.
func (r *reader) yaml(data []byte) *Node {
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	doc, err := decodeYAML(decoder)
	switch {
	case errors.Is(err, io.EOF): // the file has only comments
		return r.node(Null, 1)
	case err != nil:
		r.syntax(data, err)
		return nil
	}
	root := r.fromYAML(doc.Content[0], 1, nil)
	if more, err := decodeYAML(decoder); err == nil {
		r.problem(more.Line, "a second YAML document begins here; a file holds one, so take the --- away")
	} else if !errors.Is(err, io.EOF) {
		r.syntax(data, err)
	}
	return root
}

// decodeYAML reads the next document. It returns a panic of the library as an error.
func decodeYAML(d *yaml.Decoder) (doc *yaml.Node, err error) {
	defer func() {
		if recover() != nil {
			err = errors.New("the text cannot be read as YAML")
		}
	}()
	doc = new(yaml.Node)
	if err := d.Decode(doc); err != nil {
		return nil, err
	}
	if len(doc.Content) == 0 {
		return nil, io.EOF
	}
	return doc, nil
}

// syntax reports an error of the library at the line that the error mentions.
func (r *reader) syntax(data []byte, err error) {
	message, line := strings.TrimPrefix(err.Error(), "yaml: "), 1
	if rest, ok := strings.CutPrefix(message, "line "); ok {
		if number, text, ok := strings.Cut(rest, ": "); ok {
			if n, err := strconv.Atoi(number); err == nil {
				line, message = n, text
			}
		}
		if strings.HasPrefix(message, "did not find expected ") {
			line++ // the library counts lines from 0 in these messages
		}
	}
	if name, ok := strings.CutPrefix(message, "unknown anchor '"); ok {
		name, _, _ = strings.Cut(name, "'")
		if i := bytes.Index(data, []byte("*"+name)); i >= 0 {
			line = 1 + bytes.Count(data[:i], []byte("\n"))
		}
		r.problem(line, fmt.Sprintf("alias *%s has no anchor &%s before it; a value that begins with * needs quotes",
			name, name))
		return
	}
	r.problem(line, "not valid YAML: "+message+yamlHint(message))
}

// yamlHint returns the usual cause of an error of the YAML library, to append to the message.
func yamlHint(message string) string {
	switch {
	case strings.HasPrefix(message, "found character that cannot start any token"):
		return "; indent with blanks, not tabs, and put values that begin with @, ` or % in quotes"
	case strings.HasPrefix(message, "mapping values are not allowed"):
		return "; put a value with a colon in quotes, and check the indentation"
	case strings.HasPrefix(message, "did not find expected"), strings.HasPrefix(message, "could not find expected"):
		return "; check indentation, brackets and quotes"
	}
	return ""
}

// fromYAML converts a node of the library. open holds the anchored nodes that contain it, to detect an alias inside its
// own anchor.
func (r *reader) fromYAML(y *yaml.Node, depth int, open []*yaml.Node) *Node {
	if !r.enter(y.Line, depth) {
		return r.node(Null, y.Line)
	}
	if y.Style&yaml.TaggedStyle != 0 && !knownTag(y) {
		r.problem(y.Line, fmt.Sprintf("tag %s is not supported; take it away", y.Tag))
		return r.node(Null, y.Line)
	}
	switch y.Kind {
	case yaml.AliasNode:
		if slices.Contains(open, y.Alias) {
			r.problem(y.Line, fmt.Sprintf("alias *%s stands inside its own anchor; an anchor cannot hold itself",
				y.Value))
			return r.node(Null, y.Line)
		}
		return r.fromYAML(y.Alias, depth, open)
	case yaml.SequenceNode:
		n := r.node(List, y.Line)
		open = anchored(y, open)
		for _, item := range y.Content {
			n.Items = append(n.Items, r.fromYAML(item, depth+1, open))
			if r.over {
				break
			}
		}
		return n
	case yaml.MappingNode:
		return r.mapping(y, depth, anchored(y, open))
	}
	plain := y.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle) == 0
	if y.Style&yaml.TaggedStyle != 0 {
		plain = y.ShortTag() != "!!str"
	}
	return r.scalar(y.Value, plain, y.Line)
}

// anchored returns open, with y added if y has an anchor.
func anchored(y *yaml.Node, open []*yaml.Node) []*yaml.Node {
	if y.Anchor == "" {
		return open
	}
	return append(slices.Clip(open), y)
}

// knownTag reports whether an explicit tag is one of YAML's basic types and fits the node.
func knownTag(y *yaml.Node) bool {
	switch y.ShortTag() {
	case "!!str", "!!int", "!!float", "!!bool", "!!null":
		return y.Kind == yaml.ScalarNode
	case "!!seq":
		return y.Kind == yaml.SequenceNode
	case "!!map":
		return y.Kind == yaml.MappingNode
	}
	return false
}

// mapping converts a mapping: first its own keys, then those that merge keys (<<) add.
func (r *reader) mapping(y *yaml.Node, depth int, open []*yaml.Node) *Node {
	n := r.node(Map, y.Line)
	lines := map[string]int{}
	var merges []*Node
	for i := 0; i+1 < len(y.Content) && !r.over; i += 2 {
		key, value := y.Content[i], y.Content[i+1]
		if key.Kind == yaml.AliasNode {
			key = key.Alias
		}
		if key.Kind != yaml.ScalarNode {
			r.problem(key.Line, "a list or mapping cannot be a key; write a word")
			continue
		}
		child := r.fromYAML(value, depth+1, open)
		if key.Tag == "!!merge" {
			merges = append(merges, child)
			continue
		}
		if first, twice := lines[key.Value]; twice {
			r.problem(y.Content[i].Line,
				fmt.Sprintf("key %q is here a second time (first in line %d); keep one of them", key.Value, first))
			continue
		}
		lines[key.Value] = y.Content[i].Line
		n.Entries = append(n.Entries, Entry{Key: key.Value, Line: y.Content[i].Line, Value: child})
	}
	for _, m := range merges {
		r.merge(n, m, lines)
	}
	return n
}

// merge adds the keys of a mapping, or of a list of mappings, that n does not have.
func (r *reader) merge(n, from *Node, lines map[string]int) {
	sources := []*Node{from}
	if from.Kind == List {
		sources = from.Items
	}
	for _, source := range sources {
		if source.Kind != Map {
			if !r.over {
				r.problem(source.Line, "<< takes a mapping or a list of mappings, such as *name of an anchor")
			}
			continue
		}
		for _, e := range source.Entries {
			if _, has := lines[e.Key]; !has {
				lines[e.Key] = e.Line
				n.Entries = append(n.Entries, e)
			}
		}
	}
}
