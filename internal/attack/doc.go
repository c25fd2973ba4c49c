// Package attack tests the released program as an attacker or a failing machine would treat it. The program runs in a
// process of its own, which the tests flood with requests, starve of resources, damage and kill.
//
// The tests of the other packages check the mechanisms. These measure the effect of an attack on the process: memory,
// and latency for honest clients. They are short in CI; flags make them as long as the attacks that docs/security.md
// and docs/network.md describe.
package attack
