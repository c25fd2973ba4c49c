package documents

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"lectern/jsontree"
)

// castBlocks casts and checks the value of a blocks attribute: an array of nodes, or a string that is the JSON of one. Keys that
// no rule speaks of are kept, and so is their order. A value that casting changes is copied, never changed in place.
func castBlocks(path []string, v any) (any, []issue) {
	c, at := &blockCaster{}, &blockPlace{base: path}
	nodes, ok := parseCast(v).([]any)
	if !ok {
		return nil, []issue{wrongType(path, "array", nil, v, true)}
	}
	list, _ := c.each(at, nodes, (*blockCaster).block)
	return list, c.issues
}

// A blockCaster collects what is wrong with the nodes of one value, and stops when there are more issues than are told.
type blockCaster struct{ issues []issue }

func (c *blockCaster) add(f issue) { c.issues = append(c.issues, f) }

// refuse adds a issue whose message stands as it is, without the path of the value.
func (c *blockCaster) refuse(at *blockPlace, message string, v any) {
	c.add(issue{path: at.path(), message: message, value: v, hasValue: true})
}

// A blockPlace is where a value lies: a list of names and positions, linked from the inside out. Paths are made of it only for issues,
// since most values have none.
type blockPlace struct {
	up    *blockPlace
	base  []string // of the outermost place
	name  string   // a key; "" in a list
	index int      // the position in a list
}

