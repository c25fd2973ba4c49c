package store

import (
	"maps"

	"lectern/store/internal/format"
	"lectern/store/internal/logentry"
)

// answers checks that the answers, their index by key and their counters agree.
func (c *checker) answers() {
	count, size := 0, int64(0)
	names := map[Hash]uint64{} // the latest sequence under each key
	owners := answerOwners{owned: map[uint64]ownedAnswer{}, told: map[string]answerShare{}, held: map[string]answerShare{}}
	c.each(format.Answers, func(k, v []byte) {
		v = format.WithoutChecksum(v)
		switch {
		case len(k) == 9 && k[0] == prefixAnswer:
			count, size = count+1, size+int64(len(v)+answerOverhead)
			key, _, err := logentry.ParseAnswer(v)
			if err != nil {
				c.report("answer %x: %w", k, err)
			}
			c.take(2 * len(key))
			names[key] = be.Uint64(k[1:]) // answers come before keys
			owners.owned[be.Uint64(k[1:])] = ownedAnswer{string(key.Caller()), int64(len(v) + answerOverhead)}
		case len(k) == 1+logentry.CallerLen && k[0] == prefixAnswerCaller && len(v) == 16:
			c.take(len(k))
			owners.told[string(k[1:])] = readShare(v)
		case len(k) == 1+logentry.CallerLen+8 && k[0] == prefixAnswerOf && len(v) == 8:
			if caller := string(k[1 : 1+logentry.CallerLen]); !owners.hold(caller, be.Uint64(k[1+logentry.CallerLen:]), int64(be.Uint64(v))) {
				c.report("answer of a caller %x: there is none of this size", k)
			}
		case len(k) == 1+len(Hash{}) && k[0] == prefixAnswerKey && len(v) == 8:
			key := Hash(k[1:])
			if sequence, ok := names[key]; !ok || sequence != be.Uint64(v) {
				c.report("answer key %x: leads to %d, the answer is under %d", k, be.Uint64(v), sequence)
			}
			delete(names, key)
		default:
			c.report("answer %x: malformed", k)
		}
	})
	for key, sequence := range names {
		c.report("answer %d: its key %x is missing", sequence, key)
	}
	if callers := getNumber(c.snap.bucket(format.Meta), format.KeyAnswerCallers); !maps.Equal(owners.told, owners.held) || int(callers) != len(owners.held) {
		c.report("answers: those of callers are counted as %v of %d callers, and are %v", owners.told, callers, owners.held)
	}
	if n, bytes := c.snap.KeptAnswers(); n != count || bytes != size {
		c.report("answers: the counters say %d with %d bytes, there are %d with %d", n, bytes, count, size)
	}
}

// answerOwners are what the checker knows of the callers whose answers are kept.
type answerOwners struct {
	owned map[uint64]ownedAnswer // by sequence
	told  map[string]answerShare // by the counters
	held  map[string]answerShare // by the index
}

type ownedAnswer struct {
	caller string
	bytes  int64
}

// hold counts an answer in the index of a caller. It reports whether there is one.
func (o *answerOwners) hold(caller string, sequence uint64, bytes int64) bool {
	share := o.held[caller]
	o.held[caller] = answerShare{share.count + 1, share.bytes + bytes}
	return o.owned[sequence] == ownedAnswer{caller, bytes}
}
