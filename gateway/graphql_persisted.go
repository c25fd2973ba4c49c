package gateway

import (
	"crypto/sha256"
	hexadecimal "encoding/hex"
	"net/http"

	"lectern/internal/lru"
	"lectern/jsontree"
	"lectern/shadowcrud/graphql/language"
)

// persistedQueries holds the queries that clients have persisted, by hash. A nil *persistedQueries refuses to persist any.
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

const emptyMessage = "GraphQL operations must contain a non-empty `query` or a `persistedQuery` extension."

// resolve finds the persisted query of an operation that has only its hash.
func (p *persistedQueries) resolve(op *operationRequest) *graphqlError {
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
		return &graphqlError{status: http.StatusOK, message: "PersistedQueryNotSupported",
			code: "PERSISTED_QUERY_NOT_SUPPORTED", cache: "private, no-cache, must-revalidate"}
	}
	failed := func(message string) *graphqlError {
		return noStore(&graphqlError{status: http.StatusBadRequest, message: message, code: language.Internal})
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
		return &graphqlError{status: http.StatusOK, message: "PersistedQueryNotFound", code: "PERSISTED_QUERY_NOT_FOUND",
			cache: "private, no-cache, must-revalidate"}
	}
	op.query, op.hasQuery = query, true
	return nil
}
