package auth

import (
	"errors"
	"fmt"
	"slices"

	"lectern/documents/permission"
	"lectern/internal/spelling"
)

// ErrBeyond means that a caller asked for a key with which they could do more than they may.
var ErrBeyond = errors.New("nobody can give a token more than they may do themselves")

// mayGrant returns an error wrapping ErrBeyond unless a caller may do all that a token of this declaration may. A token
// of a type other than custom may also do what types bring that are added later, and rules can show a token attributes
// that nobody else sees, so only those who may do everything grant these.
func mayGrant(by *permission.Access, d Declaration) error {
	switch {
	case by.AllowsEverything():
		return nil
	case d.Kind != Custom:
		return fmt.Errorf("%w: a token of the type %s takes somebody who may do everything", ErrBeyond, d.Kind)
	case len(d.Rules) > 0:
		return fmt.Errorf("%w: %s has rules in permissions.yaml, which takes somebody who may do everything", ErrBeyond,
			d.Name)
	}
	for _, p := range d.Permissions {
		if !by.AllowsAction(p) {
			return fmt.Errorf("%w: %s", ErrBeyond, p)
		}
		if by.LimitsAny(p) {
			return fmt.Errorf("%w: your %s is limited by a rule, and a token would have it without", ErrBeyond, p)
		}
	}
	return nil
}

// ErrUndeclared means that a token was asked for without saying what it may do.
var ErrUndeclared = errors.New("the token would have no permissions")

// Completed completes d by what permissions.yaml declares under its name, if it does; d may then have neither a Kind
// nor permissions. The error wraps ErrUndeclared if neither says what the token may do.
func (t *Tokens) Completed(d Declaration) (Declaration, error) {
	declared := t.declared(d.Name)
	switch {
	case declared != nil && (d.Kind != "" || len(d.Permissions) > 0):
		return d, fmt.Errorf("permissions.yaml says what token %s may do; leave out type and permissions, "+
			"or take another name", d.Name)
	case declared != nil:
		with := *declared
		if d.Lifespan > 0 {
			with.Lifespan = d.Lifespan
		}
		if d.Description != "" {
			with.Description = d.Description
		}
		return with, nil
	case d.Kind == "" && len(d.Permissions) > 0:
		d.Kind = Custom
	case d.Kind == "":
		var names []string
		for _, x := range t.o.Declared {
			names = append(names, x.Name)
		}
		return d, fmt.Errorf("%w: permissions.yaml declares no token %s (%s), so say what it may do", ErrUndeclared,
			d.Name, spelling.Suggest(d.Name, names))
	}
	return d, nil
}

// Check returns an error with a suggestion if no token can be created from d.
func (t *Tokens) Check(d Declaration) error { return d.Check(t.actions) }

// Keyless returns the tokens that permissions.yaml declares and that have no key yet.
func (t *Tokens) Keyless() []Declaration {
	return slices.DeleteFunc(slices.Clone(t.o.Declared), func(d Declaration) bool { return t.Has(d.Name) })
}
