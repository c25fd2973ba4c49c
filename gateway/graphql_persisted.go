package gateway

import "lectern/internal/lru"

// persistedQueries holds the queries that clients have persisted, by hash.
type persistedQueries struct {
	*lru.Cache[string, string]
	most int
}

// How many persisted queries are kept where the settings do not say, and of how many bytes together.
const (
	defaultPersisted  = 1000
	maxPersistedBytes = 8 << 20
)

func newPersistedQueries(most int) *persistedQueries {
	if most <= 0 {
		most = defaultPersisted
	}
	return &persistedQueries{lru.New[string, string](most, maxPersistedBytes), most}
}
