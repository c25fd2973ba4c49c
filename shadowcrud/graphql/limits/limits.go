// Package limits bounds what a GraphQL operation may ask for and answer, and words the errors of those that ask for
// more. Each message names the setting and its value.
package limits

import (
	"fmt"

	"github.com/vektah/gqlparser/v2/ast"

	"lectern/documents/apierror"
	"lectern/shadowcrud/graphql/language"
)

// Operation holds the limits of an operation. A zero field stands for its value in Default.
type Operation struct {
	Document language.DocumentLimits

	DefaultLimit int // items of a list without pagination
	MaxLimit     int // items that a list may request; negative: any number
	AmountLimit  int // items that a list of documents may have, whatever the request says

	// Rows is how many objects an answer may hold, counted when they have been read. The answer to a mutation may hold
	// a tenth, since other writes wait for it. Bytes is how long an answer may be.
	Rows  int
	Bytes int
	// Cost limits an estimate of the objects in an answer, made before anything is read by multiplying the limits of
	// nested lists. A mutation may have a tenth. 0 disables the estimate.
	Cost int
	// Introspections is how many fields __schema an operation may have.
	Introspections int
	// Conditions is how many comparisons all filters of an operation may hold. Each value of a list counts.
	Conditions int
	SortKeys   int // of a list

	// Plans and PlanBytes limit the cache of plans by number and by estimated memory.
	Plans     int
	PlanBytes int
}

// Default holds the limits that apply where none is set.
var Default = Operation{
	Document: language.DefaultDocumentLimits, DefaultLimit: 10, MaxLimit: -1, AmountLimit: 100,
	Rows: 200_000, Bytes: 16 << 20, Introspections: 10, Conditions: 4000, SortKeys: 100, Plans: 1000,
	PlanBytes: 32 << 20,
}

// OrDefaults returns the limits with Default in place of zeros.
func (l Operation) OrDefaults() Operation {
	d := Default
	for _, pair := range []struct {
		value     *int
		otherwise int
	}{
		{&l.Document.Tokens, d.Document.Tokens}, {&l.Document.Nesting, d.Document.Nesting},
		{&l.Document.Depth, d.Document.Depth},
		{&l.Document.Selections, d.Document.Selections}, {&l.Document.RootFields, d.Document.RootFields},
		{&l.Document.Aliases, d.Document.Aliases}, {&l.Document.Directives, d.Document.Directives},
		{&l.Document.IntrospectionDepth, d.Document.IntrospectionDepth},
		{&l.DefaultLimit, d.DefaultLimit}, {&l.MaxLimit, d.MaxLimit}, {&l.AmountLimit, d.AmountLimit},
		{&l.Rows, d.Rows}, {&l.Bytes, d.Bytes}, {&l.Introspections, d.Introspections}, {&l.Conditions, d.Conditions},
		{&l.SortKeys, d.SortKeys}, {&l.Plans, d.Plans}, {&l.PlanBytes, d.PlanBytes},
	} {
		if *pair.value == 0 {
			*pair.value = pair.otherwise
		}
	}
	return l
}

// lessAdvice is the end of the message about an answer that is too large.
const lessAdvice = "Ask for shorter lists, or for fewer lists within lists"

// mutationShare is the number by which a limit is divided for the answer to a mutation, which is read within its
// transaction while other writes wait.
const mutationShare = 10

// Share returns the part of a limit that an operation may use.
func Share(op ast.Operation, limit int) int {
	if op == ast.Mutation {
		return max(limit/mutationShare, min(limit, 1))
	}
	return limit
}

// shareName names the part of a limit that Share returns, for messages.
func shareName(op ast.Operation, name string, limit int) string {
	if op == ast.Mutation {
		return fmt.Sprintf("a tenth of %s%s, %d, for a mutation", language.Settings, name, limit)
	}
	return language.Settings + name
}

// TooManyObjects is the error of an answer with more than Rows objects.
func (l *Operation) TooManyObjects(op ast.Operation) error {
	return refusal(apierror.Rows, fmt.Sprintf("The answer is too large: it holds more than %d objects (%s). %s",
		Share(op, l.Rows), shareName(op, "rows", l.Rows), lessAdvice))
}

// TooManyBytes is the error of an answer of more than Bytes bytes.
func (l *Operation) TooManyBytes() error {
	return refusal(apierror.AnswerSize,
		fmt.Sprintf("The answer is too large: it is longer than %d bytes (%sbytes). %s", l.Bytes, language.Settings,
			lessAdvice))
}

// TooExpensive is the error of an operation that may cost more than Cost.
func (l *Operation) TooExpensive(op ast.Operation) *language.Error {
	return &language.Error{
		Message: fmt.Sprintf("The operation may answer with more than %d objects (%s). %s.",
			Share(op, l.Cost), shareName(op, "cost", l.Cost), lessAdvice),
		Code:    language.ValidationFailed,
		Refusal: apierror.Cost,
	}
}

// TooManyIntrospections is the error of an operation with more than Introspections fields __schema.
func (l *Operation) TooManyIntrospections() *language.Error {
	return &language.Error{
		Message: fmt.Sprintf("The operation asks more than %d times for __schema (%sintrospections).", l.Introspections,
			language.Settings),
		Code:    language.ValidationFailed,
		Refusal: apierror.Introspections,
	}
}

// TooMany is the error of arguments that exceed a limit.
func TooMany(subject string, most int, setting string, limit apierror.Reason) *apierror.Error {
	return refusal(limit, fmt.Sprintf("Too many %s: at most %d are allowed (%s%s)", subject, most, language.Settings,
		setting))
}

// refusal is the error of an operation that exceeds a limit.
func refusal(limit apierror.Reason, message string) *apierror.Error {
	e := apierror.Validation(message)
	e.Reason = limit
	return e
}
