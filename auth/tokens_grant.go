package auth

import (
	"errors"
	"fmt"
	"slices"

	"lectern/documents/permission"
	"lectern/internal/spelling"
)

// ErrBeyond means that a caller asked for a token or role which could do more than they may.
var ErrBeyond = errors.New("nobody can grant more than they may do themselves")

// mayGrant returns an error wrapping ErrBeyond unless a caller may do all that a token of this declaration may. A token
// of a type other than custom may also do what types bring that are added later, so only those who may do everything
// grant one.
func mayGrant(by *permission.Access, d Declaration) error {
	if d.Kind != Custom && !by.AllowsEverything() {
		return fmt.Errorf("%w: a token of the type %s takes somebody who may do everything", ErrBeyond, d.Kind)
	}
	for _, p := range d.Permissions {
		if err := mayGive(by, p, d.Rules[p] != nil); err != nil {
			return err
		}
	}
	return nil
}

// mayGive returns an error wrapping ErrBeyond unless a caller may give a permission to others, who may then use it
// within a rule if ruled is set, and else without any. Rules can show attributes that nobody else sees, so only those
// who may do everything give a permission with one.
func mayGive(by *permission.Access, p string, ruled bool) error {
	switch {
	case by.AllowsEverything():
		return nil
	case ruled:
		return fmt.Errorf("%w: %s has a rule in permissions.yaml, which takes somebody who may do everything", ErrBeyond, p)
	case !by.AllowsAction(p):
		return fmt.Errorf("%w: %s", ErrBeyond, p)
	case by.LimitsAny(p):
		return fmt.Errorf("%w: your %s is limited by a rule, which would not hold for others", ErrBeyond, p)
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
