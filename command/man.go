package command

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func newMan(s *session) *cobra.Command {
	return &cobra.Command{
		Use:   "man",
		Short: "Print the man page.",
		Args:  takes(0, 0),
		RunE: func(c *cobra.Command, _ []string) error {
			_, err := io.WriteString(s.Stdout, man(c.Root()))
			return err
		},
	}
}

// manEnd has the sections of the man page that describe no command.
const manEnd = `.SH EXIT STATUS
.TP
0
Done.
.TP
1
Failed. The reason is on the standard error.
.TP
2
Wrong usage.
.SH FILES
.TP
content\-types/, components/
The definitions of a project, in YAML or JSON.
.TP
config/
Its configuration: server.yaml, api.yaml, plugins.yaml and permissions.yaml.
.TP
data/
Its content: the store, the uploads, and the control socket of the running server.
`

// man returns the man page of the program in roff: one page for all commands. (That of cobra/doc is a page for each of
// them, and brings a renderer of Markdown and the package text/template into the program.)
func man(root *cobra.Command) string {
	var b strings.Builder
	fmt.Fprintf(&b, ".TH %s 1 \"\" %s\n", roff(strings.ToUpper(root.Name())), roffArgument(root.Name()+" "+version()))
	summary, _, _ := strings.Cut(root.Short, ": ")
	fmt.Fprintf(&b, ".SH NAME\n%s \\- %s\n", roff(root.Name()), roff(summary))
	fmt.Fprintf(&b, ".SH SYNOPSIS\n.B %s\n.I COMMAND\n[\\fIARGUMENT\\fR ...] [\\fIFLAG\\fR ...]\n", roff(root.Name()))
	fmt.Fprintf(&b, ".SH DESCRIPTION\n%s\n.SH FLAGS\n", roff(root.Short))
	manFlags(&b, root.PersistentFlags())
	b.WriteString(".SH COMMANDS\n")
	for _, c := range leaves(root) {
		call := strings.TrimSuffix(c.CommandPath(), c.Name()) + strings.TrimSuffix(c.Use, " [flags]")
		fmt.Fprintf(&b, ".SS %s\n%s\n", roffArgument(call), roff(c.Short))
		if c.Long != "" {
			fmt.Fprintf(&b, ".PP\n.nf\n%s.fi\n", roff(wrap(c.Long, "", 72)))
		}
		manFlags(&b, c.LocalNonPersistentFlags())
	}
	return b.String() + manEnd
}

func manFlags(b *strings.Builder, flags *pflag.FlagSet) {
	flags.SortFlags = false
	flags.VisitAll(func(f *pflag.Flag) {
		value, usage := pflag.UnquoteUsage(f)
		term := `\fB` + roff("--"+f.Name) + `\fR`
		if f.Shorthand != "" {
			term += `, \fB` + roff("-"+f.Shorthand) + `\fR`
		}
		if value != "" {
			term += ` \fI` + roff(value) + `\fR`
		}
		fmt.Fprintf(b, ".TP\n%s\n%s\n", term, roff(usage))
	})
}

// roff returns text such that roff prints it as it is.
func roff(text string) string {
	text = strings.NewReplacer(`\`, `\e`, `-`, `\-`, "\n.", "\n\\&.", "\n'", "\n\\&'").Replace(text)
	if strings.HasPrefix(text, ".") || strings.HasPrefix(text, "'") {
		return `\&` + text
	}
	return text
}

// roffArgument returns text as one argument of a roff macro.
func roffArgument(text string) string { return `"` + strings.ReplaceAll(roff(text), `"`, `\(dq`) + `"` }
