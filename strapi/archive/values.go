package archive

import (
	"fmt"
	"math"
	"strconv"

	"lectern/jsontree"
)

func newSchema(o *jsontree.Object) (Schema, error) {
	uid, err := uidOf(o, "uid")
	return Schema{UID: uid, Data: o}, err
}

func newEntity(o *jsontree.Object) (e Entity, err error) {
	if e.Type, err = uidOf(o, "type"); err != nil {
		return e, err
	}
	if e.ID, err = idOf(o, "id"); err != nil {
		return e, err
	}
	e.Data, err = objectOf(o, "data")
	return e, err
}

func newLink(o *jsontree.Object) (l Link, err error) {
	if l.Kind, err = textOf(o, "kind"); err != nil {
		return l, err
	}
	if l.Relation, err = textOf(o, "relation"); err != nil {
		return l, err
	}
	if l.Left, err = endOf(o, "left"); err != nil {
		return l, err
	}
	l.Right, err = endOf(o, "right")
	return l, err
}

func endOf(link *jsontree.Object, side string) (e End, err error) {
	o, err := objectOf(link, side)
	if err != nil {
		return e, err
	}
	if e.Type, err = uidOf(o, "type"); err != nil {
		return e, fmt.Errorf("%s: %w", side, err)
	}
	e.Field = o.Text("field")
	if n, ok := o.Value("pos").(jsontree.Number); ok {
		e.Pos = n.Float()
		if e.Pos == 0 {
			e.Pos = math.SmallestNonzeroFloat64
		}
	}
	if ref, ok := o.Value("ref").(string); ok {
		if e.ID, err = strconv.ParseUint(ref, 10, 64); err != nil {
			e.DocumentID = ref
		}
		return e, nil
	}
	if e.ID, err = idOf(o, "ref"); err != nil {
		return e, fmt.Errorf("%s: %w", side, err)
	}
	return e, nil
}

func newSetting(o *jsontree.Object) (s Setting, err error) {
	if s.Type, err = textOf(o, "type"); err != nil {
		return s, err
	}
	s.Value, err = objectOf(o, "value")
	return s, err
}

func textOf(o *jsontree.Object, key string) (string, error) {
	s, ok := o.Value(key).(string)
	if !ok || s == "" {
		return "", fmt.Errorf("no text under %q", key)
	}
	return s, nil
}

func uidOf(o *jsontree.Object, key string) (string, error) {
	uid, err := textOf(o, key)
	if err == nil {
		err = CheckUID(uid)
	}
	return uid, err
}

func objectOf(o *jsontree.Object, key string) (*jsontree.Object, error) {
	v, ok := o.Value(key).(*jsontree.Object)
	if !ok {
		return nil, fmt.Errorf("no object under %q", key)
	}
	return v, nil
}

// idOf returns the id of a row. Some databases write it as a text.
func idOf(o *jsontree.Object, key string) (uint64, error) {
	var text string
	switch v := o.Value(key).(type) {
	case jsontree.Number:
		text = string(v)
	case string:
		text = v
	}
	id, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("no id of a row under %q", key)
	}
	return id, nil
}
