package answers

import (
	"encoding/json"
	"fmt"
	"sort"
	"strings"

	"lectern/internal/simulation/program"
)

// InGraphQL makes a run use mostly GraphQL operations.
func (r *Run) InGraphQL() *Run {
	r.graphql = true
	r.Cover = NewGraphQLCoverage(r.Quirk)
	return r
}

// describe returns the text and the variables of a request.
func (r *Request) describe(w *World) string {
	query, variables := w.text(r)
	s := "POST /graphql"
	if r.Limited {
		s += " (limited)"
	}
	return s + " " + query + "\n" + program.JSON(variables)
}

// query sends a query and compares the response.
func (r *Run) query(q *Request) error {
	request := q.describe(r.world)
	before := r.reads()
	status, got, err := r.send(q)
	if err != nil {
		return err
	}
	read := r.reads().since(before)
	data, issues := r.world.Answer(q)
	if where := r.excessReads(q, read); where != "" {
		return &Difference{r.Seed, len(r.Done) - 1, request, where, legible(data), string(got)}
	}
	for _, f := range issues {
		r.Cover.Hit("fault", issueWord(f))
	}
	return r.compareAnswer(request, data, issues, status, got)
}

func (r *Run) send(q *Request) (int, []byte, error) {
	query, variables := r.world.text(q)
	return r.server.GraphQL(q.Limited, query, variables)
}

// mutate sends a mutation, compares the response, and reads back all versions of the documents that it wrote.
func (r *Run) mutate(op *Operation, o *operationGenerator) error {
	request := op.Graph.describe(r.world)
	status, got, err := r.send(op.Graph)
	if err != nil {
		return err
	}
	var there []bool
	for _, s := range op.Graph.Roots {
		there = append(there, r.there(s.Args.Write))
	}
	data, issues, outcomes, err := r.world.Mutate(op.Graph, r.settleListed)
	if err != nil {
		return err
	}
	for i, out := range outcomes {
		r.Writes++
		write := op.Graph.Roots[i].Args.Write
		if out.Reason != "" {
			request += "\n(to be refused: " + out.Reason + ")" + r.Model.about(out.Reason)
		}
		if out.Status != forbidden.Status {
			o.countWrite(write, out, there[i])
		}
	}
	if len(outcomes) == 1 && outcomes[0].Status == 400 {
		if err := r.refusalOf(r.world.permittedWrite(op.Graph.Roots[0].Args.Write, op.Graph.Limited),
			issues[0]); err != nil {
			return err
		}
	}
	for _, f := range issues {
		r.Cover.Hit("fault", issueWord(f))
	}
	if err := r.tolerated(r.compareAnswer(request, data, issues, status, got)); err != nil {
		return err
	}
	if err := r.learn(); err != nil {
		return err
	}
	if len(outcomes) > 1 { // positions that one write left open may have been changed by the next
		for _, s := range op.Graph.Roots {
			if err := r.readIDs(s.Args.Write); err != nil {
				return err
			}
		}
		if err := r.settle(); err != nil {
			return err
		}
	}
	for i, s := range op.Graph.Roots {
		write, out := s.Args.Write, outcomes[i]
		saved := (write.Kind == "create" || write.Kind == "update") && out.Row != nil && out.Row.Status == draft
		err := r.readBack(write, saved)
		if d, ok := err.(*Difference); ok {
			d.Request = request + "\nthen " + d.Request
		}
		if err != nil {
			return err
		}
	}
	if err := r.settle(); err != nil {
		return err
	}
	return r.remember(len(outcomes))
}

// learn reads the ids of new documents that no response has shown. A mutation shows nothing of a draft without a
// required value.
func (r *Run) learn() error {
	for _, d := range r.world.Docs {
		if d.ID.Value != nil || len(d.Rows) == 0 {
			continue
		}
		path := fmt.Sprintf("/api/%s?status=draft&locale=%s&sort=id:desc&pagination[limit]=100&fields=documentId",
			d.Type.Plural, d.Rows[0].Locale)
		if d.Type.Single {
			path = fmt.Sprintf("/api/%s?status=draft&locale=%s", d.Type.Singular, d.Rows[0].Locale)
		}
		_, got, err := r.server.Do("GET", path, nil)
		if err != nil {
			return err
		}
		for _, id := range textsIn(got, "documentId") {
			if d.ID.Value == nil && !r.world.knows(id) {
				d.ID.Value = id
			}
		}
	}
	return nil
}

// readIDs takes over the ids of the rows that a write has changed.
func (r *Run) readIDs(op *Operation) error {
	doc := r.world.made(op)
	if doc == nil {
		return nil
	}
	for _, row := range doc.Rows {
		q := &Question{Type: op.Type, Number: doc.Number, Status: row.Status, Locale: []string{row.Locale},
			Fields: []string{"id"}}
		if err := r.ask(q); err != nil {
			return err
		}
	}
	return nil
}

