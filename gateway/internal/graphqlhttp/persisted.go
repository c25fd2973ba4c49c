package graphqlhttp

import (
	"crypto/sha256"
	hexadecimal "encoding/hex"
	"net/http"

	"lectern/internal/lru"
	"lectern/jsontree"
	"lectern/shadowcrud/graphql/language"
)

// Persisted holds the queries that clients have persisted, by hash. A nil *Persisted refuses to persist any.
type Persisted struct {
	*lru.Cache[string, string]
	most int
}

// Limits of the persisted queries: their number, unless the settings have another, and their bytes in total.
const (
	defaultPersisted  = 1000
	maxPersistedBytes = 8 << 20
)

// WithLimit returns p if it holds at most this number of queries, and otherwise a Persisted that does and has none yet.
// 0 stands for the usual number.
func (p *Persisted) WithLimit(most int) *Persisted {
	if most <= 0 {
		most = defaultPersisted
	}
	if p != nil && p.most == most {
		return p
	}
	return &Persisted{lru.New[string, string](most, maxPersistedBytes), most}
}

const emptyMessage = "GraphQL operations must contain a non-empty `query` or a `persistedQuery` extension."

// resolve finds the persisted query of an operation that has only its hash.
func (p *Persisted) resolve(op *operation) *refusal {
	var asked *jsontree.Object
	if op.extensions != nil {
		asked, _ = op.extensions.Value("persistedQuery").(*jsontree.Object)
	}
	if asked == nil {
		if !op.hasQuery {
			return noStore(badRequest(emptyMessage))
		}
		return nil
	}
	if p == nil {
		return &refusal{status: http.StatusOK, message: "PersistedQueryNotSupported",
			code: "PERSISTED_QUERY_NOT_SUPPORTED", cache: "private, no-cache, must-revalidate"}
	}
	failed := func(message string) *refusal {
		return noStore(&refusal{status: http.StatusBadRequest, message: message, code: language.Internal})
	}
	if version, ok := asked.Value("version").(jsontree.Number); !ok || version.Float() != 1 {
		return failed("Unsupported persisted query version")
	}
	op.hash = asked.Text("sha256Hash")
	if op.hasQuery {
		sum := sha256.Sum256([]byte(op.query))
		if hexadecimal.EncodeToString(sum[:]) != op.hash {
			return failed("provided sha does not match query")
		}
		op.persist = true
		return nil
	}
	query, ok := p.Get(op.hash)
	if !ok {
		return &refusal{status: http.StatusOK, message: "PersistedQueryNotFound", code: "PERSISTED_QUERY_NOT_FOUND",
			cache: "private, no-cache, must-revalidate"}
	}
	op.query, op.hasQuery = query, true
	return nil
}
