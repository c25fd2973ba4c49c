package answers

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"lectern/internal/simulation/program"
)

// WriteProject writes m as a project directory.
func WriteProject(dir string, m *Model) error {
	files := map[string]string{
		"config/api.yaml": "rest:\n  prefix: /api\n  defaultLimit: 25\n  maxLimit: 100\n  withCount: true\n",
		"config/plugins.yaml": "i18n:\n  config:\n    defaultLocale: " + m.Locales[0] + "\n    locales: [" +
			strings.Join(m.Locales, ", ") + "]\n" +
			fmt.Sprintf("graphql:\n  config:\n    documentActions: true\n    defaultLimit: %d\n    maxLimit: %d\n    limits: {cost: 1000000000}\n", m.DefaultLimit, m.MaxLimit),
	}
	if len(m.Permitted) > 0 {
		files["config/permissions.yaml"] = "tokens:\n  - {name: limited, type: custom, permissions: [" +
			strings.Join(m.Permitted, ", ") + "]}\n"
	}
	for _, t := range m.Types {
		files["content-types/"+t.Singular+".yaml"] = typeYAML(t)
		if m.Signed && !t.Single {
			files["content-types/"+t.Singular+".yaml"] += authorYAML
		}
	}
	for _, c := range m.Components {
		files["components/"+c.Category+"/"+c.Name+".yaml"] = componentYAML(c)
	}
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

func typeYAML(t *Type) string {
	var b strings.Builder
	kind := "collectionType"
	if t.Single {
		kind = "singleType"
	}
	fmt.Fprintf(&b, "kind: %s\ninfo:\n  singularName: %s\n  pluralName: %s\n  displayName: %s\n", kind, t.Singular,
		t.Plural, t.Singular)
	fmt.Fprintf(&b, "options:\n  draftAndPublish: %t\n", t.Drafts)
	if t.Localized {
		b.WriteString("pluginOptions:\n  i18n: {localized: true}\n")
	}
	attributesYAML(&b, t.Attributes)
	return b.String()
}

func componentYAML(c *Component) string {
	var b strings.Builder
	fmt.Fprintf(&b, "info:\n  displayName: %s\n", c.Name)
	attributesYAML(&b, c.Attributes)
	return b.String()
}

func attributesYAML(b *strings.Builder, attrs []*Attribute) {
	b.WriteString("attributes:\n")
	for _, a := range attrs {
		if a.System {
			continue
		}
		fmt.Fprintf(b, "  %s:\n    type: %s\n", a.Name, a.Type)
		line := func(format string, args ...any) { fmt.Fprintf(b, "    "+format+"\n", args...) }
		for word, on := range map[string]bool{"required": a.Required, "unique": a.Unique, "private": a.Private} {
			if on {
				line("%s: true", word)
			}
		}
		if a.Localized {
			line("pluginOptions: {i18n: {localized: true}}")
		}
		if a.Default != nil {
			line("default: %s", program.JSON(a.Default.Send))
		}
		if a.Min != nil {
			line("min: %v", *a.Min)
		}
		if a.Max != nil {
			line("max: %v", *a.Max)
		}
		if a.MinLength != nil {
			line("minLength: %d", *a.MinLength)
		}
		if a.MaxLength != nil {
			line("maxLength: %d", *a.MaxLength)
		}
		switch a.Type {
		case "enumeration":
			line("enum: %s", program.JSON(a.Enum))
		case "media":
			line("multiple: %t", a.Multiple)
		case "component":
			line("component: %s", a.Component.UID)
			line("repeatable: %t", a.Repeatable)
		case "dynamiczone":
			b.WriteString("    components:\n")
			for _, c := range a.Components {
				line("  - %s", c.UID)
			}
		case "relation":
			relationYAML(line, a)
		}
	}
}

func relationYAML(line func(string, ...any), a *Attribute) {
	line("relation: %s", a.Relation)
	line("target: %s", a.Target.UID)
	switch {
	case a.Mapped:
		line("mappedBy: %s", a.Inverse.Name)
	case a.Inverse != nil:
		line("inversedBy: %s", a.Inverse.Name)
	}
}
