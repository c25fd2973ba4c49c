package conformance

import (
	"strings"
	"sync"
	"testing"
)

const (
	strictPercent = 98 // the least percentage of steps that must be strict
	listedPart    = 50 // at most one step in so many may be listed in differences.yaml
)

// TestSuites checks that every step is answered as recorded, except those that differences.yaml lists, and that every
// exchange over REST is as the OpenAPI document says.
func TestSuites(t *testing.T) {
	suites, err := LoadSuites("../../testdata/conformance/suites")
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var results []Result
	described := newContract()
	t.Run("suite", func(t *testing.T) {
		for _, s := range suites {
			t.Run(s.Name, func(t *testing.T) {
				if testing.Short() && s.hashesPasswords() {
					t.Skip("hashing takes minutes under the race detector")
				}
				t.Parallel()
				target := serve(t, s.ProjectDir(), nil)
				described.watch(t, target, s.ProjectDir())
				r := Replay(target, s)
				mu.Lock()
				defer mu.Unlock()
				results = append(results, r...)
			})
		}
	})
	judge(t, results, loadDifferences(t))
	described.judge(t)
}

// hashesPasswords reports whether many steps of a suite hash passwords, which is slow.
func (s *Suite) hashesPasswords() bool {
	return strings.HasPrefix(s.Name, "auth-") || strings.HasPrefix(s.Name, "graphql-mutation-users")
}

// judge checks the results of the suites: each step must be strict or listed in differences.yaml, and each listed step
// must differ. If only some suites were run (go test -run), it looks only at their steps.
func judge(t *testing.T, results []Result, d *Differences) {
	listed := map[string]bool{} // keyed by suite and step: whether the step was seen to differ
	for _, x := range d.Suites {
		listed[x.Suite+": "+x.Step] = false
	}
	var score struct {
		Score
		Listed int
	}
	ran := map[string]bool{}
	for i := range results {
		r := &results[i]
		score.Add(r)
		ran[r.Suite] = true
		if r.Strict() {
			continue
		}
		if _, ok := listed[r.Suite+": "+r.Key]; !ok {
			t.Errorf("not as recorded, and not listed in differences.yaml: %s", r)
			continue
		}
		listed[r.Suite+": "+r.Key] = true
		score.Listed++
	}
	for key, differs := range listed {
		if suite, _, _ := strings.Cut(key, ": "); ran[suite] && !differs {
			t.Errorf("listed in differences.yaml, and answered as recorded: %s", key)
		}
	}
	if score.Strict*100 < score.Total*strictPercent {
		t.Errorf("less than %d %% of the steps are answered as recorded", strictPercent)
	}
	if score.Listed*listedPart > score.Total && len(ran) > 1 {
		t.Errorf("%d steps are listed in differences.yaml: more than one in %d", score.Listed, listedPart)
	}
	t.Logf("%d suites: %s, %d of them listed in differences.yaml", len(ran), score.Score, score.Listed)
}
