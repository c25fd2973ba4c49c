package values

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"lectern/documents/issues"
	"lectern/jsontree"
)

// castBlocks casts and checks the value of a blocks attribute: an array of nodes, or a string with the JSON of one. It
// leaves keys without rules unchanged, and keeps the order of keys. It copies values that casting changes.
func castBlocks(path []string, v any) (any, []issues.Issue) {
	c, at := &blockCaster{}, &blockPath{base: path}
	nodes, ok := parseCast(v).([]any)
	if !ok {
		return nil, []issues.Issue{issues.WrongType(path, "array", nil, v, true)}
	}
	list, _ := c.each(at, nodes, (*blockCaster).block)
	return list, c.issues
}

// A blockCaster collects the issues of one value, and stops at issues.Max.
type blockCaster struct{ issues []issues.Issue }

func (c *blockCaster) add(f issues.Issue) { c.issues = append(c.issues, f) }

// refuse adds an issue for the value at a path. Its message is used as it is, without the path in front.
func (c *blockCaster) refuse(at *blockPath, message string, v any) {
	c.add(issues.Issue{Path: at.path(), Message: message, Value: v, HasValue: true})
}

// A blockPath is the path of a value, as a linked list of keys and indexes from the innermost to the outermost. It is
// only converted to a []string for an issue, since most values have none.
type blockPath struct {
	up    *blockPath
	base  []string // path of the attribute; only in the outermost element
	name  string   // a key; "" in a list
	index int      // index in a list
}

func (p *blockPath) path() []string {
	depth := 0
	outermost := p
	for ; outermost.up != nil; outermost = outermost.up {
		depth++
	}
	path := make([]string, len(outermost.base)+depth)
	copy(path, outermost.base)
	for i := len(path) - 1; p.up != nil; p, i = p.up, i-1 {
		if path[i] = p.name; p.name == "" {
			path[i] = strconv.Itoa(p.index)
		}
	}
	return path
}

// A castFunc casts the value at a path and reports whether casting changed it.
type castFunc func(c *blockCaster, at *blockPath, v any) (cast any, changed bool)

// A keyRule says how one key of a node is cast.
type keyRule struct {
	key      string
	cast     castFunc
	optional bool
	absent   string // message if the key is missing; "" stands for "is a required field"
}

const (
	invalidBlock   = "Block node is of invalid type"
	invalidInline  = "Inline node must be Text or Link"
	invalidItem    = "Inline node must be list-item or list"
	textNotDefined = "Text must be defined with at least an empty string"
	invalidLink    = "Please specify a valid link."
)

// These are the rules of each type of node, in the order in which issues are reported. init sets them because they are
// recursive: lists may contain lists.
var (
	blockRules  map[string][]keyRule // for the nodes of the value
	itemRules   map[string][]keyRule // for children of a list
	inlineRules map[string][]keyRule // for children of other nodes
)

var textRules = []keyRule{
	{key: "text", cast: castText, absent: textNotDefined},
	{key: "bold", cast: castMark, optional: true},
	{key: "italic", cast: castMark, optional: true},
	{key: "underline", cast: castMark, optional: true},
	{key: "strikethrough", cast: castMark, optional: true},
	{key: "code", cast: castMark, optional: true},
}

// plainTextRules are the rules for the children of code and links, which must be text.
var plainTextRules = append([]keyRule{{key: "type", cast: oneOf("text")}}, textRules...)

var imageRules = []keyRule{
	{key: "name", cast: castFilled},
	{key: "alternativeText", cast: castTextOrNull, optional: true},
	{key: "url", cast: castFilled},
	{key: "caption", cast: castTextOrNull, optional: true},
	{key: "width", cast: castFigure},
	{key: "height", cast: castFigure},
	{key: "hash", cast: castFilled},
	{key: "ext", cast: castFilled},
	{key: "mime", cast: castFilled},
	{key: "size", cast: castFigure},
	{key: "previewUrl", cast: castTextOrNull, optional: true},
	{key: "provider", cast: castFilled},
	{key: "createdAt", cast: castFilled},
	{key: "updatedAt", cast: castFilled},
}

