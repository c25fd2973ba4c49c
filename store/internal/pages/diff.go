package pages

// Diff compares two states of a bucket. It calls removed with each leaf that only the old state has, and added with
// each leaf that only the new one has, each in order of key. A key whose leaf was written again is in both, even if its
// value is the same. A nil Tree has no leaves. Diff returns the first error of removed and added.
//
// A reader must keep the old state meanwhile. No page of it is then written again, so a page to which both trees lead
// is the same in both, with everything below it, and Diff does not look at it.
func Diff(old, new *Tree, removed, added func(Page) error) error {
	from, err := newFrontier(old, removed)
	if err != nil {
		return err
	}
	to, err := newFrontier(new, added)
	if err != nil {
		return err
	}
	for len(from.pages)+len(to.pages) > 0 {
		height := max(from.height, to.height)
		if from.height == to.height {
			from.leaveOut(to)
		}
		for _, f := range []*frontier{from, to} {
			if f.height == height {
				if err := f.descend(); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// A frontier is the pages of a tree at one height that Diff has still to look at.
type frontier struct {
	tree   *Tree
	height int // above the leaves
	pages  []pointer
	leaf   func(Page) error
}

// A pointer is the number of a page and the key under which the page above leads to it; the key of a root is nil.
type pointer struct {
	id    uint64
	first []byte
}

// newFrontier returns the frontier at the root of a tree. It calls leaf with the page of an inline bucket, which has no
// other.
func newFrontier(t *Tree, leaf func(Page) error) (*frontier, error) {
	f := &frontier{tree: t, leaf: leaf}
	if t == nil {
		return f, nil
	}
	if t.inline != nil {
		c := t.Cursor()
		if err := c.begin(); err != nil {
			return nil, err
		}
		return f, leaf(t.inline)
	}
	f.pages = []pointer{{id: t.root}}
	for at := f.pages[0]; ; f.height++ {
		p, err := t.page(at.id, at.first)
		if err != nil {
			return nil, err
		}
		if p.leaf() {
			return f, nil
		}
		if f.height == maxDepth {
			return nil, damaged(at.id, "is out of place")
		}
		at = pointer{p.child(0), p.Key(0)}
	}
}

// leaveOut removes the pages that both frontiers have.
func (f *frontier) leaveOut(other *frontier) {
	here := make(map[uint64]bool, len(f.pages))
	for _, p := range f.pages {
		here[p.id] = true
	}
	both := map[uint64]bool{}
	keep := func(list []pointer, drop func(id uint64) bool) []pointer {
		kept := list[:0]
		for _, p := range list {
			if !drop(p.id) {
				kept = append(kept, p)
			}
		}
		return kept
	}
	other.pages = keep(other.pages, func(id uint64) bool {
		if here[id] {
			both[id] = true
		}
		return here[id]
	})
	f.pages = keep(f.pages, func(id uint64) bool { return both[id] })
}

// descend replaces the pages by those below them, and calls leaf with the leaves.
func (f *frontier) descend() error {
	var below []pointer
	for _, at := range f.pages {
		p, err := f.tree.page(at.id, at.first)
		if err != nil {
			return err
		}
		if p.leaf() {
			if err := f.leaf(p); err != nil {
				return err
			}
			continue
		}
		if f.height < -maxDepth {
			return damaged(at.id, "is out of place")
		}
		for i := range p.Len() {
			below = append(below, pointer{p.child(i), p.Key(i)})
		}
	}
	f.pages = below
	f.height--
	return nil
}
