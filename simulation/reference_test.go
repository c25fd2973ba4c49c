package simulation

import (
	"flag"
	"os"
	"strings"
	"testing"
)

var (
	reference      = flag.String("reference", "", "command that serves PROJECT on PORT and prints {base, tokens}: compares it with the evaluator")
	referencePort  = flag.String("reference-port", "18461", "port of the reference")
	referenceSeeds = flag.Uint64("reference-seeds", 10, "models that the reference is asked about")
	firstSeed      = flag.Uint64("seed", 1, "first seed")
	tolerate       = flag.Int("tolerate", 0, "answers that may differ before a run ends")
	least          = flag.Int("least", 0, "fail when something was covered less often")
	seeds          = flag.Uint64("seeds", 4, "models that the server is asked about")
	shrink         = flag.Int("shrink", 40, "how often a run is repeated with fewer operations to find what a difference takes")
	printCoverage  = flag.Bool("coverage", false, "print what was covered")
	operations     = flag.Int("operations", 200, "operations a seed")
)

// still is a host that does not restart.
type still struct{ *Server }

func (still) Restart() error { return nil }

// TestReference compares the evaluator with a server that it was not written for, to show that it tells the truth.
func TestReference(t *testing.T) {
	if *reference == "" {
		t.Skip("no -reference")
	}
	cover, asked := NewCoverage(ReferenceQuirks), 0
	for seed := *firstSeed; seed < *firstSeed+*referenceSeeds; seed++ {
		model := ModelOf(seed, ReferenceQuirks)
		dir := t.TempDir()
		if err := WriteProject(dir, model); err != nil {
			t.Fatal(err)
		}
		server, err := StartServer(append(strings.Fields(*reference), dir, *referencePort)...)
		if err != nil {
			t.Fatal(err)
		}
		run := NewRun(seed, ReferenceQuirks, model, still{server})
		run.Tolerate = *tolerate
		if err := run.Random(*operations); err != nil {
			t.Errorf("%v", err)
			if os.Getenv("STORY") != "" {
				t.Log("\n" + Story(run.Done, run.world))
			}
			if _, differs := err.(*Difference); !differs {
				t.Log(server.log.String())
			}
		}
		for _, d := range run.Different {
			t.Error(d)
		}
		asked += run.Asked
		cover.Add(run.Cover)
		server.Stop()
	}
	t.Logf("%d questions", asked)
	if *printCoverage {
		cover.Print(os.Stdout)
	}
}
