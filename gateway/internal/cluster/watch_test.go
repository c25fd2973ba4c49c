package cluster

import (
	"testing"

	"lectern/store"
)

// TestCheckReaders asks whether a node may lead while it is in touch with nodes of other versions.
func TestCheckReaders(t *testing.T) {
	for _, test := range []struct {
		name             string
		protocol, format int
		leads            bool
	}{
		{"the same version", clusterProtocol, store.TransactionFormat, true},
		{"a newer version", clusterProtocol, store.TransactionFormat + 1, true},
		{"a version that does not know a step of conversions", clusterProtocol, store.TransactionFormat - 1<<8, false},
		{"a version that does not know the format of the file", clusterProtocol, store.TransactionFormat - 1<<16,
			false},
		{"a version with another protocol", clusterProtocol + 1, store.TransactionFormat, false},
	} {
		n := &Node{}
		n.builds.Store(&map[string]nodeState{"other": {build: build{"1.0.0", test.protocol, test.format}}})
		if err := n.checkReaders(); (err == nil) != test.leads {
			t.Errorf("beside %s: %v", test.name, err)
		}
	}
}
