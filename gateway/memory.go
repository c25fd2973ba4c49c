package gateway

import (
	"context"
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
