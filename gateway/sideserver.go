package gateway

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
)

// A sideServer serves something beside the API, at an address of its own.
type sideServer struct {
	server   *http.Server
	listener net.Listener
}

// listenBeside listens at an address for a server. The result is nil if the address is "".
func listenBeside(address string, s *http.Server) (*sideServer, error) {
	if address == "" {
		return nil, nil
	}
	ln, err := net.Listen("tcp", address)
	if err != nil {
		return nil, cannotListen(address, err)
	}
	return &sideServer{s, ln}, nil
}

// run answers requests until ctx ends.
func (s *sideServer) run(ctx context.Context) error {
	defer context.AfterFunc(ctx, func() { _ = s.server.Close() })()
	if err := s.server.Serve(s.listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve %s: %w", s.listener.Addr(), err)
	}
	return nil
}
