package gateway_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"lectern/gateway"
	"lectern/gateway/config"
)

// Problems of a project are values, so that a program can show each with its file and line.
func ExampleLoad() {
	dir, err := os.MkdirTemp("", "lectern-example-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	os.Mkdir(filepath.Join(dir, "content-types"), 0o700)
	os.Mkdir(filepath.Join(dir, "config"), 0o700)
	os.WriteFile(filepath.Join(dir, "config", "server.yaml"), []byte("host: 127.0.0.1\nport: 70000\n"), 0o600)

	_, err = gateway.Load(dir, nil)
	var problems config.Problems
	if errors.As(err, &problems) {
		for _, p := range problems {
			fmt.Println(p.File, p.Line, p.Message)
		}
	}
	// Output: config/server.yaml 2 port must be from 1 to 65535, not 70000
}
