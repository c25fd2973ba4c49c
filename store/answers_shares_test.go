package store_test

import (
	"fmt"
	"path/filepath"
	"sync/atomic"
	"testing"

	"lectern/store"
)

// onceOf returns the Once of a write of a caller under a key. Its answer has a body of so many bytes.
func onceOf(caller, key string, size int) *store.Once {
	o := onceFor("", answersBegin, size)
	var by, of store.Hash
	copy(by[:], caller)
	copy(of[20:], key)
	o.Key = store.KeyOf(by, of)
	return o
}

// TestAnswersAreShared has callers add answers until there are more than allowed. A caller who has more than their
// share loses their own answers, whoever adds more; nobody else loses one.
func TestAnswersAreShared(t *testing.T) {
	type added struct {
		caller     string
		count      int
		size, kept int // bytes of each body; how many are kept in the end, the newest ones
	}
	for _, tt := range []struct {
		name   string
		limits store.AnswerLimits
		adds   []added
	}{
		{"one caller adds large answers", store.AnswerLimits{MaxSize: 20_000},
			[]added{{"honest", 10, 100, 10}, {"greedy", 80, 900, -1}}},
		{"one caller adds many", store.AnswerLimits{Count: 50},
			[]added{{"honest", 20, 900, 20}, {"greedy", 200, 1, 30}}},
		{"others add when one has most", store.AnswerLimits{Count: 50},
			[]added{{"greedy", 50, 1, 20}, {"first", 15, 1, 15}, {"second", 15, 1, 15}}},
		{"all have their share", store.AnswerLimits{Count: 30},
			[]added{{"a", 10, 1, 10}, {"b", 10, 1, 10}, {"c", 20, 1, 10}}},
		{"an answer as large as the share", store.AnswerLimits{MaxSize: 3000},
			[]added{{"honest", 5, 10, 5}, {"large", 5, 900, 1}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, err := store.Open(filepath.Join(t.TempDir(), "content.db"), loadModel(t),
				store.Options{Answers: tt.limits})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			var calls atomic.Int64
			for _, a := range tt.adds {
				for i := range a.count {
					if err := s.WriteOnce(t.Context(), onceOf(a.caller, fmt.Sprint(i), a.size),
						addTags(1, &calls)); err != nil {
						t.Fatal(err)
					}
				}
			}
			count, size := keptAnswers(t, s)
			if tt.limits.Count > 0 && count > tt.limits.Count || tt.limits.MaxSize > 0 && size > tt.limits.MaxSize {
				t.Errorf("%d answers with %d bytes are kept", count, size)
			}
			for _, a := range tt.adds {
				kept := 0
				for i := range a.count {
					if err := s.View(func(snap *store.Snapshot) error {
						k, err := snap.KeptAnswer(onceOf(a.caller, fmt.Sprint(i), 0).Key, answersBegin)
						if k != nil {
							kept++
						} else if kept > 0 {
							t.Errorf("answer %d of %s is not kept, and an older one is", i, a.caller)
						}
						return err
					}); err != nil {
						t.Error(err)
					}
				}
				if a.kept >= 0 && kept != a.kept || kept == 0 {
					t.Errorf("%d answers of %s are kept, want %d", kept, a.caller, a.kept)
				}
			}
			if err := s.Check(); err != nil {
				t.Error(err)
			}
		})
	}
}
