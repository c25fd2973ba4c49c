package command

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"lectern/documents/permission"
	"lectern/gateway"
	"lectern/internal/shell"
)

type typesCommand struct {
	dir      string
	out      string
	check    string
	noClient bool
	role     string
	token    string
}

func newTypes(s *session) *cobra.Command {
	var t typesCommand
	c := &cobra.Command{
		Use:   "types [DIR]",
		Short: "Write TypeScript types and a client of the REST API.",
		Long:  dirArgument,
		Args:  takes(0, 1),
		RunE: func(_ *cobra.Command, args []string) error {
			t.dir = projectAt(args)
			return t.run(s)
		},
	}
	c.Flags().StringVar(&t.out, "out", "",
		"Write to this `FILE` instead of the standard output. A file that is up to date is left alone.")
	c.Flags().StringVar(&t.check, "check", "", "Write nothing. Exit with 1 unless this `FILE` is up to date.")
	c.Flags().BoolVar(&t.noClient, "no-client", false, "Write only the types.")
	c.Flags().StringVar(&t.role, "role", "",
		"Leave out what this role of config/permissions.yaml may neither read nor write (`NAME`).")
	c.Flags().StringVar(&t.token, "token", "", "The same for a token of config/permissions.yaml (`NAME`).")
	return c
}

func (c *typesCommand) run(s *session) error {
	if c.check != "" && c.out != "" {
		return usageError("--out and --check can't be used together")
	}
	if c.role != "" && c.token != "" {
		return usageError("--role and --token can't be used together")
	}
	return s.inPreview(c.dir, "these are the types of its definitions, converted to those of Lectern",
		func(dir string, _ *preview) error {
			d, err := gateway.Load(dir, s.extensions)
			if err != nil {
				return err
			}
			access, err := c.access(d)
			if err != nil {
				return inCommand("types", err)
			}
			text := d.TypeScript(access, !c.noClient)
			switch {
			case c.check != "":
				return inCommand("types", c.checkFile(s, text))
			case c.out != "":
				return inCommand("types", writeIfChanged(c.out, text))
			}
			_, err = s.Stdout.Write(text)
			return err
		})
}

// access returns that of the role or the token; nil if none is named.
func (c *typesCommand) access(d *gateway.Definition) (*permission.Access, error) {
	switch {
	case c.role != "":
		return d.AccessOfRole(c.role)
	case c.token != "":
		return d.AccessOfToken(c.token)
	}
	return nil, nil
}

// checkFile returns an error if the file to check does not hold text.
func (c *typesCommand) checkFile(s *session, text []byte) error {
	there, err := os.ReadFile(c.check)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err == nil && bytes.Equal(there, text) {
		return nil
	}
	again := fmt.Sprintf("%s types %s --out %s", s.Name, shell.Path(c.dir), shell.Path(c.check))
	if c.noClient {
		again += " --no-client"
	}
	if c.role != "" {
		again += " --role " + shell.Path(c.role)
	}
	if c.token != "" {
		again += " --token " + shell.Path(c.token)
	}
	if err != nil {
		return fmt.Errorf("%s does not exist; write it by: %s", c.check, again)
	}
	return fmt.Errorf("%s is not up to date; write it again by: %s", c.check, again)
}

// writeIfChanged writes text to a file, unless the file holds it already, so that programs that watch the file have
// nothing to do.
func writeIfChanged(file string, text []byte) error {
	if there, err := os.ReadFile(file); err == nil && bytes.Equal(there, text) {
		return nil
	}
	return os.WriteFile(file, text, 0o666)
}
