package movein

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"lectern/contenttypes"
	"lectern/documents/values"
	"lectern/jsontree"
	"lectern/store"
)

// A Policy says what becomes of values that break a rule of their definition, because they were written under another
// one.
type Policy string

const (
	KeepOrStop Policy = ""          // values that their attribute can hold are kept; if there are others, or a unique value twice, Move stops
	Keep       Policy = "keep"      // the same are kept, unique values too, and the others are left out
	LeaveOut   Policy = "leave-out" // all are left out
)

// A Misfit is a rule of the definitions that values of the source break. `lectern check` lists those that were kept.
type Misfit struct {
	Attribute string        `json:"attribute"` // uid of its type or component, and its name
	Problem   string        `json:"problem"`   // completes a sentence that begins with the attribute
	Outcome   Outcome       `json:"outcome"`
	Count     int           `json:"count"`
	Remedy    string        `json:"remedy"` // what to do about each of them
	Values    []MisfitValue `json:"values"` // the first of them, at most maxMisfitValues
}

// An Outcome is what became of a value that breaks a rule.
type Outcome string

const (
	Kept    Outcome = "kept"
	LeftOut Outcome = "left out"
	Refused Outcome = "refused" // Move stops
)

// A MisfitValue is a value that breaks a rule.
type MisfitValue struct {
	Type       string `json:"type"`
	DocumentID string `json:"documentId"`
	Locale     string `json:"locale,omitempty"`
	Status     string `json:"status"`
	Path       string `json:"path"`  // of the attribute in the document
	Value      string `json:"value"` // as JSON, cut after maxMisfitText bytes; "" if it is secret
}

const (
	maxMisfitValues = 100
	maxMisfitText   = 120
	maxPrinted      = 5 // values of a misfit that are printed
)

// lines describes a misfit for people: one line for each value.
func (m *Misfit) lines() (list []string) {
	for _, v := range m.Values[:min(len(m.Values), maxPrinted)] {
		where := v.Type + " " + v.DocumentID
		if v.Locale != "" {
			where += " " + v.Locale
		}
		value := ""
		if v.Value != "" {
			value = ", and is " + v.Value
		}
		list = append(list, fmt.Sprintf("%s %s: %s: %s%s; %s", where, v.Status, v.Path, m.Problem, value, m.Remedy))
	}
	if more := m.Count - len(list); more > 0 {
		list = append(list, fmt.Sprintf("%d more values of %s, which %s; %s", more, m.Attribute, m.Problem, m.Remedy))
	}
	return list
}

// print writes a misfit for people.
func (m *Misfit) print(w io.Writer) {
	for _, line := range m.lines() {
		fmt.Fprintf(w, "%s: %s\n", m.Outcome, line)
	}
}

// misfits collects Misfits.
type misfits struct {
	policy Policy
	found  map[misfitKey]*Misfit
	path   []string // of the component whose values are read
}

type misfitKey struct {
	attribute, problem string
	outcome            Outcome
}

func newMisfits(p Policy) *misfits { return &misfits{policy: p, found: map[misfitKey]*Misfit{}} }

// outcome returns what becomes of a value that breaks a rule. held says whether it can be kept without losing anything
// else.
func (ms *misfits) outcome(problem string, held bool) Outcome {
	switch {
	case ms.policy == LeaveOut, ms.policy == Keep && !held:
		return LeftOut
	case !held, ms.policy == KeepOrStop && problem == takenProblem:
		return Refused
	}
	return Kept
}

// add adds a value of a row.
func (ms *misfits) add(a *contenttypes.Attribute, problem string, outcome Outcome, r *row, v any) {
	key := misfitKey{fieldName(a), problem, outcome}
	m := ms.found[key]
	if m == nil {
		m = &Misfit{Attribute: key.attribute, Problem: problem, Outcome: outcome, Remedy: remedy(a, problem, outcome)}
		ms.found[key] = m
	}
	if m.Count++; m.Count > maxMisfitValues {
		return
	}
	shown := ""
	if a.Type != contenttypes.Password {
		if shown = string(jsontree.Append(nil, v)); len(shown) > maxMisfitText {
			shown = strings.ToValidUTF8(shown[:maxMisfitText], "") + "…"
		}
	}
	path := strings.Join(append(ms.path, a.Name), ".")
	m.Values = append(m.Values, MisfitValue{r.typ.UID, r.documentID, r.locale, r.status.String(), path, shown})
}

