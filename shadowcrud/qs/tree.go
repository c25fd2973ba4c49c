package qs

import (
	"slices"

	"lectern/jsontree"
)

// tree returns the tree of all nodes.
func (p *parser) tree() (*jsontree.Object, error) { return p.object(0) }

// object returns the object of the children of a node.
func (p *parser) object(of int32) (*jsontree.Object, error) {
	o := jsontree.NewObjectOf(int(p.nodes[of].children))
	for at := p.nodes[of].first; at != 0; at = p.nodes[at].next {
		v, err := p.result(at)
		if err != nil {
			return nil, err
		}
		o.Set(p.nodes[at].key, v)
	}
	return o, nil
}

// result returns the value of a node: a text or nil, an object, or an array of values and children.
func (p *parser) result(at int32) (any, error) {
	n := &p.nodes[at]
	switch {
	case n.children == 0 && n.values == 1:
		return p.leaves[n.firstVal-1].result(), nil
	case n.named && n.values == 0:
		return p.object(at)
	}
	items := p.list(make([]any, 0, n.values+n.children), n)
	if n.named {
		o, err := p.object(at)
		if err != nil {
			return nil, err
		}
		items = append(items, o)
	} else if n.children > 0 {
		var err error
		if items, err = p.elements(items, at); err != nil {
			return nil, err
		}
	}
	if len(items) > p.maxElements {
		return nil, ErrTooManyElements
	}
	return items, nil
}

// elements appends the children of a node whose keys are indexes, in the order of the indexes, and those of [] at the
// end.
func (p *parser) elements(items []any, of int32) ([]any, error) {
	var room [16]int32
	order := room[:0]
	sorted := true
	for at := p.nodes[of].first; at != 0; at = p.nodes[at].next {
		if len(order) > 0 && p.position(at) < p.position(order[len(order)-1]) {
			sorted = false
		}
		order = append(order, at)
	}
	if !sorted {
		slices.SortFunc(order, func(a, b int32) int { return int(p.position(a)) - int(p.position(b)) })
	}
	for _, at := range order {
		n := &p.nodes[at]
		if n.index == appended && n.children == 0 {
			items = p.list(items, n)
			continue
		}
		v, err := p.result(at)
		if err != nil {
			return nil, err
		}
		items = append(items, v)
	}
	return items, nil
}

// position returns the position of an element for the order in its array.
func (p *parser) position(at int32) int32 {
	if i := p.nodes[at].index; i != appended {
		return i
	}
	return 1 << 30
}

// list appends the values of a node.
func (p *parser) list(items []any, n *node) []any {
	for l := n.firstVal; l != 0; l = p.leaves[l-1].next {
		items = append(items, p.leaves[l-1].result())
	}
	return items
}

func (l *leaf) result() any {
	if l.null {
		return nil
	}
	return l.text
}
