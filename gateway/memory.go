package gateway

import (
	"context"
	"fmt"
	"net/http"
	"runtime/debug"
	"time"

	"lectern/documents/apierror"
	"lectern/gateway/config"
	"lectern/internal/budget"
	"lectern/shadowcrud/rest"
)

// Memory that requests take is reserved from one budget, limits.memory: answers while they are printed and until they were
// sent, images while they are decoded, compressors, commands that read or write all content. A small answer reserves nothing, so that it is given also while large
// ones have taken everything. See package budget.
//
// Bodies have a budget of their own, a quarter as large. They are read before their requests have a place, so it is up to their senders
// how many there are and how long they stay. When it is used up, bodies of more than 16 KiB are refused, and nothing else.

// answerPart is how much of a long answer is written at a time.
const answerPart = 256 << 10

// answers are what bounds answers by these limits.
func (l *requestLimits) answers(memory *budget.Budget) *rest.Limits {
	return &rest.Limits{
		Time: l.Handle, Bytes: int(l.AnswerBytes), Memory: memory, Send: l.send,
		TooLong: apierror.Validation("The answer is too large: it is longer than limits.answer (" + config.ByteSize(l.AnswerBytes).String() +
			"). Ask for fewer documents, fields or populated relations"),
	}
}

// send writes the body of an answer. What had to reserve memory is written in parts, each of which the client must take within
// the time that limits.answerRate gives for it: then the memory of those who do not read is soon free for others. An error ends
// the connection, since less was written than the header said.
func (l *requestLimits) send(ctx context.Context, w http.ResponseWriter, body []byte) error {
	if len(body) <= budget.Unreserved {
		_, err := w.Write(body)
		return err
	}
	_, err := l.pacedWriter(ctx, w).Write(body)
	return err
}

// A pacedWriter writes an answer in parts, each of which the client must take within partTime: otherwise Write fails with an
// error that is os.ErrDeadlineExceeded.
type pacedWriter struct {
	to      http.ResponseWriter
	control *http.ResponseController
	limits  *requestLimits
	begun   bool // something was written
}

func (l *requestLimits) pacedWriter(ctx context.Context, w http.ResponseWriter) *pacedWriter {
	return &pacedWriter{to: w, control: controlOf(ctx, w), limits: l}
}

// Write implements io.Writer.
func (p *pacedWriter) Write(b []byte) (written int, err error) {
	p.begun = true
	for len(b) > 0 {
		if err := supported(p.control.SetWriteDeadline(time.Now().Add(p.limits.partTime()))); err != nil {
			return written, err
		}
		n, err := p.to.Write(b[:min(len(b), answerPart)])
		written += n
		if err != nil {
			return written, err
		}
		b = b[n:]
	}
	return written, nil
}

// inBuffers is how much the buffers of a connection may let through at a time, while a client reads steadily: what it has
// taken becomes known here in steps of up to a sixteenth of its receive buffer, and the next part goes out after one or two.
const inBuffers = 512 << 10

// partTime is how long a client may take for a part of an answer.
func (l *requestLimits) partTime() time.Duration {
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
		Message: "other requests use the memory that limits.memory (" + config.ByteSize(memory.Limit()).String() + ") gives to all of them, try again"}
}

const (
	// commandMemory is what a command that reads or writes much content takes for its buffers.
	commandMemory = 1 << 20
	// commandPatience is how long such a command waits for memory.
	commandPatience = 10 * time.Second
)

// reserve reserves memory for a command that reads or writes much content, from the budget of all requests. grow reserves so many bytes
// beside the command's buffers, and fails when they are not free; release gives back everything. Where nothing is served, memory is not bounded.
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
	waiting, cancel := context.WithTimeout(ctx, commandPatience)
	defer cancel()
	if err := memory.Wait(waiting, commandMemory); err != nil {
		return nil, nil, told(err)
	}
	return func(bytes int64) error { return told(memory.Grow(commandMemory + bytes)) }, memory.Release, nil
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
