package command

import (
	"slices"

	"github.com/alecthomas/kong"
)

// flagsFirst moves the flags on a command line to directly after the command's name, so that users may write them anywhere.
// (kong ends a list of arguments at the first flag and at "--".) It leaves arguments after "--" alone.
func flagsFirst(app *kong.Node, args []string) []string {
	command, at := app, 0
	for at < len(args) {
		i := slices.IndexFunc(command.Children, func(n *kong.Node) bool { return n.Type == kong.CommandNode && n.Name == args[at] })
		if i < 0 {
			break
		}
		command, at = command.Children[i], at+1
	}
	flags, others := slices.Clone(args[:at]), []string(nil)
	for ; at < len(args); at++ {
		switch arg := args[at]; {
		case arg == "--":
			return slices.Concat(flags, args[at:at+1], others, args[at+1:])
		case len(arg) < 2 || arg[0] != '-':
			others = append(others, arg)
		case takesNext(command, arg) && at+1 < len(args):
			at++
			flags = append(flags, arg, args[at])
		default:
			flags = append(flags, arg)
		}
	}
	return append(flags, others...)
}

// takesNext reports whether the argument after the flag arg is the flag's value.
func takesNext(command *kong.Node, arg string) bool {
	for _, flag := range slices.Concat(command.AllFlags(false)...) {
		if arg == "--"+flag.Name || flag.Short != 0 && arg == "-"+string(flag.Short) {
			return !flag.IsBool()
		}
	}
	return false
}
