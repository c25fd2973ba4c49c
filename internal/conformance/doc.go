// Package conformance replays recorded exchanges with a Strapi 5 server against Lectern and compares the responses.
//
// Each suite in testdata/conformance/suites is a list of steps, recorded on an empty store of a project in
// testdata/conformance/projects. A step is a request and its response, in which values that differ from run to run are
// replaced by tokens such as <time> or <doc:1>. Replaying the steps in order shows whether a client of that API would
// notice a difference. A step is strict when everything matches, and core when only the wording of errors differs. A
// step that lists cookies compares those that the answer sets: their values and attributes.
//
// testdata/conformance/differences.yaml lists the intended differences with their reasons. The page docs/differences.md
// is generated from it.
package conformance

//go:generate go test -run ^TestDifferencesPageIsFresh$ -update .
