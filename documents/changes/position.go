package changes

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"hash"
	"iter"
	"math"
	"math/bits"
	"strings"

	"lectern/store"
)

// A Position is a place in the changes that a reader has got to. It says what the reader has: all documents of some
// types as they were after an entry of the log, and perhaps a part of the documents of one type more. The zero Position
// is that of a reader who has nothing.
type Position struct {
	store.Position
	skip   uint64 // how many changes of the next entry the reader has
	filter uint32 // the fingerprint of the filter; 0: the position is one of the log alone
	// ahead is the sequence up to which the reader may have newer states of documents, because a walk has read them; 0
	// if it has none.
	ahead uint64
	types typeSet // the types whose documents the reader has
	walk  walk    // what the reader is getting beside the log
	// sealed says that rules limit what the reader sees, so that it must not learn from the position how much is in the
	// log. rules is a number for those that hold for its types, 0 for none; wide says that one of them follows
	// relations.
	sealed, wide bool
	rules        uint64
}

// IsSealed reports whether the text of the position tells its reader nothing, and is another one each time.
func (p Position) IsSealed() bool { return p.sealed }

// after returns the position of a reader that has read the entries up to a sequence.
func (p Position) after(sequence uint64) Position {
	p.Sequence, p.skip = sequence, 0
	if p.ahead <= sequence {
		p.ahead = 0
	}
	return p
}

// Unknown is a position that no log reaches.
var Unknown = Position{filter: math.MaxUint32}

// HasTypes reports whether the reader has types whose documents it must see removed when it may no longer find them.
func (p Position) HasTypes() bool { return p.types != "" || p.walk.kind != 0 }

// A walk goes through all documents of a type, in the order of locales and then of their numbers.
type walk struct {
	kind   walkKind
	typ    uint16
	locale uint16 // the index in store.Snapshot.Locales
	doc    uint64 // the last document
	done   uint64 // how many changes the walk has made
}

type walkKind byte

const (
	adding   walkKind = iota + 1 // the reader may find the type now
	removing                     // the reader may no longer find it
	walkKinds
)

// A typeSet is a set of numbers of types: a bit for each number.
type typeSet string

func (s typeSet) has(n uint16) bool { return int(n/8) < len(s) && s[n/8]&(1<<(n%8)) != 0 }

func (s typeSet) with(n uint16) typeSet {
	b := append([]byte(s), make([]byte, max(0, int(n/8)+1-len(s)))...)
	b[n/8] |= 1 << (n % 8)
	return typeSet(b)
}

func (s typeSet) without(n uint16) typeSet {
	if !s.has(n) {
		return s
	}
	b := []byte(s)
	b[n/8] &^= 1 << (n % 8)
	for len(b) > 0 && b[len(b)-1] == 0 {
		b = b[:len(b)-1]
	}
	return typeSet(b)
}

// each returns the numbers in the set in order.
func (s typeSet) each() iter.Seq[uint16] {
	return func(yield func(uint16) bool) {
		for i := range len(s) {
			for b := s[i]; b != 0; b &= b - 1 {
				if !yield(uint16(8*i + bits.TrailingZeros8(b))) {
					return
				}
			}
		}
	}
}

// firstWithout returns the least number that is in s and not in other.
func (s typeSet) firstWithout(other typeSet) (n uint16, ok bool) {
	for n := range s.each() {
		if !other.has(n) {
			return n, true
		}
	}
	return 0, false
}

// Touched says what a part of the log has changed, so that those who wait for changes of other types need not be woken.
type Touched struct {
	types typeSet
	// BuiltIn says that documents of built-in types were changed: perhaps users, roles or tokens, and with them
	// permissions.
	BuiltIn bool
	All     bool // anything may have been changed
}

// mostTouched is how many entries TouchedSince reads at most.
const mostTouched = 1000

// TouchedSince returns what was changed after a position of the log, and the position behind it.
func TouchedSince(s *store.Snapshot, after store.Position) (t Touched, head store.Position, err error) {
	if head, err = s.Position(); err != nil {
		return t, head, err
	}
	entries, err := s.Entries(after)
	if err != nil || head.Sequence-after.Sequence > mostTouched {
		return Touched{All: true, BuiltIn: true}, head, nil
	}
	for e, err := range entries {
		if err != nil {
			return t, head, err
		}
		list, err := s.VersionChanges(e)
		if err != nil || e.Kind != store.BatchEntry {
			return Touched{All: true, BuiltIn: true}, head, nil
		}
		for i := range list {
			t.types = t.types.with(s.TypeNumber(list[i].Type))
			t.BuiltIn = t.BuiltIn || list[i].Type.BuiltIn
		}
	}
	return t, head, s.Err()
}

// Concerns reports whether a reader at a position may have to see what was changed.
func (t *Touched) Concerns(p Position) bool {
	if t.All || p.walk.kind != 0 || p.wide {
		return true
	}
	for number := range t.types.each() {
		if p.types.has(number) {
			return true
		}
	}
	return false
}

// A Codec encodes positions as texts for clients, and signs them: a position tells which types its reader could find,
// and a reader who could change that would get the documentIds of others. A Codec must be used by one goroutine at a
// time.
type Codec struct {
	mac  hash.Hash
	seal cipher.Block
	buf  []byte
}

