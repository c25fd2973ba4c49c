package command

import (
	"fmt"

	"github.com/spf13/cobra"

	"lectern/gateway"
)

func newPromote(s *session) *cobra.Command {
	var flags projectFlags
	var partial bool
	c := &cobra.Command{
		Use:   "promote DIR",
		Short: "Make a replica an origin: it follows no more, and takes writes. Its server must be stopped.",
		Long:  "DIR is the directory of the replica.",
		Args:  takes(1, 1),
		RunE: func(_ *cobra.Command, args []string) error {
			dir := absolute(args[0])
			if err := gateway.Promote(dir, flags.options(s), partial); err != nil {
				return err
			}
			fmt.Fprintf(s.Stdout, "%s is an origin now; serve it by: %s\n", dir,
				flags.directory(s, dir).Command("serve"))
			return nil
		},
	}
	c.Flags().BoolVar(&partial, "partial", false,
		"Promote a replica that has a part of the content. The rest is not in the new origin.")
	flags.add(c)
	return c
}
