package evolve

import (
	"cmp"
	"slices"
	"strings"
)

// A DefinitionError lists the changes of definitions that would lose content. Nothing in the store was changed.
type DefinitionError struct {
	Refusals []Refusal
	// Command is the beginning of the calls that settle refusals; "" stands for "lectern migrate DIR". The caller sets
	// it, since the store does not know the directory of the project.
	Command string
	// Done are the operations that were asked for but not carried out, because the refusals would remain after them.
	// They are part of every call that settles a refusal.
	Done Migrations
}

// A Refusal is one change of definitions that would lose content.
type Refusal struct {
	Problem string     // the change, and how much content it would lose
	Calls   Migrations // each of them alone settles it; if there are none, only undoing the change does
	// Otherwise are operations that settle the refusal by removing content which a rename in Calls would keep. They are
	// accepted, but not offered.
	Otherwise Migrations `json:",omitempty"`
	// After are the renames, assumed to be made, without which this refusal would not show. They come before its calls.
	After Migrations `json:",omitempty"`
}

// Error lists the refusals, one to a line, each followed by the calls that settle it.
func (e *DefinitionError) Error() string {
	var b strings.Builder
	if len(e.Done) > 0 {
		b.WriteString("nothing was done: after " + e.Done.String() + " there is more to be settled in the same call:")
	} else {
		b.WriteString("the definitions changed in a way that would lose content; take the changes back, " +
			"or say for each what is to become of it:")
	}
	last, otherwise := "", false
	for _, r := range e.Refusals {
		b.WriteString("\n" + r.Problem)
		for _, call := range e.CallsOf(r) {
			b.WriteString("\n    " + call)
			last = call
		}
		otherwise = otherwise || len(r.Otherwise) > 0
	}
	if all := e.AtOnce(); all != "" && all != last {
		b.WriteString("\nall of it in one call:\n    " + all)
	}
	if otherwise {
		b.WriteString("\n" + e.Hint())
	}
	return b.String()
}

func (e *DefinitionError) command() string { return cmp.Or(e.Command, "lectern migrate DIR") }

// CallsOf returns the command lines that settle a refusal, each complete.
func (e *DefinitionError) CallsOf(r Refusal) (calls []string) {
	for _, call := range r.Calls {
		calls = append(calls, e.command()+" "+slices.Concat(e.Done, r.After, Migrations{call}).String())
	}
	return calls
}

// AtOnce returns one command line that settles all refusals. It returns "" when one of them has several calls to choose
// from, or a call that removes content.
func (e *DefinitionError) AtOnce() string {
	all := slices.Clone(e.Done)
	for _, r := range e.Refusals {
		if len(r.Calls) != 1 || r.Calls[0].destroys() {
			return ""
		}
		if !all.has(r.Calls[0]) {
			all = append(all, r.Calls[0])
		}
	}
	return e.command() + " " + all.String()
}

// Hint tells the reader how to settle a refusal if the offered rename is wrong.
func (e *DefinitionError) Hint() string {
	program, _, _ := strings.Cut(e.command(), " ")
	return "what is not the same under another name is settled otherwise: \"" + program +
		" migrate --help\" lists all operations"
}

// offers reports whether an operation settles one of the refusals, including those in Otherwise.
func (e *DefinitionError) offers(m Migration) bool {
	return slices.ContainsFunc(e.Refusals, func(r Refusal) bool { return r.Calls.has(m) || r.Otherwise.has(m) })
}

// about returns a text that identifies the content of a refusal: its last operation, which removes that content, or its
// problem if it has no operations.
func (r Refusal) about() string {
	if all := append(slices.Clone(r.Calls), r.Otherwise...); len(all) > 0 {
		return all[len(all)-1].String()
	}
	return r.Problem
}

// maxRenameRounds bounds how many times advise assumes renames and compares again.
const maxRenameRounds = 8

// advise returns the refusals in the order in which to settle them. It assumes that the likeliest renames are made and
// compares again, since a rename may settle other refusals (a relation follows its type to the new name) and may show
// new ones (an attribute of the renamed type has another name too). Refusals that the renames settle are left out.
func (c *comparison) advise() *DefinitionError {
	e, seen := &DefinitionError{}, map[string]bool{}
	first := c.refusals
	var made Migrations
	for range maxRenameRounds {
		settled := c.settledByRename()
		next, renames := c.renamed(settled)
		if len(renames) == 0 {
			break
		}
		e.add(settled, made, seen)
		c, made = next, append(made, renames...)
	}
	e.add(c.refusals, made, seen)
	for i, r := range e.Refusals {
		if slices.ContainsFunc(
			first, func(f Refusal) bool { return f.Problem == r.Problem && slices.EqualFunc(f.Calls, r.Calls, same) }) {
			e.Refusals[i].After = nil // this refusal shows without the renames as well
		}
	}
	return e
}

// add appends the refusals that are not in e yet, with the renames after which they show.
func (e *DefinitionError) add(refusals []Refusal, after Migrations, seen map[string]bool) {
	for _, r := range refusals {
		if about := r.about(); !seen[about] {
			seen[about] = true
			r.After = slices.Clone(after)
			e.Refusals = append(e.Refusals, r)
		}
	}
}

// settledByRename returns the refusals that the rename of a type, component or attribute may settle.
func (c *comparison) settledByRename() (list []Refusal) {
	for _, r := range c.refusals {
		if len(r.Calls) > 0 && (r.Calls[0].Op == renameType || r.Calls[0].Op == renameAttribute) {
			list = append(list, r)
		}
	}
	return list
}

// renamed compares again as if the likeliest renames were made, and returns those renames. Each name is renamed, or
// becomes a new name, once.
func (c *comparison) renamed(refusals []Refusal) (*comparison, Migrations) {
	p := &migrationPlan{planner: c.planner, left: c.catalog}
	var made Migrations
	taken := map[string]bool{}
	for _, r := range refusals {
		for _, call := range r.Calls {
			to := call.Args[1]
			if call.Op == renameAttribute {
				to = call.Args[0][:strings.LastIndexByte(call.Args[0], '.')+1] + to
			}
			if taken[call.Args[0]] || taken[to] || p.add(call) != nil {
				continue
			}
			taken[call.Args[0]], taken[to] = true, true
			made = append(made, call)
			break
		}
	}
	if len(made) == 0 {
		return c, nil
	}
	next, err := c.planner.compare(p.left, c.is)
	if err != nil {
		return c, nil
	}
	return next, made
}
