package moveout

import (
	"fmt"
	"strconv"

	"lectern/contenttypes"
	"lectern/jsontree"
	"lectern/store"
)

// rowMemory is how many bytes of memory a byte of a stored row takes at most while it is written.
const rowMemory = 8

// document writes a row and its links.
func (e *exporter) document(t *contenttypes.ContentType, r store.Record) error {
	if err := e.reserve(fixedMemory + rowMemory*int64(r.Size())); err != nil {
		return err
	}
	e.row = e.appendRow(e.row[:0], t, r)
	if err := e.w.WriteEntityJSON(t.UID, r.ID(), e.row); err != nil {
		return err
	}
	if t.UID == contenttypes.FileUID {
		if err := e.files.add(r.ID(), e.row); err != nil {
			return err
		}
		if err := e.inFolder(t, r); err != nil {
			return err
		}
	}
	if err := e.localizations(t, r); err != nil {
		return err
	}
	return e.links(&t.Schema, r, setsOf(t, r.Status()))
}

// appendRow appends the values of a row as Strapi writes them: all scalars, null or not, and components.
func (e *exporter) appendRow(b []byte, t *contenttypes.ContentType, r store.Record) []byte {
	b = e.appendValues(append(b, '{'), &t.Schema, r)
	if !t.Localized {
		b = append(b, `,"locale":null`...)
	}
	return append(b, '}')
}

// appendValues appends the scalars and components of a document or component, each with a comma before it but for the
// first.
func (e *exporter) appendValues(b []byte, schema *contenttypes.Schema, r store.Record) []byte {
	for _, a := range schema.Attributes {
		if a.IsRelation() || a.Type == contenttypes.ID || isUnknown(a) {
			continue
		}
		if b[len(b)-1] != '{' {
			b = append(b, ',')
		}
		b = append(jsontree.AppendString(b, a.Name), ':')
		if a.IsScalar() {
			b = appendScalar(b, a, r)
		} else {
			b = e.appendItems(b, a, r)
		}
	}
	return b
}

// isUnknown reports whether an attribute of a built-in type is one that Strapi does not have.
func isUnknown(a *contenttypes.Attribute) bool {
	return a.Owner.UID == contenttypes.PermissionUID && (a.Name == "declared" || a.Name == "rule")
}

func appendScalar(b []byte, a *contenttypes.Attribute, r store.Record) []byte {
	text := r.JSON(a)
	if a.Owner.UID == contenttypes.FileUID && a.Name == "folderPath" {
		text = pathOf(text)
	}
	if text == nil {
		return append(b, "null"...)
	}
	return append(b, text...)
}

// appendItems appends the components of an attribute: one or null, or a list.
func (e *exporter) appendItems(b []byte, a *contenttypes.Attribute, r store.Record) []byte {
	list := a.Type == contenttypes.DynamicZone || a.Repeatable
	start := len(b)
	if list {
		b = append(b, '[')
	}
	first := true
	r.Each(a, func(item store.Record) bool {
		if !first {
			b = append(b, ',')
		}
		first = false
		b = strconv.AppendUint(append(b, `{"id":`...), item.ID(), 10)
		b = e.appendValues(b, &item.Component().Schema, item)
		if a.Type == contenttypes.DynamicZone {
			b = jsontree.AppendString(append(b, `,"__component":`...), item.Component().UID)
		}
		b = append(b, '}')
		return true
	})
	switch {
	case list:
		b = append(b, ']')
	case len(b) == start:
		b = append(b, "null"...)
	}
	return b
}

// textOf returns the value of a text attribute, "" if it is null.
func textOf(t *contenttypes.ContentType, r store.Record, name string) (string, error) {
	raw := r.JSON(t.Attribute(name))
	if raw == nil {
		return "", nil
	}
	v, err := jsontree.Parse(raw, jsontree.MaxDepth)
	if err != nil {
		return "", fmt.Errorf("read %s: %w", name, err)
	}
	text, _ := v.(string)
	return text, nil
}
