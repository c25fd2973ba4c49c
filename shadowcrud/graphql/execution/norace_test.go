//go:build !race

package execution_test

const raceDetector = false
