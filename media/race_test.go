//go:build race

package media_test

// raceDetector is true in a build with the race detector, which takes several times the memory.
const raceDetector = true
