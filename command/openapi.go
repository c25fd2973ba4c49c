package command

import (
	"lectern/gateway"
)

type openAPICommand struct {
	Dir string `arg:"" optional:"" default:"." help:"Project directory (default: here)." type:"path"`
}

func (c *openAPICommand) Run(s *session) error {
	return s.inPreview(c.Dir, "this is the OpenAPI document of its definitions, converted to those of Lectern", func(dir string, _ *preview) error {
		d, err := gateway.Load(dir, s.extensions)
		if err != nil {
			return err
		}
		_, err = s.Stdout.Write(d.OpenAPI())
		return err
	})
}
