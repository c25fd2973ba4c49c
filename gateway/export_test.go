package gateway

import "golang.org/x/crypto/bcrypt"

func init() { hashCost = bcrypt.MinCost }

// Uncounted calls serve with a project that counts nothing, unless its metrics are on.
func Uncounted(serve func()) {
	counting = false
	defer func() { counting = true }()
	serve()
}

// SwapTo replaces what a server of NewServer serves.
func SwapTo(s *Server, rt Runtime) error {
	api, err := rt.api()
	if err != nil {
		return err
	}
	return s.Swap(api)
}
