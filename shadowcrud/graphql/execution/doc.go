// Package execution runs GraphQL operations on the store.
//
// An Engine parses and validates an operation (package language), compiles it once to a plan (package plan), and keeps
// that for the next request with the same document (prepare.go). For each request it binds the plan to the variables
// and the permissions of the caller (package binding), and runs it:
//
//   - A query reads one snapshot, level by level: the related rows of all objects of a level are read together, each
//     row once (load.go). The answer is appended to one buffer straight from stored bytes, in the order of the query
//     (print.go, package answer).
//   - A mutation runs field by field, each in its own transaction (mutation.go).
//   - A subscription is run once for each change that it asks for (subscription.go).
//   - An operation that runs code of a program has files of its own (custom.go), since no snapshot may be held while
//     such code runs.
//
// # Subscriptions
//
// A subscription is a plan like any other, with a change that documents/changes reads as the value of its field. A
// subscriber keeps only its operation and its position: before each page of changes its caller is authenticated and the
// operation prepared by the definitions of that time. So lost permissions and changed definitions need no other code,
// and a waiting subscriber holds no goroutine, snapshot or plan. No subscriber remembers which documents its client
// knows. Therefore each change of a document that does not match the filters is sent as a deletion.
//
// # Why there are two executors
//
// Some fields run code of a program: a resolver, a policy or a middleware. An operation that selects such a field has a
// custom plan; any other has a plain plan.
//
//   - The plain executor reads and prints within one view. It prints stored bytes straight from the mapped file, copies
//     no row, and reuses its buffers for the next operation.
//   - The custom executor holds no snapshot while code of a program runs: a write made by this code could wait for that
//     snapshot for ever. It reads whole levels, copies them, ends the view, calls the functions for the objects that
//     the answer shows, and reads the documents that they named, in one view for each round. It repeats this until
//     every value is known, and then prints. Root fields of Query that have nothing custom below them are printed
//     within the view by the plain executor.
//
// Both share the code that compiles, binds, loads levels and prints objects; they differ in when the view ends. One
// executor for both would have to copy every row before it prints. Measured by BenchmarkQuery on one core, the least of
// six:
//
//	operation           plain   always copying  allocations
//	one document        3.1 µs  11.3 µs         7 → 32
//	a list of 25        16 µs   48 µs           19 → 158
//	a nested operation  20 µs   82 µs           19 → 220
//
// Even without the copies, the setup of the custom executor makes the same operations 13 to 174 % slower. A custom step
// inside the plain executor would need the same two branches at the same places, since the step ends the view. A test
// holds the two together: with a middleware that changes nothing around every field, all recorded answers stay the same
// (internal/conformance).
package execution
