package command

import (
	"cmp"
	"os"

	"github.com/spf13/cobra"

	"lectern/gateway"
)

type followCommand struct {
	origin gateway.Follow
	listenFlags
	projectFlags
}

func newFollow(s *session) *cobra.Command {
	var f followCommand
	c := &cobra.Command{
		Use:   "follow URL DIR",
		Short: "Serve a replica of another server: its content, definitions and files, kept in step with it.",
		Long: "URL is the address of the server to follow, such as https://cms.example.com. " +
			"DIR is the directory of the replica. It may have a config/server.yaml and a .env of its own.",
		Args: takes(2, 2),
		RunE: func(_ *cobra.Command, args []string) error { return f.run(s, args[0], absolute(args[1])) },
	}
	o := &f.origin
	c.Flags().StringVar(&o.Token, "token", "",
		"API token of that server with the permission lectern::replica.follow: its `KEY` ($"+replicaToken+").")
	c.Flags().BoolVar(&o.Forward, "forward-writes", false, "Forward writes to that server instead of refusing them.")
	c.Flags().StringSliceVar(&o.Part.Types, "types", nil,
		"`UID` of the content-types that the replica has, separated by commas (default: all).")
	c.Flags().StringSliceVar(&o.Part.Locales, "locales", nil,
		"`CODE` of the locales that the replica has, separated by commas (default: all).")
	c.Flags().BoolVar(&o.Part.Published, "published", false, "Have published versions only, and no drafts.")
	f.listenFlags.add(c)
	f.projectFlags.add(c)
	return c
}

// replicaToken is the environment variable that stands for the flag --token of follow.
const replicaToken = "LECTERN_REPLICA_TOKEN"

func (c *followCommand) run(s *session, url, dir string) error {
	c.origin.URL, c.origin.Token = url, cmp.Or(c.origin.Token, os.Getenv(replicaToken))
	if c.origin.Token == "" {
		return usageError("--token=KEY is missing; or set " + replicaToken)
	}
	o := c.options(s)
	if err := c.listen(s, &o); err != nil {
		return err
	}
	o.Follow = &c.origin
	return gateway.Serve(s.ctx, dir, o)
}
