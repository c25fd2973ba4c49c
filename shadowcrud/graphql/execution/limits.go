package execution

import (
	"fmt"

	"github.com/vektah/gqlparser/v2/ast"

	"lectern/documents/apierror"
	"lectern/shadowcrud/graphql/language"
)

// This file makes the errors of operations that exceed a limit. Each message names the setting and its value.

const settings = language.Settings

// lessAdvice is the end of the message about an answer that is too large.
const lessAdvice = "Ask for shorter lists, or for fewer lists within lists"

// mutationShare is the number by which a limit is divided for the answer to a mutation, which is read within its transaction while other
// writes wait.
const mutationShare = 10

// shareOf returns the part of a limit that an operation may use.
func shareOf(op ast.Operation, limit int) int {
	if op == ast.Mutation {
		return max(limit/mutationShare, min(limit, 1))
	}
	return limit
}

// shareName names the part of a limit that shareOf returns, for messages.
func shareName(op ast.Operation, name string, limit int) string {
	if op == ast.Mutation {
		return fmt.Sprintf("a tenth of %s%s, %d, for a mutation", settings, name, limit)
	}
	return settings + name
}

func (x *execution) tooManyObjects() error {
	op := ast.Query
	if x.writing {
		op = ast.Mutation
	}
	most := x.engine.limits.Rows
	return refusal(apierror.Rows, fmt.Sprintf("The answer is too large: it holds more than %d objects (%s). %s",
		shareOf(op, most), shareName(op, "rows", most), lessAdvice))
}

func (x *execution) tooManyBytes() error {
	if x.engine.tooLong != nil {
		return x.engine.tooLong
	}
	return refusal(apierror.AnswerSize, fmt.Sprintf("The answer is too large: it is longer than %d bytes (%sbytes). %s", x.engine.limits.Bytes, settings, lessAdvice))
}

func tooExpensive(op ast.Operation, cost int) *language.Error {
	return &language.Error{
		Message: fmt.Sprintf("The operation may answer with more than %d objects (%s). %s.", shareOf(op, cost), shareName(op, "cost", cost), lessAdvice),
		Code:    language.ValidationFailed,
		Refusal: apierror.Cost,
	}
}

func tooManyIntrospections(most int) *language.Error {
	return &language.Error{
		Message: fmt.Sprintf("The operation asks more than %d times for __schema (%sintrospections).", most, settings), Code: language.ValidationFailed,
		Refusal: apierror.Introspections,
	}
}

// tooMany is the error of arguments that exceed a limit.
func tooMany(subject string, most int, setting string, limit apierror.Reason) *apierror.Error {
	return refusal(limit, fmt.Sprintf("Too many %s: at most %d are allowed (%s%s)", subject, most, settings, setting))
}

// refusal is the error of an operation that exceeds a limit.
func refusal(limit apierror.Reason, message string) *apierror.Error {
	e := apierror.Validation(message)
	e.Reason = limit
	return e
}
