package transfer

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"math"

	"lectern/contenttypes"
	"lectern/internal/extsort"
	"lectern/internal/tempfile"
	"lectern/store"
)

// prepare puts the lines to store in order, and computes the positions of their links.
func (im *importer) prepare() error {
	if err := im.ids.prepare(im); err != nil {
		return err
	}
	if err := im.orderDocuments(); err != nil {
		return err
	}
	return im.placeLinks()
}

// The fields of the records of importer.lineage and importer.order.
const (
	lineDoc       = iota // in lineage, the hash of the document; in order, the turn of its type and the number of its first line
	lineNumber           // number of the line
	lineExtent           // extent of the line
	lineFirstLink        // index of the first link of the line in importer.ranks
	lineFresh            // index of the first new id of a row in the line, with what the constants below add
)

// What is added to the field lineFresh: the turn of the type, and addedDocument if the versions are stored already.
const (
	turnBit       = 48
	freshMask     = 1<<turnBit - 1
	addedDocument = 1 << 63
)

// turnsOf returns the order in which documents are stored, by type: types that others link to come first, so that few
// links have to wait. New ids do not depend on it.
func turnsOf(model *contenttypes.Model) map[*contenttypes.ContentType]uint64 {
	turns := map[*contenttypes.ContentType]uint64{}
	seen := map[*contenttypes.Schema]bool{}
	var visit func(s *contenttypes.Schema)
	visitType := func(t *contenttypes.ContentType) {
		if !seen[&t.Schema] {
			visit(&t.Schema)
			turns[t] = uint64(len(turns))
		}
	}
	visit = func(s *contenttypes.Schema) {
		if seen[s] {
			return
		}
		seen[s] = true
		for _, a := range s.Attributes {
			switch {
			case a.System || a.Mapped || a.IsScalar():
			case a.Target != nil:
				visitType(a.Target)
			default:
				for _, c := range a.AllComponents() {
					visit(&c.Schema)
				}
			}
		}
	}
	for _, t := range model.Types {
		visitType(t)
	}
	return turns
}

// orderDocuments fills importer.order from importer.lineage, without the documents that have an invalid line.
func (im *importer) orderDocuments() error {
	var doc, first uint64
	length := 0
	return im.lineage.Each(func(r extsort.Record) error {
		at := lineAt(r[lineNumber], r[lineExtent])
		if wrong, damaged := im.damaged[r[lineDoc]]; damaged {
			if !im.bad[at.number] {
				im.wrong(at.number, fmt.Errorf("left out, since line %d of the same document is wrong", wrong))
			}
			return nil
		}
		if first == 0 || r[lineDoc] != doc {
			doc, first, length = r[lineDoc], r[lineFresh]>>turnBit<<turnBit|r[lineNumber], 0
		}
		if length += at.length; length > im.longest {
			if err := im.reserve(length); err != nil {
				return err
			}
		}
		r[lineDoc] = first
		return im.order.Add(r)
	})
}

// The fields of the records of importer.ranks.
const (
	rankList  = iota // hash of the list of links
	rankOrder        // order of the link in the list, as the file says it
	rankLink         // index of the link
	rankLast         // last position in the list in the store
)

// placeLinks computes the positions of all links in the lists of their targets, from the order that the file says, and
// writes them to a temporary file.
func (im *importer) placeLinks() error {
	if im.links == 0 {
		return nil
	}
	placed := extsort.New(im.dir(), sortedInMemory) // records: index of the link, position
	defer placed.Close()                            // removes a temporary file
	var list, last, step uint64
	err := im.ranks.Each(func(r extsort.Record) error {
		if r[rankList] != list {
			list, last, step = r[rankList], r[rankLast], positionStep(r[rankLast])
		}
		last += step
		return placed.Add(extsort.Record{r[rankLink], last})
	})
	if err != nil {
		return err
	}
	if im.positions, err = tempfile.New(im.dir()); err != nil {
		return fmt.Errorf("keep the positions of links: %w", err)
	}
	w := bufio.NewWriterSize(im.positions, 64<<10)
	err = placed.Each(func(r extsort.Record) error {
		_, err := w.Write(binary.LittleEndian.AppendUint64(nil, r[1]))
		return err
	})
	if err != nil {
		return err
	}
	return w.Flush()
}

// positionStep returns the distance between positions that are added behind a position. It is smaller near the end of
// all positions.
func positionStep(last uint64) uint64 {
	if last < 1<<63 {
		return store.PosStep
	}
	return max(1, (math.MaxUint64-last)>>32)
}
