// Package attack holds tests that treat a running server as an attacker or a failing machine would: the program as users run
// it, in a process of its own, which its tests flood, starve, fill up, damage and kill.
//
// The tests of the packages themselves assert the mechanisms. Those here measure what an attack does to the whole process
// (memory, latency of honest clients). They are short in CI; flags make them as long as the attacks that docs/security.md and
// docs/operations.md describe.
package attack
