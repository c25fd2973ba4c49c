package command

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"lectern/auth"
	"lectern/gateway/admin"
	"lectern/gateway/config"
	"lectern/internal/shell"
)

type tokenCommand struct {
	Create tokenCreateCommand `cmd:"" help:"Create a token and print its key. The key cannot be shown again."`
	List   tokenListCommand   `cmd:"" help:"List the tokens."`
	Rotate tokenRotateCommand `cmd:"" help:"Give a token a new key and print it. The former key keeps working for a while."`
	Revoke tokenRevokeCommand `cmd:"" help:"Delete a token. Its key is refused at once."`
}

type tokenCreateCommand struct {
	Args        []string `arg:"" name:"[dir] name" help:"Project directory (default: here) and name of the token. A token that permissions.yaml declares needs no flags; for another one, say --type or --permission."`
	Type        string   `help:"full-access, read-only or custom (default: custom with --permission)." placeholder:"TYPE"`
	Permission  []string `help:"A permission of a custom token, such as api::article.article.find, or lectern::replica.follow for a replica. May be repeated." placeholder:"UID.ACTION"`
	Lifespan    string   `help:"How long the token works, such as 30d or 12h (default: until it is revoked)." placeholder:"TIME"`
	Description string   `help:"Purpose of the token." placeholder:"TEXT"`
	projectFlags
}

func (c *tokenCreateCommand) Run(s *session) error {
	dir, name, err := splitDir(c.Args, "NAME")
	if err != nil {
		return err
	}
	d := auth.Declaration{Name: name, Description: c.Description, Kind: auth.Kind(c.Type), Permissions: c.Permission}
	switch d.Kind {
	case "", auth.FullAccess, auth.ReadOnly, auth.Custom:
	default:
		return usageError(fmt.Sprintf("--type is full-access, read-only or custom, not %q", c.Type))
	}
	if c.Lifespan != "" {
		var ok bool
		if d.Lifespan, ok = config.ParseLifespan(c.Lifespan); !ok {
			return usageError(fmt.Sprintf("--lifespan is a time such as 30d or 12h, not %q", c.Lifespan))
		}
	}
	return c.administer(s, dir, func(a admin.Project) error {
		tok, key, err := a.CreateToken(s.ctx, d)
		if errors.Is(err, admin.ErrUndeclared) {
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

type tokenListCommand struct {
	Dir  string `arg:"" optional:"" default:"." help:"Project directory (default: here)." type:"path"`
	JSON bool   `help:"Print JSON."`
	projectFlags
}

func (c *tokenListCommand) Run(s *session) error {
	return c.administer(s, c.Dir, func(a admin.Project) error {
		tokens, err := a.Tokens(s.ctx)
		if err != nil {
			return err
		}
		if c.JSON {
			e := json.NewEncoder(s.Stdout)
			e.SetIndent("", "  ")
			return e.Encode(append([]auth.Token{}, tokens...))
		}
		if len(tokens) == 0 {
			fmt.Fprintf(s.Stderr, "there are no tokens; `%s token create %s NAME` makes one\n", s.Name, shell.Path(display(c.Dir)))
			return nil
		}
		w := tabwriter.NewWriter(s.Stdout, 0, 0, 2, ' ', 0)
		fmt.Fprintln(w, "NAME\tTYPE\tMADE\tLAST USED\tEXPIRES\tPERMISSIONS")
		for _, t := range tokens {
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", t.Name, t.Kind, day(t.CreatedAt), moment(t.LastUsedAt, "never"), moment(t.ExpiresAt, "never"),
				strings.Join(t.Permissions, " "))
		}
		return w.Flush()
	})
}

func day(t time.Time) string { return t.UTC().Format(time.DateOnly) }

func moment(t time.Time, none string) string {
	if t.IsZero() {
		return none
	}
	return t.UTC().Format(time.DateTime)
}

type tokenRotateCommand struct {
	Args  []string `arg:"" name:"[dir] name" help:"Project directory (default: here) and name or id of the token."`
	Grace string   `help:"How long the former key works beside the new one, such as 1h or 2d; 0 ends it at once." default:"1h" placeholder:"TIME"`
	projectFlags
}

func (c *tokenRotateCommand) Run(s *session) error {
	dir, name, err := splitDir(c.Args, "NAME")
	if err != nil {
		return err
	}
	grace, ok := config.ParseLifespan(c.Grace)
	if !ok && c.Grace != "0" {
		return usageError(fmt.Sprintf("--grace is a time such as 1h or 2d, or 0, not %q", c.Grace))
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
			former = "works until " + moment(tok.FormerUntil, "") + " UTC"
		}
		fmt.Fprintf(s.Stderr, "the %s token %s has a new key; keep it, it is not shown again. The former key %s:\n", tok.Kind, tok.Name, former)
		_, err = fmt.Fprintln(s.Stdout, key)
		return err
	})
}

type tokenRevokeCommand struct {
	Args []string `arg:"" name:"[dir] name" help:"Project directory (default: here) and name or id of the token."`
	projectFlags
}

func (c *tokenRevokeCommand) Run(s *session) error {
	dir, name, err := splitDir(c.Args, "NAME")
	if err != nil {
		return err
	}
	return c.administer(s, dir, func(a admin.Project) error {
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