func init() {
	inlineRules = map[string][]keyRule{
		"text": textRules,
		"link": {
			{key: "url", cast: castLink, absent: invalidLink},
			{key: "children", cast: children("", (*blockCaster).plainText)},
		},
	}
	list := []keyRule{
		{key: "format", cast: oneOf("ordered", "unordered")},
		{key: "children", cast: children("List node children must have at least one ListItem or ListNode",
			(*blockCaster).item)},
	}
	itemRules = map[string][]keyRule{
		"list-item": {{key: "children", cast: children("", (*blockCaster).inline)}},
		"list":      list,
	}
	blockRules = map[string][]keyRule{
		"paragraph": {{key: "children",
			cast: children("Paragraph node children must have at least one Text or Link node", (*blockCaster).inline)}},
		"heading": {
			{key: "level", cast: castLevel},
			{key: "children", cast: children("Heading node children must have at least one Text or Link node",
				(*blockCaster).inline)},
		},
		"list": list,
		"quote": {{key: "children", cast: children("Quote node children must have at least one Text or Link node",
			(*blockCaster).inline)}},
		"code": {
			{key: "language", cast: castText, optional: true},
			{key: "children", cast: children("Quote node children must have at least one Text or Link node",
				(*blockCaster).plainText)},
		},
		"image": {
			{key: "image", cast: castImage, optional: true},
			{key: "children", cast: children("", (*blockCaster).inline)},
		},
	}
}

func (c *blockCaster) block(at *blockPath, v any) (any, bool) {
	return c.kind(at, v, blockRules, invalidBlock)
}

func (c *blockCaster) item(at *blockPath, v any) (any, bool) {
	return c.kind(at, v, itemRules, invalidItem)
}

func (c *blockCaster) inline(at *blockPath, v any) (any, bool) {
	return c.kind(at, v, inlineRules, invalidInline)
}

// kind casts a node by the rules of its type.
func (c *blockCaster) kind(at *blockPath, v any, kinds map[string][]keyRule, invalid string) (any, bool) {
	node, ok := v.(*jsontree.Object)
	if ok {
		kind := node.Text("type")
		if rules, known := kinds[kind]; known {
			if kind == "image" {
				c.imageMissing(at, node)
			}
			return c.node(at, node, rules)
		}
	}
	c.refuse(at, invalid, v)
	return v, false
}

// plainText casts a node that must be text.
func (c *blockCaster) plainText(at *blockPath, v any) (any, bool) {
	node, original, ok := c.object(at, v)
	if !ok {
		return v, false
	}
	cast, changed := c.node(at, node, plainTextRules)
	return cast, changed || original
}

// node casts the keys of a node.
func (c *blockCaster) node(at *blockPath, node *jsontree.Object, rules []keyRule) (*jsontree.Object, bool) {
	cast := node
	for i := range rules {
		r := &rules[i]
		v, given := node.Get(r.key)
		inner := &blockPath{up: at, name: r.key}
		if !given {
			if !r.optional {
				c.absent(inner, r.absent)
			}
			continue
		}
		w, changed := r.cast(c, inner, v)
		if !changed {
			continue
		}
		if cast == node {
			cast = copyObject(node)
		}
		cast.Set(r.key, w)
	}
	return cast, cast != node
}

func (c *blockCaster) absent(at *blockPath, message string) {
	if message == "" {
		c.add(issues.Missing(at.path(), "is a required field"))
		return
	}
	c.add(issues.Issue{Path: at.path(), Message: message})
}

func copyObject(o *jsontree.Object) *jsontree.Object {
	n := jsontree.NewObject()
	for _, k := range o.Keys {
		n.Set(k, o.Value(k))
	}
	return n
}

// children returns a castFunc for an array of nodes. empty is the message for an empty array; "" allows empty arrays.
func children(empty string, child castFunc) castFunc {
	return func(c *blockCaster, at *blockPath, v any) (any, bool) {
		nodes, ok := parseCast(v).([]any)
		_, isArray := v.([]any)
		switch {
		case !ok:
			c.add(issues.WrongType(at.path(), "array", nil, v, v != nil))
			return nil, false
		case len(nodes) == 0 && empty != "":
			c.refuse(at, empty, nodes)
		}
		list, changed := c.each(at, nodes, child)
		return list, changed || !isArray
	}
}

