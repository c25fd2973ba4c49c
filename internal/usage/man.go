package usage

import (
	"fmt"
	"strings"
)

// A Section is a section of a man page beside those of the commands.
type Section struct {
	Title string
	Items [][2]string // terms with what they mean
}

// Man returns the man page of the program c in roff, with these sections at its end.
func Man(c *Command, version string, sections []Section) string {
	var b strings.Builder
	fmt.Fprintf(&b, ".TH %s 1 \"\" %s\n", roff(strings.ToUpper(c.Name)), argument(c.Name+" "+version))
	summary, _, _ := strings.Cut(c.Help, ": ")
	fmt.Fprintf(&b, ".SH NAME\n%s \\- %s\n", roff(c.Name), roff(strings.TrimSuffix(summary, ".")))
	fmt.Fprintf(&b, ".SH SYNOPSIS\n.B %s\n.I COMMAND\n[\\fIARGUMENT\\fR ...] [\\fIFLAG\\fR ...]\n", roff(c.Name))
	fmt.Fprintf(&b, ".SH DESCRIPTION\n%s\n", roff(c.Help))
	manFlags(&b, ".SH FLAGS", c.Flags)
	b.WriteString(".SH COMMANDS\n")
	for _, p := range c.all()[1:] {
		if len(p.Commands) == 0 {
			manCommand(&b, c.Name+p.path, p.Command)
		}
	}
	for _, s := range sections {
		fmt.Fprintf(&b, ".SH %s\n", roff(s.Title))
		for _, item := range s.Items {
			fmt.Fprintf(&b, ".TP\n%s\n%s\n", roff(item[0]), roff(item[1]))
		}
	}
	return b.String()
}

func manCommand(b *strings.Builder, call string, c *Command) {
	for _, a := range c.Arguments {
		call += " " + a.Name
	}
	fmt.Fprintf(b, ".SS %s\n%s\n", argument(call), roff(c.Help))
	for _, a := range c.Arguments {
		fmt.Fprintf(b, ".TP\n\\fI%s\\fR\n%s\n", roff(a.Name), roff(a.Help))
	}
	manFlags(b, "", c.Flags)
}

// manFlags writes flags below a heading, unless there are none.
func manFlags(b *strings.Builder, heading string, flags []Flag) {
	if len(flags) > 0 && heading != "" {
		b.WriteString(heading + "\n")
	}
	for _, f := range flags {
		term := `\fB` + roff(strings.Join(f.forms(), ", ")) + `\fR`
		if f.Value != "" {
			term += ` \fI` + roff(f.Value) + `\fR`
		}
		fmt.Fprintf(b, ".TP\n%s\n%s\n", term, roff(f.Help))
	}
}

// roff returns text such that roff prints it as it is.
func roff(text string) string {
	text = strings.NewReplacer(`\`, `\e`, `-`, `\-`, "\n", " ").Replace(text)
	if strings.HasPrefix(text, ".") || strings.HasPrefix(text, "'") {
		return `\&` + text
	}
	return text
}

// argument returns text as one argument of a roff macro.
func argument(text string) string { return `"` + strings.ReplaceAll(roff(text), `"`, `\(dq`) + `"` }
