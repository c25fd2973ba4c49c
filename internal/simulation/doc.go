// Package simulation compares a running server with an evaluator that knows nothing of how servers are made.
//
// From a seed it makes a Model (content-types with every kind of attribute and relation, written as a project directory),
// then random operations: creates, updates, deletes, publications, restarts, and questions in the REST query language.
// Each goes over HTTP to the server, and to a World: lists of documents and links in memory, searched from end to end. What
// the two answer must be equal; only what the server chooses (ids, documentIds, times) is taken over from its first answer.
// The same goes for GraphQL: a Run that is InGraphQL asks and writes by random operations, whose answers are compared by their bytes,
// and what they have written is read back by REST.
//
// A Coverage counts which operators, types, relations and versions were touched, and steers towards those that were not.
//
// The evaluator itself is checked by putting the same to a server that it was not written for (TestCommand with -reference):
// what it says of the language is what that server answers, save the faults that Quirks lists.
//
// A Difference names the seed and the request; Shrink drops operations that it does not need.
//
// The files, in the order in which they are best read: model.go and content.go (what there is), world.go, write.go and
// relate.go (what writes do to it), question.go, evaluate.go, truth.go and show.go (what reads answer), asker.go, asker_filter.go,
// populator.go and operator.go (what is chosen at random), compare.go, coverage.go, run.go, shrink.go. Of GraphQL: request.go, request_text.go and
// request_input.go (what an operation is and how it is written), answer.go (what it is answered), graphql_*.go (the rest), match.go.
//
// The tests beside it also kill the server while it writes, and watch, delay and break its syncs (kill_test.go, sync_test.go).
package simulation
