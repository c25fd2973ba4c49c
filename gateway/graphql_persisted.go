package gateway

import (
	"container/list"
	"sync"
)

// persisted remembers the queries that clients have persisted, the last used of them: so many, and so many bytes.
type persisted struct {
	most int

	mu     sync.Mutex
	bytes  int
	byHash map[string]*list.Element
	order  *list.List // of persistedQuery, the last used in front
}

type persistedQuery struct{ hash, query string }

// How many persisted queries are remembered where nothing is said, and of how many bytes together.
const (
	defaultPersisted  = 1000
	maxPersistedBytes = 8 << 20
)

func newPersisted(most int) *persisted {
	if most <= 0 {
		most = defaultPersisted
	}
	return &persisted{most: most, byHash: map[string]*list.Element{}, order: list.New()}
}

func (p *persisted) find(hash string) (query string, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	e := p.byHash[hash]
	if e == nil {
		return "", false
	}
	p.order.MoveToFront(e)
	return e.Value.(persistedQuery).query, true
}

func (p *persisted) keep(hash, query string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.byHash[hash] != nil || len(query) > maxPersistedBytes/4 {
		return
	}
	p.byHash[hash] = p.order.PushFront(persistedQuery{hash, query})
	p.bytes += len(query)
	for len(p.byHash) > p.most || p.bytes > maxPersistedBytes {
		last := p.order.Remove(p.order.Back()).(persistedQuery)
		delete(p.byHash, last.hash)
		p.bytes -= len(last.query)
	}
}
