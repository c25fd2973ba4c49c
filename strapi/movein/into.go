package movein

import (
	"bufio"
	"fmt"

	"lectern/contenttypes"
	"lectern/gateway"
)

// convertInto writes the content of the source as lines to w, for a project that is there. It checks first that the
// project has the same types. dir is where the definitions of the source are written to compare them.
func (m *move) convertInto(dir string, w *bufio.Writer) error {
	var set settings
	if err := m.readSettings(&set); err != nil {
		return err
	}
	if _, err := m.define(dir); err != nil {
		return err
	}
	theirs, err := gateway.Load(dir, m.o.Project.Extensions)
	if err != nil {
		return err
	}
	ours, err := m.directory().Load()
	if err != nil {
		return err
	}
	if ours.Settings.Upload.S3 != nil {
		return fmt.Errorf("%s keeps uploaded files in a bucket, and move-in copies them to a directory; "+
			"move into a new project, and copy its files to the bucket", m.o.Dir)
	}
	if d := lacking(ours.Model, theirs.Model); len(d) > 0 {
		return &Difference{d}
	}
	if m.source.archive != nil {
		if err := m.spool(ours, &set, newRoles(), w); err != nil {
			return err
		}
	}
	for _, v := range m.counter.census().Versions {
		if v.Locale != "" && !ours.Settings.I18n.Has(v.Locale) {
			return &Difference{[]string{fmt.Sprintf("the project has no locale %s, which %d versions of %s have",
				v.Locale, v.Source, v.Type)}}
		}
	}
	m.report.Definitions = nil
	if m.o.Misfits != KeepOrStop {
		m.notes.say("unique values",
			"they are not compared with those of other documents of the project; `lectern check` lists what is there twice")
	}
	m.notes.say("definitions, settings, roles and permissions", "those of the project stay")
	return nil
}

// lacking lists what the types and components of theirs have and those of ours lack.
func lacking(ours, theirs *contenttypes.Model) (list []string) {
	for _, t := range theirs.Types {
		own := ours.Type(t.UID)
		switch {
		case own == nil:
			list = append(list, "there is no type "+t.UID)
			continue
		case own.DraftAndPublish != t.DraftAndPublish:
			list = append(list, fmt.Sprintf("draftAndPublish of %s is %t in the source", t.UID, t.DraftAndPublish))
		case own.Localized != t.Localized:
			list = append(list, fmt.Sprintf("localized of %s is %t in the source", t.UID, t.Localized))
		}
		list = append(list, lackingAttributes(&own.Schema, &t.Schema)...)
	}
	for _, c := range theirs.Components {
		if own := ours.Component(c.UID); own == nil {
			list = append(list, "there is no component "+c.UID)
		} else {
			list = append(list, lackingAttributes(&own.Schema, &c.Schema)...)
		}
	}
	return list
}

func lackingAttributes(ours, theirs *contenttypes.Schema) (list []string) {
	for _, a := range theirs.Attributes {
		own := ours.Attribute(a.Name)
		switch {
		case own == nil:
			list = append(list, fmt.Sprintf("there is no attribute %s of %s", a.Name, theirs.UID))
		case own.Type != a.Type || own.Relation != a.Relation || own.Repeatable != a.Repeatable ||
			own.Mapped != a.Mapped:
			list = append(list, fmt.Sprintf("attribute %s of %s is of another type", a.Name, theirs.UID))
		case own.Target != nil && a.Target != nil && own.Target.UID != a.Target.UID:
			list = append(list, fmt.Sprintf("attribute %s of %s leads to %s, not to %s", a.Name, theirs.UID,
				own.Target.UID, a.Target.UID))
		}
	}
	return list
}
