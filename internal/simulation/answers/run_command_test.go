package answers

import (
	"errors"
	"flag"
	"os"
	"strings"
	"testing"

	"lectern/internal/simulation/program"
)

var (
	serverCommand = flag.String("command", "",
		"serve with this command in place of the server in the test; PROJECT stands for the project directory")
	reference = flag.Bool("reference", false, "the command serves the reference: avoid its known faults")
	inGraphQL = flag.Bool("graphql", false, "send queries and mutations in GraphQL to the command")
)

// TestCommandAgreesWithEvaluator compares the server that -command starts with the evaluator. The server must print a
// line such as {"base":…,"tokens":{"full":…}} when it is ready:
//
//	go test ./internal/simulation/answers -run TestCommandAgreesWithEvaluator -tolerate 10 -command "lectern serve PROJECT --ephemeral --addr 127.0.0.1:0"
func TestCommandAgreesWithEvaluator(t *testing.T) {
	if *serverCommand == "" {
		t.Skip("needs -command")
	}
	var quirk Quirks
	if *reference {
		quirk = ReferenceQuirks
	}
	cover := NewCoverage(quirk)
	if *inGraphQL {
		cover = NewGraphQLCoverage(quirk)
	}
	for seed := *program.Seed; seed < *program.Seed+*seeds; seed++ {
		if err := runCommand(t, seed, quirk, cover); err != nil {
			t.Errorf("seed %d: %v", seed, err)
		}
	}
	if *printCoverage {
		cover.Print(os.Stdout)
	}
}

// runCommand runs one seed against a server of its own.
func runCommand(t *testing.T, seed uint64, quirk Quirks, cover *Coverage) (err error) {
	model := ModelOf(seed, quirk)
	dir := t.TempDir()
	if err := WriteProject(dir, model); err != nil {
		return err
	}
	words := strings.Fields(*serverCommand)
	for i := range words {
		words[i] = strings.ReplaceAll(words[i], "PROJECT", dir)
	}
	server, err := program.Start(words...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.Stop()) }()
	run := NewRun(seed, quirk, model, server)
	if *inGraphQL {
		run.InGraphQL()
	}
	run.Tolerate = *tolerate
	err = run.Random(*operations)
	cover.Add(run.Cover)
	for _, d := range run.Different {
		t.Error(d)
	}
	t.Logf("seed %d: %d questions, %d writes", seed, run.Asked, run.Writes)
	return err
}