// NewCodec returns a Codec that signs and seals with a secret.
func NewCodec(secret []byte) *Codec {
	key := func(use string) []byte {
		h := hmac.New(sha256.New, secret)
		h.Write([]byte(use))
		return h.Sum(nil)
	}
	seal, _ := aes.NewCipher(key("sealed position of a change feed")) // takes each key of this length
	return &Codec{mac: hmac.New(sha256.New, key("position of a change feed")), seal: seal}
}

// macLen is how many bytes of a signature are kept.
const macLen = 10

// Beginning is the text of the zero Position.
const Beginning = "0"

// Append appends the text of a position: that of the position of the log, and behind a hyphen the rest in base64. All
// of a sealed one is encrypted.
func (c *Codec) Append(b []byte, p Position) []byte {
	if p == (Position{}) {
		return append(b, Beginning...)
	}
	if p.sealed {
		return c.appendSealed(b, p)
	}
	begin := len(b)
	b = append(b, p.Position.String()...)
	if p.filter == 0 {
		return b
	}
	raw := p.appendRest(c.buf[:0])
	c.buf = c.sign(raw, b[begin:], raw)
	return base64.RawURLEncoding.AppendEncode(append(b, '-'), c.buf)
}

// appendRest appends what a position says beside that of the log.
func (p *Position) appendRest(raw []byte) []byte {
	raw = binary.BigEndian.AppendUint32(raw, p.filter)
	raw = binary.AppendUvarint(binary.AppendUvarint(raw, p.skip), p.ahead)
	raw = append(binary.AppendUvarint(raw, uint64(len(p.types))), p.types...)
	raw = append(raw, byte(p.walk.kind))
	if w := p.walk; w.kind != 0 {
		raw = binary.AppendUvarint(binary.AppendUvarint(raw, uint64(w.typ)), uint64(w.locale))
		raw = binary.AppendUvarint(binary.AppendUvarint(raw, w.doc), w.done)
	}
	return raw
}

// sign appends the signature of a position: of the text of its log position, and the rest.
func (c *Codec) sign(b, text, rest []byte) []byte {
	c.mac.Reset()
	c.mac.Write(text)
	c.mac.Write([]byte{'-'})
	c.mac.Write(rest)
	n := len(b) + macLen
	return c.mac.Sum(b)[:n]
}

// Parse parses the text of a position. It takes positions of the log too. The error wraps store.ErrOtherEpoch.
func (c *Codec) Parse(text string) (Position, error) {
	if text == "" || text == Beginning {
		return Position{}, nil
	}
	if strings.HasPrefix(text, sealedPrefix) {
		return c.parseSealed(text)
	}
	epoch, rest, _ := strings.Cut(text, "-")
	sequence, rest, signed := strings.Cut(rest, "-")
	logged := epoch + "-" + sequence
	at, err := store.ParsePosition(logged)
	bad := fmt.Errorf("%q: %w", text, store.ErrOtherEpoch)
	switch {
	case err == nil && at == store.Position{}: // no log has it: it would be taken for the zero Position
		return Position{}, bad
	case err != nil || !signed:
		return Position{Position: at}, err
	}
	raw, err := base64.RawURLEncoding.Strict().DecodeString(rest)
	if n := len(raw) - macLen; err != nil || n < 0 || !hmac.Equal(c.sign(nil, []byte(logged), raw[:n]), raw[n:]) {
		return Position{}, bad
	}
	d := decoder{raw: raw[:len(raw)-macLen]}
	p := d.position(at)
	if d.failed || len(d.raw) > 0 || p.filter == 0 {
		return Position{}, bad
	}
	return p, nil
}

// position reads what a position says beside that of the log.
func (d *decoder) position(at store.Position) Position {
	p := Position{Position: at, filter: d.fixed()}
	p.skip, p.ahead = d.number(1<<48), d.number(1<<48)
	p.types = typeSet(d.take(d.number(1 << 13)))
	if p.walk.kind = walkKind(d.number(uint64(walkKinds) - 1)); p.walk.kind != 0 {
		p.walk.typ, p.walk.locale = uint16(d.number(1<<16-1)), uint16(d.number(1<<16-1))
		p.walk.doc, p.walk.done = d.number(1<<48), d.number(1<<48)
	}
	return p
}

// A decoder reads numbers and texts one after the other. Once one cannot be read it has failed, and returns zero
// values.
type decoder struct {
	raw    []byte
	failed bool
}

func (d *decoder) take(n uint64) []byte {
	if d.failed = d.failed || n > uint64(len(d.raw)); d.failed {
		return nil
	}
	b := d.raw[:n]
	d.raw = d.raw[n:]
	return b
}

func (d *decoder) fixed() uint32 {
	if b := d.take(4); b != nil {
		return binary.BigEndian.Uint32(b)
	}
	return 0
}

// number reads a number that is at most most.
func (d *decoder) number(most uint64) uint64 {
	n, size := binary.Uvarint(d.raw)
	if d.failed = d.failed || size <= 0 || n > most; d.failed {
		return 0
	}
	d.raw = d.raw[size:]
	return n
}
