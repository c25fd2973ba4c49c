package gateway

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"
	"time"

	"lectern/documents/apierror"
	"lectern/gateway/config"
	"lectern/gateway/internal/paced"
	"lectern/internal/budget"
	"lectern/shadowcrud/rest"
)

// Requests reserve memory from one budget, limits.memory: for answers from printing until they are sent, for images while they are
// decoded, for compressors, and for commands that read or write all content. A small answer reserves nothing, so that it succeeds even
// when large ones have taken all. See package budget.
//
// Bodies have a separate budget, a quarter of that size. They are read before their requests have a place, so that clients decide how many
// there are and how long they stay in memory. When that budget is used up, only bodies of more than 16 KiB are refused.
//
// What a client sends may take many times more memory when it is parsed: [{},{},…] takes 27 bytes for each byte. So parsers reserve from
// limits.memory what they build, while they build it, and the request keeps it until it is answered. What small requests are parsed to reserves
// nothing.

// unreservedQuery is the length up to which a query string reserves no memory for what it is parsed to.
const unreservedQuery = 1 << 10

// unreservedHeaders is up to how many headers a request reserves no memory for them. net/http has read them before, and keeps them until the request is
// answered.
const unreservedHeaders = 64

// hasManyHeaders reports whether a request has more than unreservedHeaders headers, each value of a repeated one counted.
func hasManyHeaders(h http.Header) bool {
	n := 0
	for _, values := range h {
		if n += len(values); n > unreservedHeaders {
			return true
		}
	}
	return false
}

// memoryOf returns the memory for what the body of a request is parsed to.
func memoryOf(r *http.Request) *budget.Tally {
	if kept := replayableBodyOf(r.Body); kept != nil {
		return &kept.parsed
	}
	if state := stateOf(r.Context()); state != nil && state.kept != nil {
		return &state.kept.parsed
	}
	return new(budget.Tally) // the request did not come from a client
}

// isMemory reports whether something failed because there is no memory for it.
func isMemory(err error) bool {
	return errors.Is(err, budget.ErrExhausted) || errors.Is(err, budget.ErrNever)
}

// answers returns the limits of the REST API.
func (l *requestLimits) answers(memory *budget.Budget) *rest.Limits {
	tooLong := apierror.Validation("The answer is too large: it is longer than limits.answer (" + config.ByteSize(l.AnswerBytes).String() +
		"). Ask for fewer documents, fields or populated relations")
	tooLong.Reason = apierror.AnswerSize
	return &rest.Limits{Time: l.Handle, Bytes: int(l.AnswerBytes), Memory: memory, Send: l.send, TooLong: tooLong}
}

// send writes the body of an answer. A large one is written in parts, each of which the client must read at limits.answerRate: clients
// that do not read then do not hold memory for long. An error closes the connection, since less was written than the header announced.
func (l *requestLimits) send(ctx context.Context, w http.ResponseWriter, body []byte) error {
	if len(body) <= budget.Unreserved {
		_, err := w.Write(body)
		return err
	}
	_, err := paced.NewWriter(w, controlOf(ctx, w), l.AnswerRate).Write(body)
	return err
}

// An answerKey is the context key of the memory of a request's answer, a *budget.Answer.
type answerKey struct{}

// withAnswer adds memory for an answer to the context of a request. done releases it.
func withAnswer(ctx context.Context, l *rest.Limits) (with context.Context, done func()) {
	answer := l.Answer()
	return context.WithValue(ctx, answerKey{}, &answer), answer.Release
}

// answerOf returns the memory of the answer to a request; nil where there is none.
func answerOf(ctx context.Context) *budget.Answer {
	answer, _ := ctx.Value(answerKey{}).(*budget.Answer)
	return answer
}

// errNoMemory is the answer to a request for which there is no free memory.
func errNoMemory(memory *budget.Budget) *apierror.Error {
	return &apierror.Error{Status: http.StatusServiceUnavailable, Name: "ServiceUnavailableError", NoDetails: true, Reason: apierror.Memory,
		Message: "other requests use the memory that limits.memory (" + config.ByteSize(memory.Limit()).String() + ") gives to all of them, try again"}
}

// errNeverMemory is the answer to a request that is parsed to more than there can be memory for.
func errNeverMemory(memory *budget.Budget) *apierror.Error {
	return &apierror.Error{Status: http.StatusRequestEntityTooLarge, Name: "PayloadTooLargeError", NoDetails: true, Reason: apierror.BodySize,
		Message: "the request takes more memory when it is parsed than limits.memory (" + config.ByteSize(memory.Limit()).String() + ") allows: send it in parts"}
}

const (
	// commandMemory is what a command that reads or writes much content takes for its buffers.
	commandMemory = 1 << 20
	// commandMemoryDeadline is how long a command waits for the memory of its buffers.
	commandMemoryDeadline = 10 * time.Second
)

// reserve reserves memory from the budget of all requests for a command that reads or writes much content. grow reserves more bytes than
// the buffers of the command, and fails if they are not free. release frees all of it. If no server runs, memory is not limited.
func (p *Project) reserve(ctx context.Context) (grow func(bytes int64) error, release func(), err error) {
	var memory budget.Reservation
	if p.server.Load() != nil {
		memory = p.memory.Reservation()
	}
	told := func(err error) error {
		if err == nil {
			return nil
		}
		return fmt.Errorf("%w: limits.memory (%s) is shared by all requests and commands; try again later, or stop the server first", err, config.ByteSize(p.memory.Limit()))
	}
	waiting, cancel := context.WithTimeout(ctx, commandMemoryDeadline)
	defer cancel()
	if err := memory.Wait(waiting, commandMemory); err != nil {
		return nil, nil, told(err)
	}
	return func(bytes int64) error { return told(memory.Grow(commandMemory + bytes)) }, memory.Release, nil
}

// returnMemory returns memory to the operating system after each burst of requests, until ctx ends. The garbage collector alone would do
// that minutes later, since an idle server makes little garbage.
func (p *Project) returnMemory(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-p.memory.Ebb():
		}
		select { // bursts that follow each other count as one
		case <-ctx.Done():
			return
		case <-time.After(time.Second):
		}
		debug.FreeOSMemory()
	}
}

// limitHeap limits the heap, so that garbage is collected before it takes more memory than requests may.
func (p *Project) limitHeap() {
	memory, limit := budget.MachineMemory(), p.memory.Limit()
	p.log.Debug("memory", "bytes", memory, "limits.memory", limit, "heap", budget.LimitHeap(memory, limit))
}
