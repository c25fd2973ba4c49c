package store

import (
	"bytes"
	"math"

	"github.com/RoaringBitmap/roaring/v2"

	"lectern/contenttypes"
	"lectern/store/internal/format"
)

// listCost is the cost of a search for a list of links, in index entries walked over, and linkCost that of a link.
const (
	listCost = 8
	linkCost = 2
)

// A semijoin finds the rows of a slot that lead to one of a set of targets by a relation, in the cheaper of two ways:
// it follows the links of each target back, or walks over the links of all rows.
type semijoin struct {
	f      *finder
	attr   *contenttypes.Attribute
	seen   *seen  // which targets are seen; nil: all
	status Status // in which the links are read
	query  Query  // of the targets
	slot   format.Slot
	meet   finder // of the targets that meet the condition
}

// throughSource returns a source that finds the targets that meet the condition first, and then the rows that lead to
// them.
func (f *finder) throughSource(c *someTarget) *source {
	a := c.attr
	if a.System || !a.IsRelation() || a.Target == nil || a.IsMorph() || !f.query.Type.Localized && a.Target.Localized {
		return nil
	}
	shows := c.targetStatus()
	status := shows
	if !a.Target.DraftAndPublish {
		status = Published
	}
	locale := uint16(0)
	if a.Target.Localized {
		locale = f.slot.Locale()
	}
	j := &semijoin{f: f, attr: a, seen: c.seen, status: linksFor(a, f.query.Status, shows),
		query: Query{Type: a.Target, Status: shows, Limit: -1}, slot: format.NewSlot(locale, status)}
	j.meet.begin(f.snap, &j.query, j.slot)
	j.meet.conjunction = c.all.and(c.seen)
	cost, targets, _ := j.meet.matching()
	links := j.links(targets)
	src := &source{exact: true, rows: min(links, f.rows()), cost: cost + j.cost(targets, links)}
	if len(c.all.conds) == 0 || c.cond.holds(f.snap, Record{}) { // rows without a target match too
		src.rows, src.cost, src.find = f.rows(), src.cost+j.meet.rows()+j.forward()+f.rows(), j.ledOrNone
	} else {
		src.loose, src.find = true, j.led
	}
	return src
}

// led returns the documents that lead to a target that meets the condition.
func (j *semijoin) led() docList { return j.to(&j.meet) }

// ledOrNone returns the rows that lead to a target that meets the condition, or to none.
func (j *semijoin) ledOrNone() docList {
	shown := j.f.snap.finder(&j.query, j.slot)
	shown.conjunction = conjunction{}.and(j.seen)
	all, led, met := j.f.all(), j.to(shown), j.led()
	docs, meet := minus(all, led.set()), met.set()
	if docs.unfit || meet == nil {
		return docList{unfit: true}
	}
	docs.whole.Or(roaring.And(meet, all))
	return docs
}

// fewTargets is the maximum number of targets whose links are estimated one by one.
const fewTargets = 4

// links estimates how many links lead to the targets that meet the condition, of which there are so many.
func (j *semijoin) links(targets int) int {
	links := targets * max(1, j.f.rows()/max(1, j.meet.rows()))
	if src := j.meet.best(); src != nil && targets <= fewTargets && len(src.ranges) > 0 && j.f.rows() > fewHits {
		links = 0
		j.meet.eachEntry(src, func(h hit) { links += j.linksTo(h.doc) })
	}
	return links
}

// linksTo estimates how many links lead to a target, from the positions of the first and the last.
func (j *semijoin) linksTo(doc uint64) int {
	owning, sd, set := linksOf(j.attr, j.status)
	of := format.End{Schema: j.f.snap.bound.of(&j.attr.Target.Schema).number, Locale: j.slot.Locale(), Doc: doc}
	links := 0
	j.f.snap.eachLink(owning, 1-sd, set, of, func(_ format.End, first, _ uint64) bool {
		links = 1 + int(min((j.f.snap.lastPos(owning, 1-sd, set, of)-first)/PosStep, math.MaxInt32))
		return false
	})
	return min(links, j.f.rows())
}

// forward estimates the cost of walking over the links of all rows.
func (j *semijoin) forward() int { return j.f.rows() * linkCost * 2 }

// cost estimates the cost of finding the rows that lead to some targets, to which this many links lead.
func (j *semijoin) cost(targets, links int) int {
	return min(targets*listCost+links*linkCost, j.forward())
}

// to returns the documents that lead to the targets that a finder finds.
func (j *semijoin) to(targets *finder) docList {
	docs := targets.match().docs()
	if docs.unfit {
		return docs
	}
	n := docs.size()
	if n*listCost+n*max(1, j.f.rows()/max(1, j.meet.rows()))*linkCost <= j.forward() || n <= fewTargets {
		return j.back(docs)
	}
	return j.walk(docs.set())
}

// back follows the links of each target back.
func (j *semijoin) back(targets docList) docList {
	s := j.f.snap
	list := newDocList(0)
	owning, sd, set := linksOf(j.attr, j.status)
	w := linkWalk{cursor: s.takeCursor(format.Links), snap: s}
	defer s.giveCursor(format.Links, w.cursor)
	of := format.End{Schema: s.bound.of(&j.attr.Target.Schema).number, Locale: j.slot.Locale()}
	key := s.appendLinkList(nil, owning, 1-sd, set, of)
	targets.each(func(doc uint64) bool {
		of.Doc = doc
		format.SetLinkOwner(key, of)
		for k, v := w.seek(key); k != nil && s.step(); k, v = w.next() {
			s.stats.links++
			other, _ := format.ParseLink(v)
			if other.Schema == j.f.bound.number && other.Locale == j.f.slot.Locale() {
				list.add(other.Doc)
			}
		}
		return s.failed == nil
	})
	return list
}

// walk walks over the links of all rows.
func (j *semijoin) walk(targets *docSet) docList {
	s := j.f.snap
	list := newDocList(j.f.rows())
	owning, sd, set := linksOf(j.attr, j.status)
	of := s.bound.of(&j.attr.Target.Schema).number
	c := s.takeCursor(format.Links)
	defer s.giveCursor(format.Links, c)
	all := s.appendLinkList(nil, owning, sd, set, format.End{Schema: j.f.bound.number, Locale: j.f.slot.Locale()})
	all = all[:len(all)-8] // without the number of the document
	s.stats.seeks++
	for k, v := c.Seek(all); bytes.HasPrefix(k, all) && s.step(); k, v = c.Next() {
		s.stats.links++
		target, _ := format.ParseLink(v)
		if target.Schema == of && target.Locale == j.slot.Locale() && (docSets{targets}).has(target.Doc) {
			list.add(format.OwnEnd(k).Doc)
		}
	}
	return list
}