// textsIn returns the texts under a key anywhere in a response.
func textsIn(answer any, key string) []string {
	var found []string
	switch v := answer.(type) {
	case map[string]any:
		if s, ok := v[key].(string); ok {
			found = append(found, s)
		}
		found = append(found, textsIn(v["data"], key)...)
	case []any:
		for _, x := range v {
			found = append(found, textsIn(x, key)...)
		}
	}
	return found
}

func (w *World) knows(id string) bool {
	for _, d := range w.Docs {
		if d.ID.Value == id {
			return true
		}
	}
	return false
}

// refusalOf sends a refused write by REST as well, and takes the words of the refusal from there. A refused write
// changes nothing, and both APIs use the same words.
func (r *Run) refusalOf(op *Operation, f *Issue) error {
	var body any
	if op.Kind == "create" || op.Kind == "update" {
		body = map[string]any{"data": op.body(r.world)}
	}
	status, got, err := r.server.Do(op.method(), op.path(r.world), body)
	if err != nil {
		return err
	}
	answer, _ := got.(map[string]any)
	told, _ := answer["error"].(map[string]any)
	name, _ := told["name"].(string)
	if status != 400 || name == "" {
		return &Difference{r.Seed, len(r.Done) - 1, op.describe(r.world),
			fmt.Sprintf("status: wanted 400, got %d", status), "a refusal", printed(got)}
	}
	f.Code = codeOf(name)
	f.Message, _ = told["message"].(string)
	return nil
}

func issueWord(f *Issue) string {
	word := f.Code
	if strings.HasPrefix(f.Message, "Invalid key") {
		word = "invalid key"
	}
	return word
}

// A reportedIssue is an error as the response contains it.
type reportedIssue struct {
	Message    string
	Path       []any
	Extensions struct{ Code string }
}

// compareAnswer compares a GraphQL response with the expected one: the data byte by byte, the errors by message, code
// and path.
func (r *Run) compareAnswer(request string, data any, issues []*Issue, status int, got []byte) error {
	var answer struct {
		Errors []reportedIssue
		Data   json.RawMessage
	}
	where := ""
	switch err := json.Unmarshal(got, &answer); {
	case status != 200:
		where = fmt.Sprintf("status: wanted 200, got %d", status)
	case err != nil:
		where = "the answer is no JSON: " + err.Error()
	case len(issues) == 0 && string(got) != `{"data":`+string(answer.Data)+"}\n":
		where = "the answer is not data alone"
	}
	if where == "" {
		where = r.differentIssues(issues, answer.Errors)
	}
	if where == "" {
		where = match(data, answer.Data)
	}
	if where == "" {
		return nil
	}
	where += r.Model.about(where)
	return &Difference{r.Seed, len(r.Done) - 1, request, where, legible(data) + faultsText(issues), string(got)}
}

func faultsText(issues []*Issue) string {
	text := ""
	for _, f := range issues {
		text += fmt.Sprintf("\n  %s %s at %s", f.Code, f.Message, pathText(f.Path))
	}
	return text
}

// shareOne reports whether two lists have a common element.
func shareOne(a, b []string) bool {
	for _, x := range a {
		code, _, _ := strings.Cut(x, " at ")
		_, message, _ := strings.Cut(x, ": ")
		for _, y := range b {
			if strings.HasPrefix(y, code+" at ") && strings.HasSuffix(y, ": "+message) {
				return true
			}
		}
	}
	return false
}

// differentIssues compares errors and returns a description of the first difference.
func (r *Run) differentIssues(want []*Issue, got []reportedIssue) string {
	var a, b []string
	for _, f := range want {
		a = append(a, fmt.Sprintf("%s at %s: %s", f.Code, pathText(f.Path), f.Message))
	}
	for i, f := range got {
		for j, element := range f.Path {
			if n, ok := element.(float64); ok {
				f.Path[j] = int(n)
			}
		}
		if i < len(want) && want[i].Message == "" {
			f.Message = ""
		}
		b = append(b, fmt.Sprintf("%s at %s: %s", f.Extensions.Code, pathText(f.Path), f.Message))
	}
	if r.Quirk.ErrorsUnordered {
		sort.Strings(a)
		sort.Strings(b)
		if shareOne(a, b) { // when several errors have the same effect, the server may report any of them
			return ""
		}
	}
	for i := range max(len(a), len(b)) {
		switch {
		case i >= len(a):
			return "an error too many: " + b[i]
		case i >= len(b):
			return "an error is missing: " + a[i]
		case a[i] != b[i]:
			return "errors: wanted " + a[i] + ", got " + b[i]
		}
	}
	return ""
}
