package server

import (
	"context"
	"errors"
	"net/http"

	"lectern/documents/apierror"
	"lectern/gateway/config"
	"lectern/gateway/internal/paced"
	"lectern/internal/budget"
	"lectern/shadowcrud/rest"
)

// Requests reserve memory from one budget, limits.memory: for answers from printing until they are sent, for images
// while they are decoded, for compressors, and for commands that read or write all content. A small answer reserves
// nothing, so that it succeeds even when large ones have taken all. See package budget.
//
// Bodies have a separate budget, a quarter of that size. They are read before their requests have a place, so that
// clients decide how many there are and how long they stay in memory. When that budget is used up, only bodies of more
// than 16 KiB are refused.
//
// What a client sends may take many times more memory when it is parsed: [{},{},…] takes 27 bytes for each byte. So
// parsers reserve from limits.memory what they build, while they build it, and the request keeps it until it is
// answered. What small requests are parsed to reserves nothing.

// UnreservedQuery is the length up to which a query string reserves no memory for what it is parsed to.
const UnreservedQuery = 1 << 10

// unreservedHeaders is up to how many headers a request reserves no memory for them. net/http has read them before, and
// keeps them until the request is answered.
const unreservedHeaders = 64

// hasManyHeaders reports whether a request has more than unreservedHeaders headers, each value of a repeated one
// counted.
func hasManyHeaders(h http.Header) bool {
	n := 0
	for _, values := range h {
		if n += len(values); n > unreservedHeaders {
			return true
		}
	}
	return false
}

// BodyMemory returns the memory for what the body of a request is parsed to.
func BodyMemory(r *http.Request) *budget.Tally {
	if kept := replayableBodyOf(r.Body); kept != nil {
		return &kept.parsed
	}
	if state := stateOf(r.Context()); state != nil && state.kept != nil {
		return &state.kept.parsed
	}
	return new(budget.Tally) // the request did not come from a client
}

// IsMemory reports whether something failed because there is no memory for it.
func IsMemory(err error) bool {
	return errors.Is(err, budget.ErrExhausted) || errors.Is(err, budget.ErrNever)
}

// Answers returns the limits of the REST API.
func (l *Limits) Answers(memory *budget.Budget) *rest.AnswerLimits {
	tooLong := apierror.Validation("The answer is too large: it is longer than limits.answer (" +
		config.ByteSize(l.AnswerBytes).String() + "). Ask for fewer documents, fields or populated relations")
	tooLong.Reason = apierror.AnswerSize
	return &rest.AnswerLimits{Time: l.Handle, Bytes: int(l.AnswerBytes), Memory: memory, Send: l.Send, TooLong: tooLong}
}

// Send writes the body of an answer. A large one is written in parts, each of which the client must read at
// limits.answerRate: clients that do not read then do not hold memory for long. An error closes the connection, since
// less was written than the header announced.
func (l *Limits) Send(ctx context.Context, w http.ResponseWriter, body []byte) error {
	if len(body) <= budget.Unreserved {
		_, err := w.Write(body)
		return err
	}
	_, err := paced.NewWriter(w, Control(ctx, w), l.AnswerRate).Write(body)
	return err
}

// An answerKey is the context key of the memory of a request's answer, a *budget.Answer.
type answerKey struct{}

// withAnswer adds memory for an answer to the context of a request. done releases it.
func withAnswer(ctx context.Context, l *rest.AnswerLimits) (with context.Context, done func()) {
	answer := l.Answer()
	return context.WithValue(ctx, answerKey{}, &answer), answer.Release
}

// AnswerMemory returns the memory of the answer to a request; nil where there is none.
func AnswerMemory(ctx context.Context) *budget.Answer {
	answer, _ := ctx.Value(answerKey{}).(*budget.Answer)
	return answer
}

// ErrNoMemory is the answer to a request for which there is no free memory.
func ErrNoMemory(memory *budget.Budget) *apierror.Error {
	return Unavailable(apierror.Memory, "other requests use the memory that limits.memory ("+
		config.ByteSize(memory.Limit()).String()+") gives to all of them, try again")
}

// ErrNeverMemory is the answer to a request that is parsed to more than there can be memory for.
func ErrNeverMemory(memory *budget.Budget) *apierror.Error {
	return tooLarge("the request takes more memory when it is parsed than limits.memory (" +
		config.ByteSize(memory.Limit()).String() + ") allows: send it in parts")
}