func (p *blockPlace) path() []string {
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

// A castFunc casts what lies at a place and says whether casting changed it.
type castFunc func(c *blockCaster, at *blockPlace, v any) (cast any, changed bool)

// A rule is what holds for one key of a node.
type rule struct {
	key      string
	cast     castFunc
	optional bool
	absent   string // what is said when it is missing; "" stands for "is a required field"
}

const (
	invalidBlock   = "Block node is of invalid type"
	invalidInline  = "Inline node must be Text or Link"
	invalidItem    = "Inline node must be list-item or list"
	textNotDefined = "Text must be defined with at least an empty string"
	invalidLink    = "Please specify a valid link."
)

// The rules of each kind of node, in the order in which issues are told. They refer to themselves, since lists hold lists, and are
// therefore set up by init.
var (
	blockRules  map[string][]rule // at the top
	itemRules   map[string][]rule // in a list
	inlineRules map[string][]rule // in all others
)

var textRules = []rule{
	{key: "text", cast: castText, absent: textNotDefined},
	{key: "bold", cast: castMark, optional: true},
	{key: "italic", cast: castMark, optional: true},
	{key: "underline", cast: castMark, optional: true},
	{key: "strikethrough", cast: castMark, optional: true},
	{key: "code", cast: castMark, optional: true},
}

// plainTextRules hold where nothing but text may stand: in code and in links.
var plainTextRules = append([]rule{{key: "type", cast: oneOf("text")}}, textRules...)

var imageRules = []rule{
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
	inlineRules = map[string][]rule{
		"text": textRules,
		"link": {
			{key: "url", cast: castLink, absent: invalidLink},
			{key: "children", cast: children("", (*blockCaster).plainText)},
		},
	}
	list := []rule{
		{key: "format", cast: oneOf("ordered", "unordered")},
		{key: "children", cast: children("List node children must have at least one ListItem or ListNode", (*blockCaster).item)},
	}
	itemRules = map[string][]rule{
		"list-item": {{key: "children", cast: children("", (*blockCaster).inline)}},
		"list":      list,
	}
	blockRules = map[string][]rule{
		"paragraph": {{key: "children", cast: children("Paragraph node children must have at least one Text or Link node", (*blockCaster).inline)}},
		"heading": {
			{key: "level", cast: castLevel},
			{key: "children", cast: children("Heading node children must have at least one Text or Link node", (*blockCaster).inline)},
		},
		"list":  list,
		"quote": {{key: "children", cast: children("Quote node children must have at least one Text or Link node", (*blockCaster).inline)}},
		"code": {
			{key: "language", cast: castText, optional: true},
			{key: "children", cast: children("Quote node children must have at least one Text or Link node", (*blockCaster).plainText)},
		},
		"image": {
			{key: "image", cast: castImage, optional: true},
			{key: "children", cast: children("", (*blockCaster).inline)},
		},
	}
}

func (c *blockCaster) block(at *blockPlace, v any) (any, bool) {
	return c.kind(at, v, blockRules, invalidBlock)
}

func (c *blockCaster) item(at *blockPlace, v any) (any, bool) {
	return c.kind(at, v, itemRules, invalidItem)
}

func (c *blockCaster) inline(at *blockPlace, v any) (any, bool) {
	return c.kind(at, v, inlineRules, invalidInline)
}

// kind casts a node by the rules for its type.
func (c *blockCaster) kind(at *blockPlace, v any, kinds map[string][]rule, invalid string) (any, bool) {
	node, ok := v.(*jsontree.Object)
	if ok {
		kind, _ := node.Value("type").(string)
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

// plainText casts a node where nothing but text may stand.
func (c *blockCaster) plainText(at *blockPlace, v any) (any, bool) {
	node, original, ok := c.object(at, v)
	if !ok {
		return v, false
	}
	cast, changed := c.node(at, node, plainTextRules)
	return cast, changed || original
}

// node casts the keys of a node.
func (c *blockCaster) node(at *blockPlace, node *jsontree.Object, rules []rule) (*jsontree.Object, bool) {
	cast := node
	for i := range rules {
		r := &rules[i]
		v, given := node.Get(r.key)
		inner := &blockPlace{up: at, name: r.key}
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

func (c *blockCaster) absent(at *blockPlace, message string) {
	if message == "" {
		c.add(missing(at.path(), "is a required field"))
		return
	}
	c.add(issue{path: at.path(), message: message})
}

func copyObject(o *jsontree.Object) *jsontree.Object {
	n := jsontree.NewObject()
	for _, k := range o.Keys {
		n.Set(k, o.Value(k))
	}
	return n
}

// children casts an array of nodes. empty is what is said of an array without any; "" allows one.
func children(empty string, child castFunc) castFunc {
	return func(c *blockCaster, at *blockPlace, v any) (any, bool) {
		nodes, ok := parseCast(v).([]any)
		_, isArray := v.([]any)
		switch {
		case !ok:
			c.add(wrongType(at.path(), "array", nil, v, v != nil))
			return nil, false
		case len(nodes) == 0 && empty != "":
			c.refuse(at, empty, nodes)
		}
		list, changed := c.each(at, nodes, child)
		return list, changed || !isArray
	}
}

// each casts the nodes of an array.
func (c *blockCaster) each(at *blockPlace, nodes []any, child castFunc) ([]any, bool) {
	cast, isCopy := nodes, false
	for i, v := range nodes {
		if len(c.issues) >= maxIssues {
			break
		}
		w, changed := child(c, &blockPlace{up: at, index: i}, v)
		if changed && !isCopy {
			cast, isCopy = slices.Clone(nodes), true
		}
		if changed {
			cast[i] = w
		}
	}
	return cast, isCopy
}

// parseCast reads an array or object out of a string that is the JSON of one, as forms send it.
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

// object reads an object, which a string may hold as JSON.
func (c *blockCaster) object(at *blockPlace, v any) (o *jsontree.Object, changed, ok bool) {
	o, ok = parseCast(v).(*jsontree.Object)
	if !ok {
		c.add(wrongType(at.path(), "object", nil, v, v != nil))
	}
	_, isObject := v.(*jsontree.Object)
	return o, !isObject, ok
}

// castImage casts the file of an image node.
func castImage(c *blockCaster, at *blockPlace, v any) (any, bool) {
	image, parsed, ok := c.object(at, v)
	if !ok {
		return v, false
	}
	cast, changed := c.node(at, image, imageRules)
	return cast, changed || parsed
}

// imageMissing says of an image node without a file all that the file must have.
func (c *blockCaster) imageMissing(at *blockPlace, node *jsontree.Object) {
	if _, given := node.Get("image"); !given {
		c.node(&blockPlace{up: at, name: "image"}, jsontree.NewObject(), imageRules)
	}
}

// castText makes numbers and booleans strings; null is refused.
func castText(c *blockCaster, at *blockPlace, v any) (any, bool) {
	cast := scalarText(v)
	if _, ok := cast.(string); !ok {
		c.add(wrongType(at.path(), "string", cast, cast, false))
	}
	_, same := v.(string)
	return cast, !same
}

// castTextOrNull is castText, where null clears.
func castTextOrNull(c *blockCaster, at *blockPlace, v any) (any, bool) {
	if v == nil {
		return nil, false
	}
	return castText(c, at, v)
}

// castFilled is castText, where the empty string counts as absent.
func castFilled(c *blockCaster, at *blockPlace, v any) (any, bool) {
	if v == "" {
		c.add(issueAt(at.path(), "is a required field", ""))
		return v, false
	}
	return castText(c, at, v)
}

// oneOf casts to a string that must be one of a few.
func oneOf(values ...string) castFunc {
	return func(c *blockCaster, at *blockPlace, v any) (any, bool) {
		cast, changed := castText(c, at, v)
		if s, ok := cast.(string); !ok || !slices.Contains(values, s) {
			c.add(issueAt(at.path(), "must be one of the following values: "+strings.Join(values, ", "), cast))
		}
		return cast, changed
	}
}

func castMark(c *blockCaster, at *blockPlace, v any) (any, bool) {
	b, ok := castBoolean(v)
	if !ok {
		c.add(wrongType(at.path(), "boolean", v, v, false))
		return v, false
	}
	return b, v != b
}

// castFigure reads a number.
func castFigure(c *blockCaster, at *blockPlace, v any) (any, bool) {
	n, f := castNumber(v)
	if math.IsNaN(f) || math.IsInf(f, 0) {
		c.add(wrongType(at.path(), "number", f, v, v != nil))
		return nil, true
	}
	return n, v != n
}

// castLevel reads the level of a heading.
func castLevel(c *blockCaster, at *blockPlace, v any) (any, bool) {
	cast, changed := castFigure(c, at, v)
	if n, ok := cast.(jsontree.Number); !ok || len(n) != 1 || n < "1" || n > "6" {
		c.add(issueAt(at.path(), "must be one of the following values: 1, 2, 3, 4, 5, 6", cast))
	}
	return cast, changed
}

func castLink(c *blockCaster, at *blockPlace, v any) (any, bool) {
	cast, changed := castText(c, at, v)
	if s, ok := cast.(string); ok && !isLink(s) {
		c.refuse(at, invalidLink, s)
	}
	return cast, changed
}
