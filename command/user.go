package command

import (
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"
	"unicode"

	"github.com/spf13/cobra"

	"lectern/auth"
	"lectern/gateway/admin"
	"lectern/internal/shell"
)

func newUser(s *session) *cobra.Command {
	return newGroup("user", "Create, list and change users, and end their sessions.",
		newUserCreate(s), newUserList(s), newUserSetRole(s), newUserSetPassword(s), newUserBlock(s), newUserSessions(s))
}

// userArguments explains the arguments of commands about one user.
const userArguments = "NAME is the name, the address or the id of the user. " + dirArgument

// passwordHelp explains where commands get a password from.
const passwordHelp = "The password is asked for, or is the first line of the standard input if that is no terminal. "

type userCreateCommand struct {
	account          auth.NewAccount
	generate, asJSON bool
	projectFlags
}

func newUserCreate(s *session) *cobra.Command {
	var u userCreateCommand
	c := &cobra.Command{
		Use:   "create [DIR] NAME",
		Short: "Create a user, whose address counts as confirmed.",
		Long:  "NAME is the name of the user. " + passwordHelp + dirArgument,
		RunE:  func(_ *cobra.Command, args []string) error { return u.run(s, args) },
	}
	c.Flags().StringVar(&u.account.Email, "email", "", "The `ADDRESS` of the user.")
	c.Flags().StringVar(&u.account.Role, "role", "",
		"The `ROLE` of the user, as config/permissions.yaml calls it (default: that of users who register).")
	addGenerate(c, &u.generate)
	c.Flags().BoolVar(&u.asJSON, "json", false, "Print JSON, with the password if it is generated.")
	u.add(c)
	return c
}

func addGenerate(c *cobra.Command, generate *bool) {
	c.Flags().BoolVar(generate, "generate", false, "Make a password, and print it.")
}

func (u *userCreateCommand) run(s *session, args []string) error {
	dir, name, err := splitDir(args, "NAME")
	if err != nil {
		return err
	}
	if u.account.Email == "" {
		return usageError("say the address of the user with --email")
	}
	u.account.Username = name
	if u.asJSON && u.generate {
		u.account.Password = rand.Text()
		return u.create(s, dir)
	}
	return withPassword(s, u.generate, func(password string) error {
		u.account.Password = password
		return u.create(s, dir)
	})
}

func (u *userCreateCommand) create(s *session, dir string) error {
	return u.administer(s, dir, func(a admin.Project) error {
		made, err := a.CreateUser(s.ctx, u.account)
		switch {
		case err != nil:
			return err
		case u.asJSON && u.generate:
			return printJSON(s, createdUser{made, u.account.Password})
		case u.asJSON:
			return printJSON(s, createdUser{Account: made})
		}
		fmt.Fprintf(s.Stderr, "made the user %s with the role %s\n", made.Username, made.Role)
		return nil
	})
}

// createdUser is what `user create --json` prints.
type createdUser struct {
	auth.Account
	Password string `json:"password,omitempty"` // if it was generated
}

// withPassword calls do with a password: a generated one, which it then prints, or one that it reads.
func withPassword(s *session, generate bool, do func(string) error) error {
	if !generate {
		password, err := readPassword(s)
		if err != nil {
			return err
		}
		return do(password)
	}
	password := rand.Text()
	if err := do(password); err != nil {
		return err
	}
	_, err := fmt.Fprintln(s.Stdout, password)
	return err
}

func newUserList(s *session) *cobra.Command {
	var flags projectFlags
	var asJSON bool
	c := &cobra.Command{
		Use:   "list [DIR]",
		Short: "List the users.",
		Long:  dirArgument,
		Args:  takes(0, 1),
		RunE:  func(_ *cobra.Command, args []string) error { return listUsers(s, flags, projectAt(args), asJSON) },
	}
	c.Flags().BoolVar(&asJSON, "json", false, "Print JSON.")
	flags.add(c)
	return c
}

func listUsers(s *session, flags projectFlags, dir string, asJSON bool) error {
	return flags.administer(s, dir, func(a admin.Project) error {
		users, err := a.ListUsers(s.ctx)
		if err != nil {
			return err
		}
		if asJSON {
			return printJSON(s, append([]auth.Account{}, users...))
		}
		if len(users) == 0 {
			fmt.Fprintf(s.Stderr, "there are no users; `%s user create %s NAME --email ADDRESS` makes one\n", s.Name,
				shell.Path(display(dir)))
			return nil
		}
		w := tabwriter.NewWriter(s.Stdout, 0, 0, 2, ' ', 0)
		fmt.Fprintln(w, "ID\tNAME\tADDRESS\tROLE\tMADE\tSESSIONS\tSTATE")
		for _, u := range users {
			fmt.Fprintf(w, "%d\t%s\t%s\t%s\t%s\t%d\t%s\n", u.ID, printable(u.Username), printable(u.Email), u.Role, day(u.CreatedAt),
				u.Sessions, stateOf(&u))
		}
		return w.Flush()
	})
}

// stateOf says whether a user can log in.
func stateOf(u *auth.Account) string {
	switch {
	case u.Blocked:
		return "blocked"
	case !u.Confirmed:
		return "not confirmed"
	}
	return ""
}

