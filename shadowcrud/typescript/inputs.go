package typescript

import (
	"fmt"
	"strconv"
	"strings"

	"lectern/contenttypes"
)

// input writes the interface of what a write sends. What a published document must have is not optional.
func (w *writer) input(s *contenttypes.Schema, name string) {
	w.line("export interface %s {", name+inputSuffix)
	for _, a := range s.Attributes {
		if !w.isSent(a, "create") && !w.isSent(a, "update") {
			continue
		}
		w.comment("  ", rules(a))
		if w.isDemanded(a) && !a.HasDefault && !a.Generate {
			w.line("  %s: %s", key(a.Name), w.written(a))
		} else {
			w.line("  %s?: %s", key(a.Name), optional(a.Name, w.written(a)))
		}
	}
	w.line("}")
	w.line("")
}

// isSent reports whether the client may send an attribute in a create or an update.
func (w *writer) isSent(a *contenttypes.Attribute, action string) bool {
	t := w.model.Type(a.Owner.UID)
	if t == nil || t.BuiltIn { // a component is sent with its document, a user by the routes of accounts
		return w.access.MaySend(a, nil)
	}
	return w.access.Allows(t, action) && w.access.MaySend(a, w.access.LimitOf(t, action))
}

// isDemanded reports whether a new document must have a value from the client.
func (w *writer) isDemanded(a *contenttypes.Attribute) bool {
	return a.Required && w.isSent(a, "create")
}

// written returns the type of the values that a write may send for an attribute.
func (w *writer) written(a *contenttypes.Attribute) string {
	switch {
	case a.IsRelation() && a.Target == nil:
		return "RelationInput<MorphRef>"
	case a.IsRelation():
		return "RelationInput"
	case a.Type == contenttypes.DynamicZone:
		return fmt.Sprintf("readonly ZoneInput<%s>[]",
			union(componentUIDs(a))) // null is no list: the server refuses it
	case a.Type == contenttypes.ComponentType:
		typ := fmt.Sprintf("ComponentInput<%s>", w.names[&a.Component.Schema]+inputSuffix)
		if a.Repeatable {
			return "readonly " + typ + "[]"
		}
		return nullable(a, typ)
	}
	switch a.Type.Kind() {
	case contenttypes.BigIntegerValue:
		return nullable(a, "string | number")
	case contenttypes.DateTimeValue:
		return nullable(a, "DateTimeString | Date")
	}
	return nullable(a, w.value(a))
}

func nullable(a *contenttypes.Attribute, typ string) string {
	if a.Required {
		return typ
	}
	return typ + " | null"
}

// rules says what the values of an attribute must be, for its comment.
func rules(a *contenttypes.Attribute) string {
	var said []string
	say := func(format string, args ...any) { said = append(said, fmt.Sprintf(format, args...)) }
	if a.HasDefault {
		say("Has a default.")
	}
	if a.Unique {
		say("Unique.")
	}
	number := func(f float64) string { return strconv.FormatFloat(f, 'g', -1, 64) }
	if a.Min != nil {
		say("At least %s.", number(*a.Min))
	}
	if a.Max != nil {
		say("At most %s.", number(*a.Max))
	}
	if a.MinLength != nil {
		say("At least %d characters.", *a.MinLength)
	}
	if most, bounded := a.LengthLimit(); bounded && a.MaxLength != nil {
		say("At most %d characters.", most)
	}
	if a.RegexSource != "" {
		say("Matches %s", a.RegexSource)
	}
	if a.Generate {
		say("Made from %s if it is missing.", a.TargetField)
	}
	if len(a.AllowedTypes) > 0 {
		say("Takes %s.", strings.Join(a.AllowedTypes, ", "))
	}
	return strings.Join(said, " ")
}
