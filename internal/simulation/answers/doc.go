// Package answers compares a running server with an independent, naive evaluator of the same API.
//
// From a seed it generates a Model (content-types with every kind of attribute and relation, written as a project
// directory) and random operations: creates, updates, deletes, publications, restarts, and questions in the REST query
// language. Each operation is sent to the server over HTTP, and applied to a World: lists of documents and links in
// memory that are always searched in full. Both must give the same response, except that values chosen by the server
// (ids, documentIds, times) are taken from its first response. A Run in GraphQL sends random queries and mutations
// instead. It compares their responses byte by byte, and reads back by REST what mutations have written.
//
// A Run that is Batching sends some writes several at a time (run_batch_test.go).
//
// A Coverage counts which operators, types, relations and versions were used. The generator prefers those with low
// counts.
//
// The reference server itself checks the evaluator (TestCommandAgreesWithEvaluator with -reference): the evaluator must
// agree with it, apart from the reference's faults that Quirks lists.
//
// A Difference names the seed and the request. Shrink removes the operations that are not needed to reproduce it.
//
// A file begins with its subject. Read them in this order: model_* and world_content (the model and its contents),
// world_* (writes), read_* (reads, and what they find), random_* (random choices), run_* (the comparison, and how to
// find the few operations that are needed for a difference), graphql_* (an operation, its text and its response),
// past_* (former versions), rules_* (rules of access), alike_* (reads of two servers).
//
// A Run that is Remembering also keeps a copy of the World behind each write (past_test.go). It asks for documents as
// they were, for their histories, restores former versions, and changes definitions (past_*).
//
// TestNothingOutsideRulesShows gives random rules of access to an Asker. Two servers whose contents differ only in what
// the rules leave out must answer byte by byte alike, and as the evaluator does for a World that has nothing else.
//
// TestServersAnswerAlike puts random reads to two servers that hold the same content, such as the reference and a
// project that was moved in from it. The scripts in reference/ start the reference on a Strapi project
// (reference/workshop is one) and fill it.
package answers
