package evolve

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"lectern/contenttypes"
)

// attributeName returns the name of an attribute as migrations and errors write it.
func attributeName(a *contenttypes.Attribute) string { return a.Owner.UID + "." + a.Name }

// attributes compares the attributes of a type or component.
func (c *comparison) attributes(was, is *contenttypes.Schema) {
	for _, a := range was.Attributes {
		if a.System || a.Type == contenttypes.ID {
			continue
		}
		c.attribute(a, is.Attribute(a.Name))
	}
	for _, n := range is.Attributes {
		if n.IsRelation() && !n.System && !n.Mapped {
			c.linkSets(n)
		}
	}
}

// attribute compares one attribute; is is nil if it was removed.
func (c *comparison) attribute(was, is *contenttypes.Attribute) {
	switch {
	case was.IsRelation():
		c.relation(was, is)
	case is == nil:
		c.refuseValues(was, c.renames(was), "attribute %s of %s is gone", was.Name, was.Owner.UID)
	case was.IsScalar() && is.IsScalar():
		c.scalar(was, is)
	case is.IsStored() && !was.IsScalar() && !is.IsScalar():
		c.items(was, is)
	default:
		c.refuseValues(was, nil, "attribute %s of %s was %s and is %s", was.Name, was.Owner.UID, describe(was),
			describe(is))
		c.renew(was)
	}
	if is != nil && was.Localized && !is.Localized {
		c.unshared(was, is)
	}
}

// renew gives an attribute a new number, so that values of the old attribute with its name are not read as its own.
func (c *comparison) renew(a *contenttypes.Attribute) {
	c.define.Renewed[a.Owner.UID] = append(c.define.Renewed[a.Owner.UID], a.Name)
}

// describe returns the type of an attribute in words.
func describe(a *contenttypes.Attribute) string {
	switch {
	case a.Type == contenttypes.RelationType && a.Target != nil && a.Inverse != nil:
		return fmt.Sprintf("a relation %s with %s of %s", a.Relation, a.Inverse.Name, a.Target.UID)
	case a.Type == contenttypes.RelationType && a.Target != nil:
		return fmt.Sprintf("a relation %s to %s", a.Relation, a.Target.UID)
	case a.Type == contenttypes.RelationType:
		return fmt.Sprintf("a relation %s", a.Relation)
	case a.Type == contenttypes.Media && a.Multiple:
		return "media with several files"
	case a.Type == contenttypes.ComponentType && a.Component != nil && a.Repeatable:
		return "a list of components " + a.Component.UID
	case a.Type == contenttypes.ComponentType && a.Component != nil:
		return "a component " + a.Component.UID
	}
	return a.Type.String()
}

// refuseValues refuses a change if any version has a value in the attribute.
func (c *comparison) refuseValues(a *contenttypes.Attribute, calls []Migration, format string, args ...any) {
	c.ask(a, Value.Exists, func(n int) {
		if n > 0 {
			c.refuse(append(calls, migration(dropAttribute, attributeName(a))), format+"; %s",
				append(args, have(n, "a value for it"))...)
		}
	})
}

// have returns "3 versions have ...".
func have(n int, what string) string {
	if n == 1 {
		return "1 version has " + what
	}
	return fmt.Sprintf("%d versions have %s", n, what)
}

// renames returns the migrations that rename a removed attribute to one of up to three new ones.
func (c *comparison) renames(was *contenttypes.Attribute) (calls []Migration) {
	for _, is := range schemaOf(c.is, was.Owner.UID).Attributes {
		if is.System || was.Owner.Attribute(is.Name) != nil || !alike(was, is) || len(calls) == 3 {
			continue
		}
		calls = append(calls, migration(renameAttribute, attributeName(was), is.Name))
	}
	return calls
}

// alike reports whether was may be is under a new name: values or links of was fit it.
func alike(was, is *contenttypes.Attribute) bool {
	switch {
	case was.IsRelation():
		return is.IsRelation() && was.Mapped == is.Mapped && (was.Target == nil) == (is.Target == nil) &&
			(was.Target == nil || was.Target.UID == is.Target.UID)
	case was.IsScalar():
		return is.IsScalar() && (was.Type == is.Type || isText(was.Type) && isText(is.Type) || isNumber(was.Type) &&
			isNumber(is.Type))
	}
	return is.IsStored() && was.Type == is.Type
}

