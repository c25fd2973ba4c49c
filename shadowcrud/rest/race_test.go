//go:build race

package rest_test

// raceDetector says that tests run under the race detector, where pools drop what they are given at random.
const raceDetector = true
