package gateway

import "golang.org/x/crypto/bcrypt"

func init() { hashCost = bcrypt.MinCost }

// SwapTo replaces what a server of NewServer serves.
func SwapTo(s *Server, rt Runtime) error {
	api, err := rt.api()
	if err != nil {
		return err
	}
	return s.Swap(api)
}