// scalar compares two scalar attributes. It refuses a change of type that some values do not survive, and plans to
// rewrite the others.
func (c *comparison) scalar(was, is *contenttypes.Attribute) {
	if is.Type == contenttypes.Enumeration && (was.Type == contenttypes.Enumeration || isText(was.Type)) {
		c.enumeration(was, is)
		return
	}
	if was.Type == is.Type {
		return
	}
	c.ask(was, func(v Value) bool {
		raw := v.JSON()
		if raw == nil {
			return false
		}
		_, ok := Retype(was.Type, is.Type, raw)
		return !ok
	}, func(n int) {
		if n > 0 {
			c.refuse([]Migration{migration(dropAttribute, attributeName(was))},
				"attribute %s of %s was %s and is %s; %s",
				was.Name, was.Owner.UID, was.Type, is.Type, have(n, "a value that cannot become one"))
		}
	})
	if !rewrites(was.Type, is.Type) {
		return
	}
	c.retyped[is] = &Retyping{was.Type, is.Type}
	for _, t := range c.is.Types {
		if c.was.Type(t.UID) != nil && t.Holds(is.Owner) {
			c.edits[t.UID] = append(
				c.edits[t.UID], ValueEdit{Schema: is.Owner.UID, Attr: is.Name, Retype: c.retyped[is]})
		}
	}
}

// maxValues is how many values of an enumeration a refusal lists at most.
const maxValues = 10

// enumeration refuses the removal of enumeration values that content still has.
func (c *comparison) enumeration(was, is *contenttypes.Attribute) {
	if !slices.ContainsFunc(was.Enum, func(v string) bool { return !slices.Contains(is.Enum, v) }) &&
		was.Type == contenttypes.Enumeration {
		return
	}
	allowed := map[string]bool{}
	for _, v := range is.Enum {
		allowed[v] = true
	}
	found := map[string]int{}
	c.ask(was, func(v Value) bool {
		if !v.Exists() || allowed[v.Text()] {
			return false
		}
		found[v.Text()]++
		return true
	}, func(n int) {
		if n == 0 {
			return
		}
		var came []string
		for _, v := range is.Enum {
			if !slices.Contains(was.Enum, v) && was.Type == contenttypes.Enumeration {
				came = append(came, v)
			}
		}
		gone := slices.Sorted(maps.Keys(found))
		var calls []Migration
		for _, v := range gone[:min(len(gone), maxValues)] {
			for _, to := range came[:min(len(came), 3)] {
				calls = append(calls, migration(renameValue, attributeName(was), v, to))
			}
			calls = append(calls, migration(dropValue, attributeName(was), v))
		}
		what := strings.Join(quoted(gone[:min(len(gone), maxValues)]), ", ")
		if len(gone) > maxValues {
			what += fmt.Sprintf(" and %d more", len(gone)-maxValues)
		}
		c.refuse(calls, "the enumeration %s of %s has no %s; %s", is.Name, is.Owner.UID, what, have(n, "it"))
	})
}

func quoted(list []string) []string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = fmt.Sprintf("%q", s)
	}
	return out
}

// items compares two component attributes or dynamic zones.
func (c *comparison) items(was, is *contenttypes.Attribute) {
	allowed := map[string]bool{}
	for _, comp := range is.AllComponents() {
		allowed[comp.UID] = true
	}
	for _, comp := range was.AllComponents() {
		if !allowed[comp.UID] {
			c.componentGone(was, comp)
		}
	}
	if isList(was) && !isList(is) {
		c.ask(was, func(v Value) bool { return len(v.Components()) > 1 }, func(n int) {
			if n > 0 {
				c.refuse([]Migration{migration(keepFirst, attributeName(was))},
					"attribute %s of %s holds one component now; %s", was.Name, was.Owner.UID, have(n, "more"))
			}
		})
	}
}

func isList(a *contenttypes.Attribute) bool {
	return a.Type == contenttypes.DynamicZone || a.Repeatable
}

// componentGone refuses to take a component from those that an attribute allows while content has that component there.
func (c *comparison) componentGone(a *contenttypes.Attribute, comp *contenttypes.Component) {
	c.ask(a, func(v Value) bool { return slices.Contains(v.Components(), comp) }, func(n int) {
		if n == 0 {
			return
		}
		var calls []Migration
		if c.is.Component(comp.UID) == nil {
			for _, uid := range c.successors(&comp.Schema) {
				calls = append(calls, migration(renameType, comp.UID, uid))
			}
		}
		c.refuse(append(calls, migration(dropItems, attributeName(a), comp.UID)),
			"attribute %s of %s does not take component %s; %s",
			a.Name, a.Owner.UID, comp.UID, have(n, "it"))
	})
}

// unshared refuses that an attribute has one value for all locales if localizations of a document have different
// values.
func (c *comparison) unshared(was, is *contenttypes.Attribute) {
	t, ok := was.OwnerType()
	if n := c.is.Type(was.Owner.UID); !ok || n == nil || !n.Localized || was.IsRelation() != is.IsRelation() ||
		was.IsRelation() && (was.Mapped || is.Mapped) {
		return
	}
	c.ask(was, func(v Value) bool { return !v.IsShared(c.locale) }, func(n int) {
		if n == 0 {
			return
		}
		var calls []Migration
		c.content.EachLocale(t, func(code string, _ int) {
			calls = append(calls, migration(shareValue, attributeName(was), code))
		})
		c.refuse(calls, "attribute %s of %s has one value for all locales now; %s", was.Name, t.UID,
			have(n, "another than that of their document's first locale"))
	})
}
