package command

import (
	"errors"
	"io"

	"lectern/gateway"
)

type schemaCommand struct {
	Dir string `arg:"" optional:"" default:"." help:"Project directory (default: here)." type:"path"`
}

func (c *schemaCommand) Run(s *session) error {
	return s.inPreview(c.Dir, "this is the schema of its definitions, converted to those of Lectern", func(dir string, _ *preview) error {
		return printSchema(s, dir)
	})
}

// printSchema prints the GraphQL schema of the project in dir.
func printSchema(s *session, dir string) error {
	d, err := gateway.Load(dir, s.extensions)
	if err != nil {
		return err
	}
	if !d.Settings.GraphQL.Enabled {
		return errors.New("graphql is switched off in config/plugins.yaml, so there is no schema")
	}
	schema, err := d.GraphQLSchema()
	if err != nil {
		return err
	}
	_, err = io.WriteString(s.Stdout, schema.SDL)
	return err
}
