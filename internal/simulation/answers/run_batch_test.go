package answers

import (
	"fmt"
	"slices"
	"strings"

	"lectern/internal/simulation/program"
)

// Batching makes a run send some of its writes several at a time, to POST /api/_batch, which the reference does not
// have.
func (r *Run) Batching() *Run {
	r.batching = true
	return r
}

// batch makes a batch of random writes. Each is made for the content behind those before it, so it may be about
// documents that they create.
func (o *operationGenerator) batch() *Operation {
	op := &Operation{Kind: "batch", Atomic: o.chance(.6)}
	world := o.world
	defer func() { o.world = world }()
	o.world = world.clone()
	for range 2 + o.rng.IntN(6) {
		one := o.write()
		unnamed := one.Type.Single && o.world.Single(one.Type) == nil // later writes could not refer to the document
		before := o.world.clone()
		if out := o.world.Apply(one); out.Status >= 400 && op.Atomic && o.chance(.8) {
			o.world = before
			continue
		}
		op.Batch = append(op.Batch, one)
		if unnamed || len(o.world.UnknownPositions) > 0 {
			break
		}
	}
	if len(op.Batch) == 0 { // all would have failed
		o.world = world
		return o.write()
	}
	return op
}

// inBatch returns a write as an operation of a batch, for encoding/json.
func (op *Operation) inBatch(w *World) map[string]any {
	out := map[string]any{"op": op.Kind, "type": op.Type.Plural}
	switch {
	case op.Type.Single:
		out["type"] = op.Type.Singular
		if op.Kind == "create" {
			out["op"] = "update"
		}
	case op.Kind == "create":
		out["as"] = batchName(op.Number)
	default:
		out["documentId"] = w.reference(op.Number)
	}
	if op.Kind == "discard-draft" {
		out["op"] = "discardDraft"
	}
	if op.hasBody() {
		out["data"] = op.body(w)
	}
	for key, value := range map[string]string{"locale": op.Locale, "status": op.Status} {
		if value != "" {
			out[key] = value
		}
	}
	return out
}

func (op *Operation) hasBody() bool { return op.Kind == "create" || op.Kind == "update" }

// batchName returns the name of a document within the batch that creates it.
func batchName(number int) string { return fmt.Sprint("document ", number) }

// reference returns the documentId of a document or, if it is not known yet, a reference to the operation of the same
// batch that creates it.
func (w *World) reference(number int) any {
	for _, d := range w.Docs {
		if d.Number == number && d.ID.Value == nil {
			return map[string]any{"$ref": batchName(number)}
		}
	}
	return w.documentID(number)
}

// A batchResult is the expected result of an operation of a batch.
type batchResult struct {
	Outcome
	shown any // of a create or update
}

// doBatch sends a batch, compares its results, and reads back what it was about.
func (r *Run) doBatch(op *Operation, o *operationGenerator) error {
	after := r.world.clone()
	var sent []any
	var results []batchResult
	for _, one := range op.Batch {
		sent = append(sent, one.inBatch(after))
		result := batchResult{Outcome: after.Apply(one)}
		if result.Row != nil && one.hasBody() {
			result.shown = after.show(result.Row, view{status: result.Row.Status}, nil, nil)
		}
		results = append(results, result)
	}
	body := map[string]any{"operations": sent}
	if !op.Atomic {
		body["atomic"] = false
	}
	request := "POST /api/_batch " + program.JSON(body)
	for i, result := range results {
		if result.Reason != "" {
			request += fmt.Sprintf("\n(%d to be refused: %s)", i, result.Reason)
		}
	}
	status, got, err := r.server.Do("POST", "/api/_batch", body)
	if err != nil {
		return err
	}
	fails := slices.ContainsFunc(results, func(b batchResult) bool { return b.Status >= 400 })
	if where := differentBatch(op.Atomic && fails, results, status, got); where != "" {
		return &Difference{r.Seed, len(r.Done) - 1, request, where, batchText(results), printed(got)}
	}
	o.cover.Hits[batchCell(op.Atomic, fails)]++
	if !op.Atomic || !fails {
		for i, one := range op.Batch {
			o.countWrite(one, results[i].Outcome, true)
		}
		after.Samples = r.world.Samples
		*r.world = *after
	}
	if err := r.settle(); err != nil { // the last write may have left open where its document is in the lists of the others
		return err
	}
	for _, one := range op.Batch {
		err := r.readBack(one, false)
		if d, ok := err.(*Difference); ok {
			d.Request = request + "\nthen " + d.Request
		}
		if err != nil {
			return err
		}
	}
	return r.remember(1)
}

// differentBatch returns the first difference between the answer to a batch and the expected results, or "".
func differentBatch(refused bool, want []batchResult, status int, got any) string {
	answer, _ := got.(map[string]any)
	if refused {
		return differentRefusal(want, status, answer)
	}
	list, _ := answer["data"].([]any)
	if status != 200 || len(list) != len(want) {
		return fmt.Sprintf("status: wanted 200 and %d results, got %d and %d", len(want), status, len(list))
	}
	for i, result := range want {
		object, _ := list[i].(map[string]any)
		if fmt.Sprint(object["status"]) != fmt.Sprint(result.Status) {
			return fmt.Sprintf("status of a result: wanted %d, got %v", result.Status, object["status"])
		}
		if result.shown != nil {
			if where := difference(fmt.Sprintf("result[%d]", i), result.shown, object["data"]); where != "" {
				return where
			}
		}
	}
	return ""
}

// differentRefusal compares the answer to an atomic batch that is refused. The server finds some errors of later
// operations before it begins with the first one.
func differentRefusal(want []batchResult, status int, answer map[string]any) string {
	failed, _ := answer["error"].(map[string]any)
	details, _ := failed["details"].(map[string]any)
	for i, result := range want {
		if result.Status < 400 {
			continue
		}
		if fmt.Sprint(details["operation"]) == fmt.Sprint(i) && result.Status == status {
			return ""
		}
		if !slices.ContainsFunc(
			want[i+1:], func(b batchResult) bool { return strings.HasPrefix(b.Reason, "locale ") }) {
			return fmt.Sprintf("status of a refusal: wanted %d of operation %d, got %d of %v", result.Status, i, status,
				details["operation"])
		}
	}
	return "status of a refusal: it names no operation that fails"
}

func batchText(results []batchResult) string {
	var lines []string
	for _, result := range results {
		lines = append(lines, fmt.Sprint(result.Status, " ", printed(result.shown)))
	}
	return strings.Join(lines, "\n")
}

// describeBatch returns a description of the writes of a batch.
func (op *Operation) describeBatch(w *World) string {
	text := fmt.Sprintf("POST /api/_batch, atomic %t:", op.Atomic)
	for _, one := range op.Batch {
		text += "\n\t" + program.JSON(one.inBatch(w))
	}
	return text
}

// dropFromBatches removes writes from batches.
func (s *shrinking) dropFromBatches() {
	for i := range s.ops {
		for at := 0; at < len(s.ops[i].Batch) && s.tries > 0; {
			less := *s.ops[i]
			less.Batch = slices.Delete(slices.Clone(less.Batch), at, at+1)
			fewer := slices.Clone(s.ops)
			fewer[i] = &less
			if !s.accept(fewer) {
				at++
			}
		}
	}
}
