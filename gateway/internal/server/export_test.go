package server

import "net/http"

// ReadBody is Limits.ReadBody, with the limits of s.
func (s *Server) ReadBody(w http.ResponseWriter, r *http.Request) (any, error) {
	return s.limits.ReadBody(w, r)
}
