// Simulate compares a server with the evaluator of package simulation:
//
//	simulate lectern serve PROJECT --ephemeral --addr 127.0.0.1:0
//
// For each seed it writes a random project, runs the command with PROJECT replaced by its directory, waits for the line
// {"base":…,"tokens":{"full":…}} on its standard output, and puts random operations to it. It prints what differs and exits
// with 1 if anything does. With -reference it steers clear of the known faults of the reference server.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"

	"lectern/internal/simulation"
)

func main() {
	seed := flag.Uint64("seed", 1, "first seed")
	seeds := flag.Uint64("seeds", 4, "how many models")
	operations := flag.Int("operations", 200, "operations a model")
	tolerate := flag.Int("tolerate", 10, "answers that may differ before a model's run ends")
	reference := flag.Bool("reference", false, "the server is the reference")
	graphql := flag.Bool("graphql", false, "ask and write in GraphQL")
	coverage := flag.Bool("coverage", false, "print what was covered")
	flag.Parse()
	if flag.NArg() == 0 {
		fmt.Fprintln(os.Stderr, "usage: simulate [flags] COMMAND … PROJECT …")
		os.Exit(2)
	}
	var quirk simulation.Quirks
	if *reference {
		quirk = simulation.ReferenceQuirks
	}
	cover, asked, written, different := simulation.NewCoverage(quirk), 0, 0, 0
	if *graphql {
		cover = simulation.NewGraphQLCoverage(quirk)
	}
	for n := *seed; n < *seed+*seeds; n++ {
		run, err := simulate(n, quirk, *operations, *tolerate, *graphql, flag.Args())
		if run != nil {
			cover.Add(run.Cover)
			asked, written = asked+run.Asked, written+run.Writes
			for _, d := range run.Different {
				different++
				fmt.Println(d)
			}
		}
		if err != nil {
			different++
			fmt.Println(err)
		}
	}
	if *coverage {
		cover.Print(os.Stdout)
	}
	fmt.Printf("seeds %d to %d: %d questions, %d writes, %d differences\n", *seed, *seed+*seeds-1, asked, written, different)
	if different > 0 {
		os.Exit(1)
	}
}

// simulate runs one seed on a server of its own.
func simulate(seed uint64, quirk simulation.Quirks, operations, tolerate int, graphql bool, command []string) (run *simulation.Run, err error) {
	model := simulation.ModelOf(seed, quirk)
	dir, err := os.MkdirTemp("", "simulate-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if err := simulation.WriteProject(dir, model); err != nil {
		return nil, err
	}
	words := append([]string(nil), command...)
	for i := range words {
		words[i] = strings.ReplaceAll(words[i], "PROJECT", dir)
	}
	server, err := simulation.StartServer(words...)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, server.Stop()) }()
	run = simulation.NewRun(seed, quirk, model, server)
	if graphql {
		run.InGraphQL()
	}
	run.Tolerate = tolerate
	return run, run.Random(operations)
}
