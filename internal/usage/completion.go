package usage

import (
	"fmt"
	"strings"
)

// Shells lists the shells for which there is a completion script.
var Shells = []string{"bash", "zsh", "fish"}

// Completion returns the completion script of the program c for one of Shells. Each script first finds the command that the words before
// the cursor name, and then offers its subcommands, its flags, the choices of a flag, or files.
func Completion(shell string, c *Command) (string, error) {
	var b strings.Builder
	switch shell {
	case "bash":
		bash(&b, c)
	case "zsh":
		zsh(&b, c)
	case "fish":
		fish(&b, c)
	default:
		return "", fmt.Errorf("there is no completion for %s, but for %s", shell, strings.Join(Shells, ", "))
	}
	return b.String(), nil
}

func bash(b *strings.Builder, c *Command) {
	fmt.Fprintf(b, "# Completion of %[1]s for bash: source <(%[1]s completion bash)\n%[2]s() {\n", c.Name, c.function())
	b.WriteString("\tlocal cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} at='' words='' flags='' i\n\tCOMPREPLY=()\n")
	b.WriteString("\tfor ((i = 1; i < COMP_CWORD; i++)); do\n\t\tcase \"$at ${COMP_WORDS[i]}\" in\n")
	fmt.Fprintf(b, "\t\t%s) at=\"$at ${COMP_WORDS[i]}\" ;;\n\t\tesac\n\tdone\n", quoteAll(c.paths(), "|"))
	b.WriteString("\tcase \"$at:$prev\" in\n")
	c.eachValue(func(patterns, choices []string) {
		fmt.Fprintf(b, "\t%s) COMPREPLY=($(compgen -W %s -- \"$cur\")); return ;;\n", quoteAll(patterns, "|"), quote(strings.Join(choices, " "), false))
	})
	b.WriteString("\tesac\n\tcase \"$at\" in\n")
	for _, p := range c.all() {
		var flags []string
		for _, f := range p.flags {
			flags = append(flags, f.forms()...)
		}
		fmt.Fprintf(b, "\t%s) words=%s flags=%s ;;\n", quote(p.path, false), quote(strings.Join(p.words(), " "), false), quote(strings.Join(flags, " "), false))
	}
	b.WriteString("\tesac\n\tif [[ $cur == -* ]]; then words=$flags; fi\n\tCOMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n}\n")
	fmt.Fprintf(b, "complete -o default -F %s %s\n", c.function(), c.Name)
}

// paths returns the paths of all commands but the program itself.
func (c *Command) paths() (paths []string) {
	for _, p := range c.all()[1:] {
		paths = append(paths, p.path)
	}
	return paths
}

// eachValue calls f for each flag that takes a value, with the texts "path:flag" of its forms and with its choices. Without choices the value
// is a file or anything else.
func (c *Command) eachValue(f func(patterns, choices []string)) {
	for _, p := range c.all() {
		for _, flag := range p.flags {
			if flag.Value == "" {
				continue
			}
			var patterns []string
			for _, form := range flag.forms() {
				patterns = append(patterns, p.path+":"+form)
			}
			f(patterns, flag.Choices)
		}
	}
}

func zsh(b *strings.Builder, c *Command) {
	fmt.Fprintf(b, "#compdef %[1]s\n# Completion of %[1]s for zsh: source <(%[1]s completion zsh)\n%[2]s() {\n", c.Name, c.function())
	b.WriteString("\tlocal at='' i\n\tlocal -a commands flags\n\tfor ((i = 2; i < CURRENT; i++)); do\n\t\tcase \"$at ${words[i]}\" in\n")
	fmt.Fprintf(b, "\t\t%s) at=\"$at ${words[i]}\" ;;\n\t\tesac\n\tdone\n", quoteAll(c.paths(), "|"))
	b.WriteString("\tcase \"$at:${words[CURRENT-1]}\" in\n")
	c.eachValue(func(patterns, choices []string) {
		offer := "_files"
		if choices != nil {
			offer = "compadd -- " + quoteAll(choices, " ")
		}
		fmt.Fprintf(b, "\t%s) %s; return ;;\n", quoteAll(patterns, "|"), offer)
	})
	b.WriteString("\tesac\n\tcase \"$at\" in\n")
	for _, p := range c.all() {
		fmt.Fprintf(b, "\t%s)\n\t\tcommands=(%s)\n\t\tflags=(%s)\n\t\t;;\n", quote(p.path, false), quoteAll(p.described(), " "), quoteAll(p.describedFlags(), " "))
	}
	b.WriteString("\tesac\n\tif [[ $PREFIX == -* ]]; then\n\t\t_describe -o flag flags\n\telif (( $#commands )); then\n\t\t_describe command commands\n\telse\n\t\t_files\n\tfi\n}\n")
	fmt.Fprintf(b, "if [[ $funcstack[1] == %[1]s ]]; then\n\t%[1]s \"$@\"\nelse\n\tcompdef %[1]s %[2]s\nfi\n", c.function(), c.Name)
}

// described returns the words of a command with their help, as zsh takes them: "serve:Serve a project."
func (c *Command) described() (words []string) {
	for _, sub := range c.Commands {
		words = append(words, sub.Name+":"+sub.Help)
	}
	for _, a := range c.Arguments {
		words = append(words, a.Choices...)
	}
	return words
}

func (p *placed) describedFlags() (words []string) {
	for _, f := range p.flags {
		for _, form := range f.forms() {
			words = append(words, form+":"+f.Help)
		}
	}
	return words
}

func fish(b *strings.Builder, c *Command) {
	at := "_" + c.function() + "_at"
	fmt.Fprintf(b, "# Completion of %[1]s for fish: %[1]s completion fish | source\nfunction %[2]s\n", c.Name, at)
	b.WriteString("\tset -l at ''\n\tset -l words (commandline -opc)\n\tfor word in $words[2..-1]\n\t\tswitch \"$at $word\"\n")
	fmt.Fprintf(b, "\t\t\tcase %s\n\t\t\t\tset at \"$at $word\"\n\t\tend\n\tend\n\ttest \"$at\" = \"$argv[1]\"\nend\n", quoteAll(c.paths(), " "))
	for _, p := range c.all() {
		line := fmt.Sprintf("complete -c %s -n %s", c.Name, quote(at+" "+quote(p.path, false), true))
		for _, sub := range p.Commands {
			fmt.Fprintf(b, "%s -f -a %s -d %s\n", line, sub.Name, quote(sub.Help, true))
		}
		for _, a := range p.Arguments {
			if a.Choices != nil {
				fmt.Fprintf(b, "%s -f -a %s\n", line, quote(strings.Join(a.Choices, " "), true))
			}
		}
		for _, f := range p.flags {
			fmt.Fprintf(b, "%s -l %s%s -d %s\n", line, f.Name, f.fishOptions(), quote(f.Help, true))
		}
	}
}

// fishOptions returns the options of fish's complete for the short form and the value of a flag.
func (f *Flag) fishOptions() (options string) {
	if f.Short != 0 {
		options = " -s " + string(f.Short)
	}
	switch {
	case f.Choices != nil:
		return options + " -x -a " + quote(strings.Join(f.Choices, " "), true)
	case f.Path:
		return options + " -r"
	case f.Value != "":
		return options + " -x"
	}
	return options
}
