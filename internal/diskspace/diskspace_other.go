//go:build !linux

package diskspace

import (
	"math"
	"os"
)

// Available returns the greatest number: on this system the first write that fails shows that a disk is full.
func Available(*os.File) int64 { return math.MaxInt64 }
