package store

import (
	"math"
	"sync/atomic"

	"lectern/contenttypes"
	"lectern/internal/lru"
)

// A setCache keeps the sets of documents that meet conditions, as long as no write changes what they depend on. So a
// condition that many rows meet costs a walk over its entries or links once, and then next to nothing.
type setCache struct {
	sets atomic.Pointer[lru.Cache[string, keptSet]] // by condition (see setKey); nil until there is one
}

type keptSet struct {
	revisions string // of the types on which the condition depends
	set       *docSet
}

const (
	maxKeptSets  = 4096
	maxKeptBytes = 32 << 20
)

// keptFrom is the cost of finding a set from which on it is kept. Only tests change it.
var keptFrom = 1024

// keeps reports whether a set is kept if it costs this much to find.
func (f *finder) keeps(cost int) bool {
	return cost >= keptFrom && f.snap.indexer == nil && f.snap.past == nil
}

// kept returns the documents in the slot that meet all filters, nil if that is not known.
func (f *finder) kept(filters []Filter) *docSet {
	sets := f.snap.store.sets.sets.Load()
	if sets == nil || !f.keeps(f.rows()) {
		return nil
	}
	k, ok := f.setKey(filters)
	if !ok {
		return nil
	}
	if x, ok := sets.Get(string(k.key)); ok && x.revisions == string(k.revisions()) {
		f.snap.stats.keptSets++
		return x.set
	}
	return nil
}

// keep keeps the set of the documents in the slot that meet all filters; nil is not kept.
func (f *finder) keep(filters []Filter, set *docSet) {
	k, ok := f.setKey(filters)
	if !ok || set == nil || f.snap.failed != nil {
		return
	}
	c := &f.snap.store.sets.sets
	if c.Load() == nil {
		c.CompareAndSwap(nil, lru.New[string, keptSet](maxKeptSets, maxKeptBytes))
	}
	revisions := string(k.revisions())
	c.Load().Put(string(k.key), keptSet{revisions, set}, int(set.GetSizeInBytes())+len(k.key)+len(revisions)+128)
}

// A setKey is the text of a condition on the rows of a slot, and the types on whose rows and links it depends.
type setKey struct {
	snap  *Snapshot
	key   []byte
	types []*contenttypes.ContentType
}

// keyBuffers is the memory of the last setKey of a snapshot.
type keyBuffers struct {
	key, revisions []byte
	types          []*contenttypes.ContentType
}

// setKey returns the key of a conjunction. ok is false if a filter depends on more than the types that it names.
func (f *finder) setKey(filters []Filter) (k setKey, ok bool) {
	k = setKey{f.snap, f.snap.keys.key[:0], append(f.snap.keys.types[:0], f.query.Type)}
	k.key = be.AppendUint16(be.AppendUint16(k.key, f.bound.number), uint16(f.slot))
	k.key = append(k.key, byte(f.query.Status))
	ok = k.all(filters, f.query.Status)
	f.snap.keys.key, f.snap.keys.types = k.key, k.types
	return k, ok
}

func (k *setKey) revisions() []byte {
	b := &k.snap.keys
	b.revisions = k.snap.AppendRevisions(b.revisions[:0], k.types)
	return b.revisions
}

func (k *setKey) all(filters []Filter, status Status) bool {
	k.key = be.AppendUint32(k.key, uint32(len(filters)))
	for _, f := range filters {
		if !k.filter(f, status) {
			return false
		}
	}
	return true
}

// The kinds of filters in keys.
const (
	keyAnd = iota
	keyOr
	keyNot
	keyCompare
	keyThrough
	keySeen
	keyPublication
	keySearch
)

// filter appends a filter on rows that are shown in a status.
func (k *setKey) filter(f Filter, status Status) bool {
	switch f := f.(type) {
	case nil:
		return k.list(keyAnd, nil, status)
	case And:
		return k.list(keyAnd, f, status)
	case Or:
		return k.list(keyOr, f, status)
	case Not:
		k.key = append(k.key, keyNot)
		return k.filter(f.Filter, status)
	case Compare:
		k.key = append(k.key, keyCompare, byte(f.Op))
		k.attr(f.Attr)
		return k.values(f.Values)
	case Through:
		k.key = append(k.key, keyThrough)
		return k.through(f, status)
	case Publication:
		k.key = append(k.key, keyPublication, byte(f.State))
		return f.Sight == nil
	case Search:
		k.key = append(k.key, keySearch)
		k.text(f.Text)
		k.key = be.AppendUint32(k.key, uint32(len(f.Attrs)))
		for _, a := range f.Attrs {
			k.attr(a)
		}
		return true
	}
	return false
}

func (k *setKey) list(kind byte, list []Filter, status Status) bool {
	k.key = append(k.key, kind)
	return k.all(list, status)
}

func (k *setKey) through(f Through, status Status) bool {
	k.attr(f.Attr)
	if f.Attr.IsRelation() && !f.Attr.System {
		if f.Attr.Target == nil {
			return false
		}
		k.types = append(k.types, f.Attr.Target)
	}
	if limited, ok := f.Filter.(Seen); ok {
		f.Filter = limited.Filter
		if seen := limitsOf(limited.Sight, f.Attr, status).of(f.Attr.Target); seen != nil {
			k.key = append(k.key, keySeen, byte(seen.status))
			status = seen.status
			if !k.all(seen.filters, status) {
				return false
			}
		}
	}
	return k.filter(f.Filter, status)
}

func (k *setKey) attr(a *contenttypes.Attribute) {
	k.key = be.AppendUint16(be.AppendUint16(k.key, k.snap.bound.of(a.Owner).number), uint16(a.Index))
}

func (k *setKey) text(s string) { k.key = append(be.AppendUint32(k.key, uint32(len(s))), s...) }

func (k *setKey) values(values []any) bool {
	k.key = be.AppendUint32(k.key, uint32(len(values)))
	for _, v := range values {
		switch v := v.(type) {
		case nil:
			k.key = append(k.key, 'n')
		case bool:
			k.key = append(k.key, 'f')
			if v {
				k.key[len(k.key)-1] = 't'
			}
		case float64:
			k.key = be.AppendUint64(append(k.key, 'd'), math.Float64bits(v))
		case int64:
			k.key = be.AppendUint64(append(k.key, 'i'), uint64(v))
		case string:
			k.key = append(k.key, 's')
			k.text(v)
		default:
			return false
		}
	}
	return true
}
