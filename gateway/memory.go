package gateway

import (
	"context"
	"net/http"
	"runtime/debug"
	"time"

	"lectern/documents/apierror"
	"lectern/internal/budget"
	"lectern/shadowcrud/rest"
)

// Memory that requests take is reserved from one budget, limits.memory: answers while they are printed and until they were
// sent, images while they are decoded, compressors. A small answer reserves nothing, so that it is given also while large
// ones have taken everything. See package budget.
//
// Bodies have a budget of their own, a quarter as large. They are read before their requests have a place, so it is up to their senders
// how many there are and how long they stay. When it is used up, bodies of more than 16 KiB are refused, and nothing else.

// answerPart is how much of a long answer is written at a time.
const answerPart = 256 << 10

// answers are what bounds answers by these limits.
func (l *Limits) answers(memory *budget.Budget) *rest.Limits {
	return &rest.Limits{
		Time: l.Handle, Bytes: int(l.AnswerBytes), Memory: memory, Send: l.send,
		TooLong: apierror.Validation("The answer is too large: it is longer than limits.answer (" + byteSize(l.AnswerBytes).String() +
			"). Ask for fewer documents, fields or populated relations"),
	}
}

// send writes the body of an answer. What had to reserve memory is written in parts, each of which the client must take within
// the time that limits.answerRate gives for it: then the memory of those who do not read is soon free for others. An error ends
// the connection, since less was written than the header said.
func (l *Limits) send(ctx context.Context, w http.ResponseWriter, body []byte) error {
	if len(body) <= budget.Unreserved {
		_, err := w.Write(body)
		return err
	}
	control := controlOf(ctx, w)
	for len(body) > 0 {
		n := min(len(body), answerPart)
		if err := supported(control.SetWriteDeadline(time.Now().Add(l.partTime()))); err != nil {
			return err
		}
		if _, err := w.Write(body[:n]); err != nil {
			return err
		}
		body = body[n:]
	}
	return nil
}

// inBuffers is how much the buffers of a connection may let through at a time, while a client reads steadily: what it has
// taken becomes known here in steps of up to a sixteenth of its receive buffer, and the next part goes out after one or two.
const inBuffers = 512 << 10

// partTime is how long a client may take for a part of an answer.
func (l *Limits) partTime() time.Duration {
	return time.Duration(float64(answerPart+inBuffers) / float64(l.AnswerRate) * float64(time.Second))
}

// An answerKey is what the context of a request has the memory of its answer under: a *budget.Answer.
type answerKey struct{}

// withAnswer gives a request memory for an answer without envelope, until done is called.
func withAnswer(ctx context.Context, l *rest.Limits) (with context.Context, done func()) {
	answer := l.Answer()
	return context.WithValue(ctx, answerKey{}, &answer), answer.Release
}

// answerOf is the memory of a request's answer, nil where it has none.
func answerOf(ctx context.Context) *budget.Answer {
	answer, _ := ctx.Value(answerKey{}).(*budget.Answer)
	return answer
}

// errNoMemory is told to a client for whose request no memory was free.
func errNoMemory(memory *budget.Budget) *apierror.Error {
	return &apierror.Error{Status: http.StatusServiceUnavailable, Name: "ServiceUnavailableError", NoDetails: true,
		Message: "other requests use the memory that limits.memory (" + byteSize(memory.Limit()).String() + ") gives to all of them, try again"}
}

// returnMemory gives memory back to the system when a flood of requests is over, until ctx ends. The collector of garbage
// alone would get round to it minutes later, since a server that does little makes little garbage.
func (p *Project) returnMemory(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-p.memory.Ebb():
		}
		select { // what comes in waves is returned once
		case <-ctx.Done():
			return
		case <-time.After(time.Second):
		}
		debug.FreeOSMemory()
	}
}

// limitHeap keeps garbage that is not collected yet from taking more memory than requests may.
func (p *Project) limitHeap() {
	memory, limit := budget.MachineMemory(), p.memory.Limit()
	p.log.Debug("memory", "bytes", memory, "limits.memory", limit, "heap", budget.LimitHeap(memory, limit))
}
