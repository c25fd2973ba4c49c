package command

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"lectern/gateway"
	"lectern/internal/shell"
)

type typesCommand struct {
	Dir      string `arg:"" optional:"" default:"." help:"Project directory (default: here)." type:"path"`
	Out      string `help:"Write to this file instead of the standard output. A file that is up to date is left alone." placeholder:"FILE" xor:"file"`
	Check    string `help:"Write nothing. Exit with 1 unless this file is up to date." placeholder:"FILE" xor:"file"`
	NoClient bool   `name:"no-client" help:"Write only the types."`
}

func (c *typesCommand) Run(s *session) error {
	return s.inPreview(c.Dir, "these are the types of its definitions, converted to those of Lectern", func(dir string, _ *preview) error {
		d, err := gateway.Load(dir, s.extensions)
		if err != nil {
			return err
		}
		text := d.TypeScript(!c.NoClient)
		switch {
		case c.Check != "":
			return inCommand("types", c.check(s, text))
		case c.Out != "":
			return inCommand("types", writeIfChanged(c.Out, text))
		}
		_, err = s.Stdout.Write(text)
		return err
	})
}

// check returns an error if the file to check does not hold text.
func (c *typesCommand) check(s *session, text []byte) error {
	there, err := os.ReadFile(c.Check)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err == nil && bytes.Equal(there, text) {
		return nil
	}
	again := fmt.Sprintf("%s types %s --out %s", s.Name, shell.Path(c.Dir), shell.Path(c.Check))
	if c.NoClient {
		again += " --no-client"
	}
	if err != nil {
		return fmt.Errorf("%s does not exist; write it by: %s", c.Check, again)
	}
	return fmt.Errorf("%s is not up to date; write it again by: %s", c.Check, again)
}

// writeIfChanged writes text to a file, unless the file holds it already, so that programs that watch the file have nothing to do.
func writeIfChanged(file string, text []byte) error {
	if there, err := os.ReadFile(file); err == nil && bytes.Equal(there, text) {
		return nil
	}
	return os.WriteFile(file, text, 0o666)
}