// each casts the nodes of an array.
func (c *blockCaster) each(at *blockPath, nodes []any, child castFunc) ([]any, bool) {
	cast, isCopy := nodes, false
	for i, v := range nodes {
		if len(c.issues) >= issues.Max {
			break
		}
		w, changed := child(c, &blockPath{up: at, index: i}, v)
		if changed && !isCopy {
			cast, isCopy = slices.Clone(nodes), true
		}
		if changed {
			cast[i] = w
		}
	}
	return cast, isCopy
}

// parseCast returns the parsed value if v is a string of JSON, as forms send it, and otherwise v.
func parseCast(v any) any {
	s, ok := v.(string)
	if !ok {
		return v
	}
	v, err := jsontree.Parse([]byte(s), jsontree.MaxDepth)
	if err != nil {
		return nil
	}
	return v
}

// object returns v as an object; v may be a string of JSON.
func (c *blockCaster) object(at *blockPath, v any) (o *jsontree.Object, changed, ok bool) {
	o, ok = parseCast(v).(*jsontree.Object)
	if !ok {
		c.add(issues.WrongType(at.path(), "object", nil, v, v != nil))
	}
	_, isObject := v.(*jsontree.Object)
	return o, !isObject, ok
}

// castImage casts the file of an image node.
func castImage(c *blockCaster, at *blockPath, v any) (any, bool) {
	image, parsed, ok := c.object(at, v)
	if !ok {
		return v, false
	}
	cast, changed := c.node(at, image, imageRules)
	return cast, changed || parsed
}

// imageMissing adds an issue for each required key of the file if an image node has no file.
func (c *blockCaster) imageMissing(at *blockPath, node *jsontree.Object) {
	if _, given := node.Get("image"); !given {
		c.node(&blockPath{up: at, name: "image"}, jsontree.NewObject(), imageRules)
	}
}

// castText casts strings, numbers and booleans to a string. It refuses null.
func castText(c *blockCaster, at *blockPath, v any) (any, bool) {
	cast := scalarText(v)
	if _, ok := cast.(string); !ok {
		c.add(issues.WrongType(at.path(), "string", cast, cast, false))
	}
	_, same := v.(string)
	return cast, !same
}

// castTextOrNull casts to a string as castText does, but accepts null.
func castTextOrNull(c *blockCaster, at *blockPath, v any) (any, bool) {
	if v == nil {
		return nil, false
	}
	return castText(c, at, v)
}

// castFilled casts to a string as castText does, but refuses the empty string as if the key were missing.
func castFilled(c *blockCaster, at *blockPath, v any) (any, bool) {
	if v == "" {
		c.add(issues.At(at.path(), "is a required field", ""))
		return v, false
	}
	return castText(c, at, v)
}

// oneOf returns a castFunc that casts to a string and requires it to be one of values.
func oneOf(values ...string) castFunc {
	return func(c *blockCaster, at *blockPath, v any) (any, bool) {
		cast, changed := castText(c, at, v)
		if s, ok := cast.(string); !ok || !slices.Contains(values, s) {
			c.add(issues.At(at.path(), "must be one of the following values: "+strings.Join(values, ", "), cast))
		}
		return cast, changed
	}
}

func castMark(c *blockCaster, at *blockPath, v any) (any, bool) {
	b, ok := castBoolean(v)
	if !ok {
		c.add(issues.WrongType(at.path(), "boolean", v, v, false))
		return v, false
	}
	return b, v != b
}

// castFigure casts to a finite number.
func castFigure(c *blockCaster, at *blockPath, v any) (any, bool) {
	n, f := castNumber(v)
	if math.IsNaN(f) || math.IsInf(f, 0) {
		c.add(issues.WrongType(at.path(), "number", f, v, v != nil))
		return nil, true
	}
	return n, v != n
}

// castLevel casts the level of a heading: an integer from 1 to 6.
func castLevel(c *blockCaster, at *blockPath, v any) (any, bool) {
	cast, changed := castFigure(c, at, v)
	if n, ok := cast.(jsontree.Number); !ok || len(n) != 1 || n < "1" || n > "6" {
		c.add(issues.At(at.path(), "must be one of the following values: 1, 2, 3, 4, 5, 6", cast))
	}
	return cast, changed
}

func castLink(c *blockCaster, at *blockPath, v any) (any, bool) {
	cast, changed := castText(c, at, v)
	if s, ok := cast.(string); ok && !isLinkURL(s) {
		c.refuse(at, invalidLink, s)
	}
	return cast, changed
}
