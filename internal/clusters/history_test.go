//go:build linux

package clusters

import (
	"math"
	"strings"
	"sync"
	"time"

	"github.com/anishathalye/porcupine"
)

// An operation is one on a register: a text that is "" at first. The first document with a value of a unique attribute
// is a register too, whose value is who made the document.
type operation struct {
	register string
	kind     kind
	from, to string
}

type kind int

const (
	reads  kind = iota
	writes      // to
	swaps       // from for to
)

// A result is what a client was told of an operation.
type result struct {
	outcome outcome
	value   string // that was read
}

type outcome int

const (
	done    outcome = iota
	differs         // the value was not that which was to be swapped
	refused         // the operation was not carried out
	unknown         // the operation was carried out, will be, or never will
)

// registers is the model of all registers. An operation of which nothing is known ends after all others, so that it may
// be in the history as if it was never carried out.
var registers = porcupine.Model{
	Partition: func(history []porcupine.Operation) (parts [][]porcupine.Operation) {
		places := map[string]int{}
		for _, op := range history {
			name := op.Input.(operation).register
			i, is := places[name]
			if !is {
				i = len(parts)
				places[name] = i
				parts = append(parts, nil)
			}
			parts[i] = append(parts[i], op)
		}
		return parts
	},
	Init: func() any { return "" },
	Step: func(state, input, output any) (bool, any) {
		op, r, value := input.(operation), output.(result), state.(string)
		switch {
		case op.kind == reads:
			return r.value == value, value
		case op.kind == writes:
			return true, op.to
		case r.outcome == differs:
			return value != op.from, value
		case value == op.from:
			return true, op.to
		}
		return r.outcome == unknown, value
	},
}

// A history records operations.
type history struct {
	mu         sync.Mutex
	began      time.Time
	operations []porcupine.Operation
	counts     map[outcome]int
}

// record carries out an operation and records it.
func (h *history) record(client int, op operation, do func() result) result {
	call := time.Now()
	r := do()
	h.add(client, op, call, r)
	return r
}

// add records an operation that began at call and has ended.
func (h *history) add(client int, op operation, call time.Time, r result) {
	end := int64(time.Since(h.began))
	h.mu.Lock()
	defer h.mu.Unlock()
	h.counts[r.outcome]++
	switch {
	case r.outcome == refused || op.kind == reads && r.outcome != done:
		return
	case r.outcome == unknown:
		end = math.MaxInt64
	}
	h.operations = append(h.operations, porcupine.Operation{ClientId: client, Input: op, Call: int64(call.Sub(h.began)),
		Output: r, Return: end})
}

// check returns the registers whose operations have no order that explains what clients were told, and those of which
// this could not be found out.
func (h *history) check() (wrong, undecided []string) {
	deadline := time.Now().Add(2 * time.Minute)
	for _, part := range registers.Partition(h.operations) {
		name := part[0].Input.(operation).register
		switch porcupine.CheckOperationsTimeout(registers, part, max(time.Second, time.Until(deadline))) {
		case porcupine.Illegal:
			wrong = append(wrong, name)
		case porcupine.Unknown:
			undecided = append(undecided, name)
		}
	}
	return wrong, undecided
}

// of returns the operations on a register as text, for an error.
func (h *history) of(register string) string {
	var b strings.Builder
	for _, op := range h.operations {
		if in := op.Input.(operation); in.register == register {
			writeOperation(&b, op)
		}
	}
	return b.String()
}