// list returns the misfits, sorted.
func (ms *misfits) list() []Misfit {
	list := make([]Misfit, 0, len(ms.found))
	for _, m := range ms.found {
		list = append(list, *m)
	}
	slices.SortFunc(list, func(a, b Misfit) int {
		return cmp.Or(cmp.Compare(a.Attribute, b.Attribute), cmp.Compare(a.Problem, b.Problem),
			cmp.Compare(a.Outcome, b.Outcome))
	})
	return list
}

// refusal returns a Difference if a value was refused.
func (ms *misfits) refusal() error {
	var d Difference
	more := 0
	for _, m := range ms.list() {
		if m.Outcome != Refused {
			continue
		}
		for _, line := range m.lines() {
			if len(d.Lines) < maxDifferences {
				d.Lines = append(d.Lines, line)
			} else {
				more++
			}
		}
	}
	if more > 0 {
		d.Lines = append(d.Lines, fmt.Sprintf("and %d more", more))
	}
	if len(d.Lines) == 0 {
		return nil
	}
	return &d
}

const (
	takenProblem  = "must be unique, and another document has the value"
	linkedProblem = "leads to a document that only one document may link to, as another does"
)

// remedy says what to do about a value that breaks a rule.
func remedy(a *contenttypes.Attribute, problem string, outcome Outcome) string {
	switch {
	case outcome == Refused && problem == takenProblem:
		return "--misfits keep keeps it, --misfits leave-out leaves it out"
	case outcome == Refused:
		return "--misfits keep leaves it out, or change it, or the definition, in the source"
	case a.Type == contenttypes.Password && a.Owner.UID == contenttypes.UserUID:
		return "the user asks for a new password: POST /api/auth/forgot-password"
	case problem == linkedProblem:
		return "link it by a write"
	case outcome == LeftOut:
		return "write another value, or change the definition and move in again"
	case problem == takenProblem:
		return "write another value to one of the documents"
	case a.Type == contenttypes.Enumeration:
		return "add it to the enum of the attribute, or write another value"
	case a.IsScalar() && problem == values.RequiredAndMissing:
		return "write a value, or let `lectern migrate fill` do it"
	}
	return "change the rule in the definition, or write another value"
}

// fit returns the value of a scalar attribute as it comes along, nil if it does not. r is the row that it belongs to.
func (sp *spooler) fit(a *contenttypes.Attribute, v any, r *row) any {
	f := values.Fit(a, v, strict(r))
	if f.Problem == "" && strict(r) && sp.isTaken(a, f.Value, r) {
		f.Problem = takenProblem
	}
	if f.Problem == "" {
		return f.Value
	}
	outcome := Kept
	if v != nil {
		outcome = sp.misfits.outcome(f.Problem, f.Value != nil)
	}
	sp.misfits.add(a, f.Problem, outcome, r, v)
	if outcome != Kept {
		return nil
	}
	return f.Value
}

// fitItems notes it if a component attribute holds too few or too many components.
func (sp *spooler) fitItems(a *contenttypes.Attribute, n int, r *row) {
	if !strict(r) {
		return
	}
	if problem := values.FitItems(a, n); problem != "" {
		sp.misfits.add(a, problem, Kept, r, jsontree.Number(strconv.Itoa(n)))
	}
}

// strict reports whether all rules are for a row, as they are for published versions. Only the server writes built-in
// types other than users.
func strict(r *row) bool {
	return r.status == store.Published && (!r.typ.BuiltIn || r.typ.UID == contenttypes.UserUID)
}

// isTaken reports whether a published version that came before has a unique value.
func (sp *spooler) isTaken(a *contenttypes.Attribute, v any, r *row) bool {
	if v == nil || v == "" || !a.IsUnique() {
		return false
	}
	var where strings.Builder
	where.WriteString(fieldName(a))
	for _, name := range sp.misfits.path {
		if _, err := strconv.Atoi(name); err != nil { // a name, not an index in a list
			where.WriteString(" " + name)
		}
	}
	key := sp.hash(r.typ.UID, r.locale, where.String(), string(jsontree.Append(nil, v)))
	taken := sp.unique[key]
	sp.unique[key] = true
	return taken
}
