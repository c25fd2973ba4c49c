package command

import (
	"github.com/spf13/cobra"

	"lectern/gateway"
)

func newOpenAPI(s *session) *cobra.Command {
	return &cobra.Command{
		Use:   "openapi [DIR]",
		Short: "Print the OpenAPI document of the REST API.",
		Long:  dirArgument,
		Args:  takes(0, 1),
		RunE:  func(_ *cobra.Command, args []string) error { return printOpenAPI(s, projectAt(args)) },
	}
}

func printOpenAPI(s *session, dir string) error {
	return s.inPreview(dir, "this is the OpenAPI document of its definitions, converted to those of Lectern",
		func(dir string, _ *preview) error {
			d, err := gateway.Load(dir, s.extensions)
			if err != nil {
				return err
			}
			_, err = s.Stdout.Write(d.OpenAPI())
			return err
		})
}
