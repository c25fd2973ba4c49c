package gateway

// SwapTo replaces what a server of NewServer serves.
func SwapTo(s *Server, rt Runtime) error {
	api, err := rt.api()
	if err != nil {
		return err
	}
	return s.Swap(api)
}
