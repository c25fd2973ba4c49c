//go:build !race

package rest_test

// raceDetector reports whether tests run under the race detector, in which sync.Pool drops values at random.
const raceDetector = false
