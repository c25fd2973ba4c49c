package format

import "encoding/binary"

var be = binary.BigEndian

// A Bucket is the number of a bucket of the file. Keys are big-endian throughout, so that bytes order as numbers do.
//
//	meta    names of counters, of texts and of notes
//	catalog the catalog alone: a write of the counters would write its pages with theirs
//	rows    schema u16 · slot u16 · doc u64                       → row (row.go)
//	docs    schema u16 · documentId                               → doc u64 · slot u16 …: the versions of the document
//	index   lower bound of a block of index keys                  → the block (block.go)
//	young   lower bound of a young block                          → the block; in index, it has an empty one
//	groups  lower bound of a group of blocks                      → entries u64 · blocks u32 (block.go)
//	spans   lower bound of a span of groups                       → entries u64 · groups u32
//	links   schema u16 · field u16 · side u8 · link set u8 · end · pos u64 → the other end (links.go)
//	log     sequence u64 [· part u32]                             → an entry, or a part of one
//	history sequence u64                                          → which entries changed which documents
//	answers a · sequence u64, k · key, c · caller, o · caller · sequence → answers that are kept under idempotency keys
//	texts   schema u16 · slot u16 · doc u64                       → texts that are to be indexed (text.go)
//
// The names of counters and texts are below. An index key is schema u16 · field u16 · slot u16 · value · id u64. That
// of an inner index has the path of the value before it. That of a text index has another number of the field, and
// three bytes of the text as the value.
//
// A slot is a locale and a status: the number of the locale shifted left by one, plus one for drafts.
type Bucket int

// Numbers of buckets.
const (
	Rows Bucket = iota
	Docs
	Index
	Groups
	Spans
	Links
	Meta
	Log
	History
	Answers
	Catalog
	Young
	Texts
	BucketCount
)

// BucketNames are the names of the buckets in the file, by number.
var BucketNames = [BucketCount][]byte{
	Rows: []byte("rows"), Docs: []byte("docs"), Index: []byte("index"), Groups: []byte("groups"),
	Spans: []byte("spans"), Links: []byte("links"),
	Meta: []byte("meta"), Log: []byte("log"), History: []byte("history"), Answers: []byte("answers"),
	Catalog: []byte("catalog"),
	Young:   []byte("young"),
	Texts:   []byte("texts"),
}

// Name returns the name of the bucket in the file.
func (b Bucket) Name() []byte { return BucketNames[b] }

// Keys of the bucket meta, and prefixes of keys.
var (
	KeyCatalog       = []byte("catalog")
	KeyLocales       = []byte("locales")
	KeyFormat        = []byte("format")
	KeyReader        = []byte("reader")
	KeyPending       = []byte("pending")
	KeyIdentity      = []byte("identity")
	KeyEpoch         = []byte("epoch")
	KeySequence      = []byte("sequence")
	KeyLogBefore     = []byte("log/before")
	KeyLogBytes      = []byte("log/bytes")
	KeyConverted     = []byte("history/converted")
	KeyAnswerCount   = []byte("answers/count")
	KeyAnswerBytes   = []byte("answers/bytes")
	KeyAnswerCallers = []byte("answers/callers")
	KeyDocs          = []byte("docs")
	KeyItems         = []byte("items")
	KeyPart          = []byte("part")           // of a partial replica
	KeyPartHash      = []byte("part/hash")      // the hash of the origin's last entry
	KeyAppliedIndex  = []byte("cluster/agreed") // the index of the last transaction of the cluster that was applied
	PrefixRowID      = "id/"
	PrefixRev        = "revision/"
	PrefixNote       = "note/"
)

// A Status distinguishes the draft of a document from its published version. Types without draft & publish have
// published rows only.
type Status uint8

const (
	Published Status = iota
	Draft
)

// String returns the status as the content API calls it.
func (s Status) String() string {
	if s == Draft {
		return "draft"
	}
	return "published"
}

// A Slot is a locale and a status as one number.
type Slot uint16

// NewSlot returns the slot of a locale, by its number, and a status.
func NewSlot(locale uint16, st Status) Slot { return Slot(locale<<1) | Slot(st) }

// Locale returns the number of the locale.
func (s Slot) Locale() uint16 { return uint16(s >> 1) }

// Status returns the status.
func (s Slot) Status() Status { return Status(s & 1) }

// RowKeyLen is the length of the keys of rows.
const RowKeyLen = 2 + 2 + 8

// AppendRowKey appends the key of a row.
func AppendRowKey(b []byte, schema uint16, s Slot, doc uint64) []byte {
	b = be.AppendUint16(b, schema)
	b = be.AppendUint16(b, uint16(s))
	return be.AppendUint64(b, doc)
}

// SchemaKey returns the key, in the bucket meta, of a counter of a schema.
func SchemaKey(prefix string, schema uint16) []byte {
	return be.AppendUint16([]byte(prefix), schema)
}

// DocKey returns the key of a document in the bucket docs.
func DocKey(schema uint16, documentID string) []byte {
	return append(be.AppendUint16(nil, schema), documentID...)
}

// SpaceLen is the length of the prefix that all index keys of one attribute and slot share.
const SpaceLen = 6

// AppendSpace appends the prefix of the index keys of one attribute and slot.
func AppendSpace(b []byte, schema, field uint16, s Slot) []byte {
	b = be.AppendUint16(b, schema)
	b = be.AppendUint16(b, field)
	return be.AppendUint16(b, uint16(s))
}

// Successor returns the least key that is greater than all keys with a prefix, nil if there is none.
func Successor(prefix []byte) []byte {
	s := append([]byte(nil), prefix...)
	for i := len(s) - 1; i >= 0; i-- {
		if s[i]++; s[i] != 0 {
			return s[:i+1]
		}
	}
	return nil
}

// MaxLocales bounds how many locale codes a store can have.
const MaxLocales = 4096
