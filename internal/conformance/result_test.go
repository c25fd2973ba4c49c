package conformance

import (
	"errors"
	"fmt"
	"strings"
)

// A Result is the outcome of one step.
type Result struct {
	Suite string
	Key   string // see Suite.StepKey
	Step  *Step
	Diffs []Diff
}

// Strict reports whether the entire response matched.
func (r *Result) Strict() bool { return len(r.Diffs) == 0 }

// Core reports whether nothing differed, or only the wording of errors.
func (r *Result) Core() bool {
	for _, d := range r.Diffs {
		if !d.Words() {
			return false
		}
	}
	return true
}

func (r *Result) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s: %s %s", r.Suite, r.Key, r.Step.Method(), r.Step.Request.Path)
	for _, d := range r.Diffs {
		fmt.Fprintf(&b, "\n\t%s", d)
	}
	return b.String()
}

// Replay sends the steps of a suite in order to a server with an empty store, and returns their results.
func Replay(t *Target, s *Suite) []Result {
	m := NewMatcher()
	results := make([]Result, len(s.Steps))
	for i := range s.Steps {
		step := &s.Steps[i]
		results[i] = Result{Suite: s.Name, Key: s.StepKey(i), Step: step, Diffs: m.exchange(t, step)}
	}
	return results
}

func (m *Matcher) exchange(t *Target, s *Step) []Diff {
	a, err := t.Send(s, m.Vars)
	if err != nil {
		return []Diff{{At: "request", Why: err.Error()}}
	}
	fromBody, fromCookies := map[string]string{}, map[string]string{}
	for name, path := range s.Save {
		if rest, ok := strings.CutPrefix(path, "cookies."); ok {
			fromCookies[name] = rest
		} else {
			fromBody[name] = path
		}
	}
	if err := errors.Join(m.Save(fromBody, a.Body), m.Save(fromCookies, a.Cookies)); err != nil {
		return []Diff{{At: "request", Why: err.Error(), Got: a.Body}}
	}
	diffs, err := m.Match(&s.Expect, a)
	if err != nil {
		return []Diff{{At: "request", Why: err.Error()}}
	}
	return diffs
}

// A Score counts steps by result.
type Score struct{ Total, Core, Strict int }

// Add counts the result of one step.
func (s *Score) Add(r *Result) {
	s.Total++
	if r.Core() {
		s.Core++
	}
	if r.Strict() {
		s.Strict++
	}
}

func (s Score) String() string {
	return fmt.Sprintf("core %d/%d  strict %d/%d", s.Core, s.Total, s.Strict, s.Total)
}
