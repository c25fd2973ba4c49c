package store

import (
	"bytes"

	"lectern/store/internal/format"
	"lectern/store/internal/logentry"
)

// A historyChecker compares the blocks of touches with the entries of the log, which it gets in their order.
type historyChecker struct {
	*checker
	before uint64 // the entry before the first one that counts
	blocks []logentry.TouchBlock
	list   []logentry.Touch // of the entries of the present stretch
}

func (c *checker) history() *historyChecker {
	h := &historyChecker{checker: c, before: c.snap.logBegins()}
	c.each(format.History, func(k, v []byte) { h.blocks = append(h.blocks, logentry.StoredTouches(k, v)) })
	return h
}

// entry compares a block with the entries of its stretch when that ends with e.
func (h *historyChecker) entry(e *Entry) {
	if e.Sequence <= h.before {
		return
	}
	h.list = e.AppendTouches(h.list)
	for len(h.blocks) > 0 && h.blocks[0].Last < e.Sequence {
		h.report("history %d: it is not of a stretch of the log", h.blocks[0].Last)
		h.blocks = h.blocks[1:]
	}
	if len(h.blocks) == 0 || h.blocks[0].Last > e.Sequence {
		if len(h.list) >= logentry.BlockTouches || e.Sequence%logentry.BlockEntries == 0 {
			h.report("history %d: missing", e.Sequence)
			h.list = nil
		}
		return
	}
	got, want := h.blocks[0].Since(h.before), logentry.NewTouchBlock(e.Sequence, h.list)
	if !bytes.Equal(got.Data, want.Data) {
		h.report("history %d: it does not agree with the log", e.Sequence)
	}
	h.blocks, h.list = h.blocks[1:], h.list[:0]
}

func (h *historyChecker) end(last uint64) {
	for _, b := range h.blocks {
		h.report("history %d: it is not of a stretch of the log, which ends with %d", b.Last, last)
	}
}
