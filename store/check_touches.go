package store

import (
	"bytes"
	"lectern/store/internal/format"
	"slices"
)

// A historyChecker compares the blocks of touches with the entries of the log, which it gets in their order.
type historyChecker struct {
	*checker
	before uint64 // the entry before the first one that counts
	blocks []touchBlock
	list   []touch // of the entries of the present stretch
}

func (c *checker) history() *historyChecker {
	h := &historyChecker{checker: c, before: c.snap.logBegins()}
	c.each(format.History, func(k, v []byte) { h.blocks = append(h.blocks, storedBlock(k, v)) })
	return h
}

// entry compares a block with the entries of its stretch when that ends with e.
func (h *historyChecker) entry(e *Entry) {
	if e.Sequence <= h.before {
		return
	}
	h.list = e.appendTouches(h.list)
	for len(h.blocks) > 0 && h.blocks[0].last < e.Sequence {
		h.report("history %d: it is not of a stretch of the log", h.blocks[0].last)
		h.blocks = h.blocks[1:]
	}
	if len(h.blocks) == 0 || h.blocks[0].last > e.Sequence {
		if len(h.list) >= blockTouches || e.Sequence%blockEntries == 0 {
			h.report("history %d: missing", e.Sequence)
			h.list = nil
		}
		return
	}
	got, want := h.blocks[0].since(h.before), newTouchBlock(e.Sequence, h.list)
	if !bytes.Equal(got.data, want.data) {
		h.report("history %d: it does not agree with the log", e.Sequence)
	}
	h.blocks, h.list = h.blocks[1:], h.list[:0]
}

// since returns the block without the touches of entries up to before.
func (b touchBlock) since(before uint64) touchBlock {
	if len(b.data)%touchLen != 0 {
		return b
	}
	var list []touch
	for i := range b.len() {
		if t := b.at(i); t.sequence > before {
			list = append(list, t)
		}
	}
	return newTouchBlock(b.last, slices.Clip(list))
}

func (h *historyChecker) end(last uint64) {
	for _, b := range h.blocks {
		h.report("history %d: it is not of a stretch of the log, which ends with %d", b.last, last)
	}
}
