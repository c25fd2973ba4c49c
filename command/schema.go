package command

import (
	"errors"
	"io"

	"github.com/spf13/cobra"

	"lectern/gateway"
)

func newSchema(s *session) *cobra.Command {
	return &cobra.Command{
		Use:   "schema [DIR]",
		Short: "Print the GraphQL schema.",
		Long:  dirArgument,
		Args:  takes(0, 1),
		RunE: func(_ *cobra.Command, args []string) error {
			return s.inPreview(projectAt(args), "this is the schema of its definitions, converted to those of Lectern",
				func(dir string, _ *preview) error { return printSchema(s, dir) })
		},
	}
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
