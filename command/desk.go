package command

import (
	"fmt"

	"github.com/spf13/cobra"
)

func newDesk(s *session) *cobra.Command {
	return newGroup("desk", "Write content in a browser.", newDeskLink(s))
}

func newDeskLink(s *session) *cobra.Command {
	var flags projectFlags
	var user string
	c := &cobra.Command{
		Use:   "link [DIR]",
		Short: "Print a link that logs a browser in at the desk of a running server: once, within ten minutes.",
		Long: "Whoever opens the link may do everything, like a token of the type full-access, until the server stops. " +
			"With --user they may do what that user may. " + dirArgument,
		Args: takes(0, 1),
		RunE: func(_ *cobra.Command, args []string) error {
			link, err := flags.directory(s, projectAt(args)).DeskLink(s.ctx, user)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(s.Stdout, link)
			return err
		},
	}
	c.Flags().StringVar(&user, "user", "", "Log this user in: the `NAME`, the address or the id.")
	flags.add(c)
	return c
}
