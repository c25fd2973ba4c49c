package command

import (
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"lectern/auth"
	"lectern/gateway/admin"
	"lectern/gateway/config"
	"lectern/internal/shell"
)

func newToken(s *session) *cobra.Command {
	return newGroup("token", "Create, list, rotate and revoke API tokens.",
		newTokenCreate(s), newTokenList(s), newTokenRotate(s), newTokenRevoke(s))
}

type tokenCreateCommand struct {
	token          auth.Declaration
	kind, lifespan string
	projectFlags
}

func newTokenCreate(s *session) *cobra.Command {
	var t tokenCreateCommand
	c := &cobra.Command{
		Use:   "create [DIR] NAME",
		Short: "Create a token and print its key. The key cannot be shown again.",
		Long: "NAME is the name of the token. One that permissions.yaml declares needs no flags; for another one, " +
			"say --type or --permission. " +
			dirArgument,
		RunE: func(_ *cobra.Command, args []string) error { return t.run(s, args) },
	}
	f := c.Flags()
	f.StringVar(&t.kind, "type", "",
		"`TYPE` of the token: full-access, read-only or custom (default: custom with --permission).")
	f.StringSliceVar(&t.token.Permissions, "permission", nil,
		"A permission `UID.ACTION` of a custom token, such as api::article.article.find, "+
			"or lectern::replica.follow for a replica. May be repeated.")
	f.StringVar(&t.lifespan, "lifespan", "",
		"For what `TIME` the token works, such as 30d or 12h (default: until it is revoked).")
	f.StringVar(&t.token.Description, "description", "", "Purpose of the token, a `TEXT`.")
	t.add(c)
	return c
}

func (c *tokenCreateCommand) run(s *session, args []string) error {
	dir, name, err := splitDir(args, "NAME")
	if err != nil {
		return err
	}
	d := c.token
	d.Name, d.Kind = name, auth.Kind(c.kind)
	switch d.Kind {
	case "", auth.FullAccess, auth.ReadOnly, auth.Custom:
	default:
		return usageError(fmt.Sprintf("--type is full-access, read-only or custom, not %q", c.kind))
	}
	if c.lifespan != "" {
		var ok bool
		if d.Lifespan, ok = config.ParseLifespan(c.lifespan); !ok {
			return usageError(fmt.Sprintf("--lifespan is a time such as 30d or 12h, not %q", c.lifespan))
		}
	}
	return c.administer(s, dir, func(a admin.Project) error {
		tok, key, err := a.CreateToken(s.ctx, d)
		if errors.Is(err, auth.ErrUndeclared) {
			return usageError(err.Error())
		}
		if err != nil {
			return err
		}
		fmt.Fprintf(s.Stderr, "made the %s token %s; keep its key, it is not shown again:\n", tok.Kind, tok.Name)
		_, err = fmt.Fprintln(s.Stdout, key)
		return err
	})
}

func newTokenList(s *session) *cobra.Command {
	var flags projectFlags
	var asJSON bool
	c := &cobra.Command{
		Use:   "list [DIR]",
		Short: "List the tokens.",
		Long:  dirArgument,
		Args:  takes(0, 1),
		RunE:  func(_ *cobra.Command, args []string) error { return listTokens(s, flags, projectAt(args), asJSON) },
	}
	c.Flags().BoolVar(&asJSON, "json", false, "Print JSON.")
	flags.add(c)
	return c
}

func listTokens(s *session, flags projectFlags, dir string, asJSON bool) error {
	return flags.administer(s, dir, func(a admin.Project) error {
		tokens, err := a.Tokens(s.ctx)
		if err != nil {
			return err
		}
		if asJSON {
			return printJSON(s, append([]auth.Token{}, tokens...))
		}
		if len(tokens) == 0 {
			fmt.Fprintf(s.Stderr, "there are no tokens; `%s token create %s NAME` makes one\n", s.Name,
				shell.Path(display(dir)))
			return nil
		}
		w := tabwriter.NewWriter(s.Stdout, 0, 0, 2, ' ', 0)
		fmt.Fprintln(w, "NAME\tTYPE\tMADE\tLAST USED\tEXPIRES\tPERMISSIONS")
		for _, t := range tokens {
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", t.Name, t.Kind, day(t.CreatedAt), minute(t.LastUsedAt, "never"),
				minute(t.ExpiresAt, "never"),
				strings.Join(t.Permissions, " "))
		}
		return w.Flush()
	})
}

func day(t time.Time) string { return t.UTC().Format(time.DateOnly) }

func minute(t time.Time, none string) string {
	if t.IsZero() {
		return none
	}
	return t.UTC().Format(time.DateTime)
}

type tokenRotateCommand struct {
	grace string
	projectFlags
}

// tokenArguments explains the arguments of commands that change a token.
const tokenArguments = "NAME is the name or the id of the token. " + dirArgument

func newTokenRotate(s *session) *cobra.Command {
	var t tokenRotateCommand
	c := &cobra.Command{
		Use:   "rotate [DIR] NAME",
		Short: "Give a token a new key and print it. The former key keeps working for a while.",
		Long:  tokenArguments,
		RunE:  func(_ *cobra.Command, args []string) error { return t.run(s, args) },
	}
	c.Flags().StringVar(&t.grace, "grace", "1h",
		"For what `TIME` the former key works beside the new one, such as 1h or 2d; 0 ends it at once.")
	t.add(c)
	return c
}

func (c *tokenRotateCommand) run(s *session, args []string) error {
	dir, name, err := splitDir(args, "NAME")
	if err != nil {
		return err
	}
	grace, ok := config.ParseLifespan(c.grace)
	if !ok && c.grace != "0" {
		return usageError(fmt.Sprintf("--grace is a time such as 1h or 2d, or 0, not %q", c.grace))
	}
	return c.administer(s, dir, func(a admin.Project) error {
		tok, key, err := a.RotateToken(s.ctx, name, grace)
		if errors.Is(err, auth.ErrNoToken) {
			return fmt.Errorf("%s: %w", name, err)
		}
		if err != nil {
			return err
		}
		former := "works no longer"
		if !tok.FormerUntil.IsZero() {
			former = "works until " + minute(tok.FormerUntil, "") + " UTC"
		}
		fmt.Fprintf(s.Stderr, "the %s token %s has a new key; keep it, it is not shown again. The former key %s:\n",
			tok.Kind, tok.Name, former)
		_, err = fmt.Fprintln(s.Stdout, key)
		return err
	})
}

func newTokenRevoke(s *session) *cobra.Command {
	var flags projectFlags
	c := &cobra.Command{
		Use:   "revoke [DIR] NAME",
		Short: "Delete a token. Its key is refused at once.",
		Long:  tokenArguments,
		RunE:  func(_ *cobra.Command, args []string) error { return revokeToken(s, flags, args) },
	}
	flags.add(c)
	return c
}

func revokeToken(s *session, flags projectFlags, args []string) error {
	dir, name, err := splitDir(args, "NAME")
	if err != nil {
		return err
	}
	return flags.administer(s, dir, func(a admin.Project) error {
		tok, err := a.RevokeToken(s.ctx, name)
		if errors.Is(err, auth.ErrNoToken) {
			return fmt.Errorf("%s: %w", name, err)
		}
		if err != nil {
			return err
		}
		fmt.Fprintf(s.Stderr, "revoked the %s token %s\n", tok.Kind, tok.Name)
		return nil
	})
}
