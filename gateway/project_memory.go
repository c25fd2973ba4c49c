package gateway

import (
	"context"
	"fmt"
	"runtime/debug"
	"time"

	"lectern/gateway/config"
	"lectern/internal/budget"
)

const (
	// commandMemory is what a command that reads or writes much content takes for its buffers.
	commandMemory = 1 << 20
	// commandMemoryDeadline is how long a command waits for the memory of its buffers.
	commandMemoryDeadline = 10 * time.Second
)

// reserve reserves memory from the budget of all requests for a command that reads or writes much content. grow
// reserves more bytes than the buffers of the command, and fails if they are not free. release frees all of it. If no
// server runs, memory is not limited.
func (p *Project) reserve(ctx context.Context) (grow func(bytes int64) error, release func(), err error) {
	var memory budget.Reservation
	if p.server.Load() != nil {
		memory = p.memory.Reservation()
	}
	explain := func(err error) error {
		if err == nil {
			return nil
		}
		return fmt.Errorf("%w: limits.memory (%s) is shared by all requests and commands; try again later, "+
			"or stop the server first", err, config.ByteSize(p.memory.Limit()))
	}
	waiting, cancel := context.WithTimeout(ctx, commandMemoryDeadline)
	defer cancel()
	if err := memory.Wait(waiting, commandMemory); err != nil {
		return nil, nil, explain(err)
	}
	return func(bytes int64) error { return explain(memory.Grow(commandMemory + bytes)) }, memory.Release, nil
}

// returnMemory returns memory to the operating system after the start and after each burst of requests, until ctx ends.
// The garbage collector alone would do that minutes later, since an idle server makes little garbage.
func (p *Project) returnMemory(ctx context.Context) {
	debug.FreeOSMemory()
	for {
		select {
		case <-ctx.Done():
			return
		case <-p.memory.Ebb():
		}
		select { // bursts that follow each other count as one
		case <-ctx.Done():
			return
		case <-time.After(time.Second):
		}
		debug.FreeOSMemory()
	}
}

// limitHeap limits the heap, so that garbage is collected before it takes more memory than requests may.
func (p *Project) limitHeap() {
	memory, limit := budget.MachineMemory(), p.memory.Limit()
	p.log.Debug("memory", "bytes", memory, "limits.memory", limit, "heap", budget.LimitHeap(memory, limit))
}
