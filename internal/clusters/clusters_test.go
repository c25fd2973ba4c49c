package clusters

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"testing"
	"time"

	"lectern/gateway"
)

var (
	minutes  = flag.Float64("minutes", 0, "how long each run of TestFaults takes; 0: a few seconds")
	runs     = flag.Int("runs", 1, "how many runs TestFaults makes")
	nodes    = flag.Int("nodes", 3, "how many nodes a cluster has")
	changes  = flag.Bool("changes", true, "runs of some time change the leader, the members and the definitions")
	trailing = flag.Uint64("trailing", 100,
		"transactions that a node of TestFaults keeps for others that are behind, before they get a copy of the content")
	disks = flag.Int(
		"disks", 0, "MiB of the disk in memory that each node of TestFaults has, which is full at times; 0: the nodes share the disk of the tests. Needs root")
	routed = flag.Bool("namespaces", false,
		"each node of TestFaults has a network namespace of its own, and a router between them drops packets; else proxies stand between them. Needs root")
	clients   = flag.Int("clients", 6, "how many clients write")
	seed      = flag.Uint64("seed", 0, "of the random choices of the first run; 0: a new one")
	failovers = flag.Int("failovers", 0, "how often TestFailover kills the leader")
)

// nodeEnv makes the test program a node: a nodeOptions in JSON.
const nodeEnv = "LECTERN_TEST_NODE"

// nodeOptions are what a node in a process of its own is served with.
type nodeOptions struct {
	Dir, Addr string
	Clock     steppedClock
	Cluster   gateway.Cluster
}

func TestMain(m *testing.M) {
	if text := os.Getenv(nodeEnv); text != "" {
		if err := serveNode(text); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func serveNode(text string) error {
	var o nodeOptions
	if err := json.Unmarshal([]byte(text), &o); err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	err := gateway.Serve(ctx, o.Dir, gateway.Options{Addr: o.Addr, LockWait: 10 * time.Second, NoWatch: true,
		Clock: o.Clock, Cluster: &o.Cluster})
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// TestFaults has clients write to a cluster and read from it under faults.
func TestFaults(t *testing.T) {
	if *seed == 0 {
		*seed = rand.Uint64()
	}
	for i := range *runs {
		t.Run(fmt.Sprint(i+1), func(t *testing.T) { runFaults(t, *seed+uint64(i)) })
	}
}

func runFaults(t *testing.T, seed uint64) {
	t.Logf("-seed %d", seed)
	w := newWorld(t, *nodes, 300*time.Millisecond, rand.New(rand.NewPCG(seed, 1)))
	load := newLoad(w)
	load.start(*clients, seed)
	_, err := exec.LookPath("strace")
	f := &faults{world: w, made: map[string]int{}, slows: err == nil}
	o := newOperator(w, seed)
	if *minutes > 0 {
		if *changes {
			o.start()
		}
		f.run(time.Now().Add(time.Duration(*minutes * float64(time.Minute))))
	} else {
		f.runShort(load, o)
	}
	f.heal()
	o.stop()
	load.stop()
	load.verify()
	t.Logf("faults: %v", f.made)
	t.Log(o.report())
	t.Log(load.report())
}
