// Package conformance replays recorded exchanges of the API that Lectern speaks and says what differs.
//
// The suites in testdata/conformance/suites were recorded from a Strapi 5 server; each starts from an empty store of a
// project in testdata/conformance/projects. A suite is a list of steps: a request, and the answer that was given to it, in
// which values that differ from run to run stand as tokens such as <time> or <doc:1>. Sending a suite's steps in order and
// matching the answers tells whether a client made for that API would notice a difference. A step is strict when all of it
// matches, and core when only the wording of errors differs.
//
// What differs on purpose stands, with its reason, in testdata/conformance/differences.yaml; docs/differences.md is made
// from it.
package conformance

//go:generate go run ./gendocs ../../testdata/conformance/differences.yaml ../../docs/differences.md
