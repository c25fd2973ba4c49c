package gateway

import "lectern/internal/lru"

// persistedQueries holds the queries that clients have persisted, by hash.
type persistedQueries struct {
	*lru.Cache[string, string]
	most int
}

// Limits of the persisted queries: their number, unless the settings have another, and their bytes in total.
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
