package store

import "encoding/binary"

// The buckets of the file. Keys are big-endian throughout, so that bytes order as numbers do.
//
//	meta    names of counters, of the catalog and of notes (notes.go)
//	rows    schema u16 · slot u16 · doc u64                       → row (record.go)
//	docs    schema u16 · documentId                               → doc u64 · slot u16 …: the versions of the document
//	index   lower bound of a block of index keys                  → the block (block.go)
//	groups  lower bound of a group of blocks                      → entries u64 · blocks u32 (counted.go)
//	spans   lower bound of a span of groups                       → entries u64 · groups u32
//	links   schema u16 · field u16 · side u8 · link set u8 · ref · pos u64 → the other end (links.go)
//	log     sequence u64 [· part u32]                             → an entry, or a part of one (entry.go, log.go)
//	history sequence u64                                          → which entries changed which documents (touches.go)
//	answers a · sequence u64, k · key, c · caller, o · caller · sequence → answers that are kept under idempotency keys (answers.go)
//
// An index key is schema u16 · field u16 · slot u16 · value · id u64. That of an inner index has the path of the value before it (inner.go).
//
// A slot is a locale and a status: the number of the locale shifted left by one, plus one for drafts.
var (
	bucketMeta    = []byte("meta")
	bucketRows    = []byte("rows")
	bucketDocs    = []byte("docs")
	bucketIndex   = []byte("index")
	bucketGroups  = []byte("groups")
	bucketSpans   = []byte("spans")
	bucketLinks   = []byte("links")
	bucketLog     = []byte("log")
	bucketTouches = []byte("history")
	bucketAnswers = []byte("answers")

	allBuckets = [][]byte{bucketMeta, bucketRows, bucketDocs, bucketIndex, bucketGroups, bucketSpans, bucketLinks, bucketLog, bucketTouches, bucketAnswers}
)

// Keys of the bucket meta.
var (
	keyCatalog       = []byte("catalog")
	keyLocales       = []byte("locales")
	keyFormat        = []byte("format")
	keyReader        = []byte("reader")
	keyPending       = []byte("pending")
	keyIdentity      = []byte("identity")
	keyEpoch         = []byte("epoch")
	keySequence      = []byte("sequence")
	keyLogBefore     = []byte("log/before")
	keyLogBytes      = []byte("log/bytes")
	keyConverted     = []byte("history/converted")
	keyAnswerCount   = []byte("answers/count")
	keyAnswerBytes   = []byte("answers/bytes")
	keyAnswerCallers = []byte("answers/callers")
	keyDocs          = []byte("docs")
	keyItems         = []byte("items")
	keyPart          = []byte("part")           // of a partial replica (part.go)
	keyPartHash      = []byte("part/hash")      // the hash of the origin's last entry
	keyAppliedIndex  = []byte("cluster/agreed") // the index of the last transaction of the cluster that was applied (transaction.go)
	prefixRowID      = "id/"
	prefixRev        = "revision/"
	prefixNote       = "note/"
)

var be = binary.BigEndian

// A slot is a locale and a status as one number.
type slot uint16

func makeSlot(locale uint16, st Status) slot { return slot(locale<<1) | slot(st) }
func (s slot) locale() uint16                { return uint16(s >> 1) }
func (s slot) status() Status                { return Status(s & 1) }

func appendRowKey(b []byte, schema uint16, s slot, doc uint64) []byte {
	b = be.AppendUint16(b, schema)
	b = be.AppendUint16(b, uint16(s))
	return be.AppendUint64(b, doc)
}

// docKey returns the key of a document in the bucket docs.
func docKey(schema uint16, documentID string) []byte {
	return append(be.AppendUint16(nil, schema), documentID...)
}

// spaceLen is the length of the prefix that all index keys of one attribute and slot share.
const spaceLen = 6

// appendSpace appends the prefix of the index keys of one attribute and slot.
func appendSpace(b []byte, schema, field uint16, s slot) []byte {
	b = be.AppendUint16(b, schema)
	b = be.AppendUint16(b, field)
	return be.AppendUint16(b, uint16(s))
}

// successor returns the least key that is greater than all keys with a prefix, nil if there is none.
func successor(prefix []byte) []byte {
	s := append([]byte(nil), prefix...)
	for i := len(s) - 1; i >= 0; i-- {
		if s[i]++; s[i] != 0 {
			return s[:i+1]
		}
	}
	return nil
}