func newUserSetRole(s *session) *cobra.Command {
	var flags projectFlags
	c := &cobra.Command{
		Use:   "set-role [DIR] NAME ROLE",
		Short: "Give a user another role, which holds from the next request on.",
		Long:  "ROLE is the role as config/permissions.yaml calls it. " + userArguments,
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) < 2 {
				return usageError(fmt.Sprintf("want [DIR] NAME ROLE, got %d arguments", len(args)))
			}
			role := args[len(args)-1]
			return changeUser(s, flags, args[:len(args)-1], auth.AccountChange{Role: &role},
				func(u *auth.Account) string { return "the role of " + printable(u.Username) + " is " + u.Role })
		},
	}
	flags.add(c)
	return c
}

// changeUser changes the user whom the arguments [DIR] NAME name, and prints what said returns.
func changeUser(s *session, flags projectFlags, args []string, change auth.AccountChange,
	said func(*auth.Account) string) error {
	dir, name, err := splitDir(args, "NAME")
	if err != nil {
		return err
	}
	return flags.administer(s, dir, func(a admin.Project) error {
		changed, err := a.ChangeUser(s.ctx, name, change)
		if err != nil {
			return ofUser(name, err)
		}
		fmt.Fprintln(s.Stderr, said(&changed))
		return nil
	})
}

// ofUser adds the name of a user to an error that says that there is no such user, or more than one.
func ofUser(name string, err error) error {
	if errors.Is(err, auth.ErrNoAccount) || errors.Is(err, auth.ErrManyAccounts) {
		return fmt.Errorf("%s: %w", name, err)
	}
	return err
}

func newUserSetPassword(s *session) *cobra.Command {
	var flags projectFlags
	var generate bool
	c := &cobra.Command{
		Use:   "set-password [DIR] NAME",
		Short: "Give a user another password. Their JWTs and sessions end.",
		Long:  passwordHelp + userArguments,
		RunE: func(_ *cobra.Command, args []string) error {
			if _, _, err := splitDir(args, "NAME"); err != nil {
				return err
			}
			return withPassword(s, generate, func(password string) error {
				return changeUser(s, flags, args, auth.AccountChange{Password: &password},
					func(u *auth.Account) string { return "the password of " + printable(u.Username) + " is changed" })
			})
		},
	}
	addGenerate(c, &generate)
	flags.add(c)
	return c
}

func newUserBlock(s *session) *cobra.Command {
	var flags projectFlags
	var undo bool
	c := &cobra.Command{
		Use:   "block [DIR] NAME",
		Short: "Block a user: they cannot log in, and their JWTs and sessions end.",
		Long:  userArguments,
		RunE: func(_ *cobra.Command, args []string) error {
			blocked := !undo
			return changeUser(s, flags, args, auth.AccountChange{Blocked: &blocked}, func(u *auth.Account) string {
				if u.Blocked {
					return printable(u.Username) + " is blocked"
				}
				return printable(u.Username) + " can log in again"
			})
		},
	}
	c.Flags().BoolVar(&undo, "undo", false, "Let the user log in again.")
	flags.add(c)
	return c
}

type userSessionsCommand struct {
	asJSON, all bool
	end         []string
	projectFlags
}

func newUserSessions(s *session) *cobra.Command {
	var u userSessionsCommand
	c := &cobra.Command{
		Use:   "sessions [DIR] NAME",
		Short: "List the sessions of a user, or end them.",
		Long:  userArguments,
		RunE:  func(_ *cobra.Command, args []string) error { return u.run(s, args) },
	}
	f := c.Flags()
	f.BoolVar(&u.asJSON, "json", false, "Print JSON.")
	f.StringSliceVar(&u.end, "end", nil, "End the session with this `ID`. May be repeated.")
	f.BoolVar(&u.all, "end-all", false, "End all sessions.")
	u.add(c)
	return c
}

func (u *userSessionsCommand) run(s *session, args []string) error {
	dir, name, err := splitDir(args, "NAME")
	if err != nil {
		return err
	}
	return u.administer(s, dir, func(a admin.Project) error {
		if u.all || len(u.end) > 0 {
			if u.all {
				u.end = nil
			}
			n, err := a.EndUserSessions(s.ctx, name, u.end)
			if err != nil {
				return ofUser(name, err)
			}
			fmt.Fprintf(s.Stderr, "ended %s of %s\n", count(n, "session"), name)
			return nil
		}
		list, err := a.UserSessions(s.ctx, name)
		if err != nil {
			return ofUser(name, err)
		}
		return u.print(s, list)
	})
}

func (u *userSessionsCommand) print(s *session, list []auth.Session) error {
	if u.asJSON {
		return printJSON(s, append([]auth.Session{}, list...))
	}
	if len(list) == 0 {
		fmt.Fprintln(s.Stderr, "the user has no sessions")
		return nil
	}
	w := tabwriter.NewWriter(s.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "ID\tDEVICE\tLOGIN\tLAST ACTIVE")
	for _, x := range list {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", x.ID, printable(x.Device), minute(x.LoginAt, ""),
			minute(x.LastActiveAt, ""))
	}
	return w.Flush()
}

// printable returns a text that a client chose, such as their name, without what would confuse a terminal or a table.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, text)
}
