package gateway_test

import (
	"testing"

	"lectern/internal/servertest"
)

// until waits until something satisfies a condition.
func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	servertest.Until(t, what, holds)
}

const (
	notFound   = `{"data":null,"error":{"status":404,"name":"NotFoundError","message":"Not Found","details":{}}}`
	notAllowed = "Method Not Allowed"
)
