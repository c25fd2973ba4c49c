//go:build race

package media_test

// raceDetector says that the race detector runs, which takes several times the memory.
const raceDetector = true
