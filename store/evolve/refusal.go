package evolve

import (
	"cmp"
	"slices"
	"strings"
)

// A DefinitionError says that definitions changed in a way that content written under the former ones would not survive. The
// store was not opened and nothing in it was changed.
type DefinitionError struct {
	Refusals []Refusal
	// Command is how the calls begin; empty stands for "lectern migrate DIR". The store does not know the project.
	Command string
	// Done are the operations that were asked for and not carried out, since the refusals would remain after them. They are part of
	// every call that settles something.
	Done Migrations
}

// A Refusal is one such change.
type Refusal struct {
	Problem string     // what changed, and how much content it concerns
	Calls   Migrations // each of them settles it, on purpose; none: only taking the change back does
	// Otherwise are the operations that settle it by giving up what one of Calls, a rename, would keep. They are carried out but not
	// offered.
	Otherwise Migrations `json:",omitempty"`
	// After are the renames that are taken for granted: the refusal shows once they are made, and its calls are for then.
	After Migrations `json:",omitempty"`
}

// Error lists all refusals, each in a line, and below it the calls that settle it.
func (e *DefinitionError) Error() string {
	var b strings.Builder
	if len(e.Done) > 0 {
		b.WriteString("nothing was done: after " + e.Done.String() + " there is more to be settled in the same call:")
	} else {
		b.WriteString("the definitions changed in a way that would lose content; take the changes back, or say for each what is to become of it:")
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

// CallsOf are the calls that settle one of the refusals. Each can be made as it stands.
func (e *DefinitionError) CallsOf(r Refusal) (calls []string) {
	for _, call := range r.Calls {
		calls = append(calls, e.command()+" "+slices.Concat(e.Done, r.After, Migrations{call}).String())
	}
	return calls
}

// AtOnce is the one call that settles all refusals, if that takes renames alone and there is no choice among them; otherwise "".
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

// Hint says what to do where something is not the same under another name.
func (e *DefinitionError) Hint() string {
	program, _, _ := strings.Cut(e.command(), " ")
	return "what is not the same under another name is settled otherwise: \"" + program + " migrate --help\" lists all operations"
}

// offers reports whether a refusal names an operation, be it one that is not offered.
func (e *DefinitionError) offers(m Migration) bool {
	return slices.ContainsFunc(e.Refusals, func(r Refusal) bool { return r.Calls.has(m) || r.Otherwise.has(m) })
}

// about tells refusals apart: what settles one at the cost of content is said of no other.
func (r Refusal) about() string {
	if all := append(slices.Clone(r.Calls), r.Otherwise...); len(all) > 0 {
		return all[len(all)-1].String()
	}
	return r.Problem
}

// maxRenameRounds bounds how often renames are looked for that show only once others are made.
const maxRenameRounds = 8

// advise says what is refused, in the order in which it is settled: first what renames settle; then what is left once they are made,
// which may be further renames (the attribute of a type that has another name too). What the renames settle beside that, such as a
// relation that follows its type to the new name, is not refused: no call for it is needed.
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
		if slices.ContainsFunc(first, func(f Refusal) bool { return f.Problem == r.Problem && slices.EqualFunc(f.Calls, r.Calls, same) }) {
			e.Refusals[i].After = nil // it is so without them
		}
	}
	return e
}

// add takes refusals that show after renames, but for those that it has.
func (e *DefinitionError) add(refusals []Refusal, after Migrations, seen map[string]bool) {
	for _, r := range refusals {
		if about := r.about(); !seen[about] {
			seen[about] = true
			r.After = slices.Clone(after)
			e.Refusals = append(e.Refusals, r)
		}
	}
}

// settledByRename are the refusals that the rename of a type, component or attribute may settle.
func (c *comparison) settledByRename() (list []Refusal) {
	for _, r := range c.refusals {
		if len(r.Calls) > 0 && (r.Calls[0].Op == renameType || r.Calls[0].Op == renameAttribute) {
			list = append(list, r)
		}
	}
	return list
}

// renamed compares anew as if the likeliest renames were made, each name being given and taken once.
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
