package store

import (
	"strconv"

	"lectern/contenttypes"
	"lectern/jsontree"
)

// valuesStep changes values in the rows of one type, wherever in them their attribute is.
type valuesStep struct {
	Type  string      `json:"type"`
	Edits []valueEdit `json:"edits"`
}

// A valueEdit changes what an attribute of a type or component holds. One of Retype, Replace and Clear is set.
type valueEdit struct {
	Schema  string       `json:"schema"`
	Attr    string       `json:"attr"`
	Retype  *retyping    `json:"retype,omitempty"`
	Replace *replacement `json:"replace,omitempty"`
	Clear   *clearing    `json:"clear,omitempty"`
}

// retyping turns values of one type into values of another.
type retyping struct {
	From contenttypes.Type `json:"from"`
	To   contenttypes.Type `json:"to"`
}

// replacement puts one text for another; without New, null.
type replacement struct {
	Old string  `json:"old"`
	New *string `json:"new,omitempty"`
}

// clearing empties an attribute. Of components it may take away those of one definition, or all but the first.
type clearing struct {
	Component string `json:"component,omitempty"`
	KeepFirst bool   `json:"keepFirst,omitempty"`
}

func (s *valuesStep) kind() string { return "values" }
func (s *valuesStep) what() string { return "converting " + s.Type }

func (s *valuesStep) run(c *chunk) (bool, error) {
	t, err := c.typ(s.Type)
	if err != nil {
		return false, err
	}
	edits := map[*contenttypes.Attribute]valueEdit{}
	for _, e := range s.Edits {
		a, err := c.attribute(e.Schema, e.Attr)
		if err != nil {
			return false, err
		}
		edits[a] = e
	}
	return c.eachRow(t, func(r Record) error {
		row := r.Decode()
		lost, changed, err := c.edit(edits, &t.Schema, row.Values)
		if err != nil || !changed {
			return err
		}
		if lost {
			c.conversion.pending.Removed.Values++
		}
		return c.putRow(row)
	})
}

// edit changes the values of a row or component. lost reports whether something went away.
func (c *chunk) edit(edits map[*contenttypes.Attribute]valueEdit, s *contenttypes.Schema, values []Value) (lost, changed bool, err error) {
	for i, a := range s.Attributes {
		v := &values[i]
		if e, ok := edits[a]; ok {
			switch {
			case e.Retype != nil:
				if v.JSON != nil {
					v.JSON, _ = retype(e.Retype.From, e.Retype.To, v.JSON) // what cannot be was refused
					changed = true
				}
			case e.Replace != nil:
				if v.JSON != nil && string(unquote(v.JSON)) == e.Replace.Old {
					changed = true
					if v.JSON = nil; e.Replace.New != nil {
						v.JSON = quote(*e.Replace.New)
					} else {
						lost = true
					}
				}
			case e.Clear != nil:
				gone, err := c.clear(v, e.Clear)
				if err != nil {
					return false, false, err
				}
				lost, changed = lost || gone, changed || gone
			}
		}
		for _, item := range v.Items {
			l, ch, err := c.edit(edits, &item.Component.Schema, item.Values)
			if err != nil {
				return false, false, err
			}
			lost, changed = lost || l, changed || ch
		}
	}
	return lost, changed, nil
}

// clear empties a value and reports whether there was something in it.
func (c *chunk) clear(v *Value, by *clearing) (bool, error) {
	if len(v.Items) == 0 {
		gone := v.JSON != nil
		v.JSON = nil
		return gone, nil
	}
	var kept []*Item
	for i, item := range v.Items {
		if by.Component != "" && item.Component.UID != by.Component || by.KeepFirst && i == 0 {
			kept = append(kept, item)
		} else if err := c.forgetItems([]*Item{item}); err != nil {
			return false, err
		}
	}
	gone := len(kept) < len(v.Items)
	v.Items = kept
	return gone, nil
}

// isText reports whether values of a type are texts of any kind.
func isText(t contenttypes.Type) bool {
	switch t {
	case contenttypes.String, contenttypes.Text, contenttypes.RichText, contenttypes.Email, contenttypes.UID:
		return true
	}
	return false
}

func isNumber(t contenttypes.Type) bool {
	return t == contenttypes.Integer || t == contenttypes.Float || t == contenttypes.Decimal
}

// retype turns the stored JSON of a value into that of another type; ok is false when something of it would be lost. Whether
// the value is valid under its new definition (a length, a pattern, the values of an enumeration) is not looked at: what is
// stored is checked when it is written next.
func retype(from, to contenttypes.Type, raw []byte) (_ []byte, ok bool) {
	switch {
	case from == to:
		return raw, true
	case from == contenttypes.Password || to == contenttypes.Password:
		return nil, false // a hash is no text, and a text is no hash
	case to == contenttypes.JSON:
		return raw, true
	}
	switch from {
	case contenttypes.String, contenttypes.Text, contenttypes.RichText, contenttypes.Email, contenttypes.UID, contenttypes.Enumeration:
		return raw, isText(to) || to == contenttypes.Enumeration
	case contenttypes.Integer, contenttypes.Float, contenttypes.Decimal:
		return retypeNumber(to, raw)
	case contenttypes.BigInteger:
		digits := unquote(raw)
		if isNumber(to) {
			n := parseBig(raw)
			return digits, -maxExact <= n && n <= maxExact
		}
		return quote(string(digits)), isText(to)
	case contenttypes.Date:
		if to == contenttypes.DateTime {
			return quote(string(unquote(raw)) + "T00:00:00.000Z"), true
		}
		return raw, isText(to)
	case contenttypes.Time, contenttypes.DateTime:
		return raw, isText(to)
	}
	return nil, false
}

// maxExact is the greatest integer up to which JSON numbers are exact.
const maxExact = 1 << 53

// retypeNumber turns a number into another type. A fraction does not become a whole number.
func retypeNumber(to contenttypes.Type, raw []byte) ([]byte, bool) {
	switch to {
	case contenttypes.Float, contenttypes.Decimal:
		return raw, true
	case contenttypes.Integer, contenttypes.BigInteger:
		n, err := strconv.ParseInt(string(raw), 10, 64)
		if err != nil {
			f := parseFloat(raw)
			if n = int64(f); f < -maxExact || f > maxExact || float64(n) != f {
				return nil, false
			}
		}
		if to == contenttypes.BigInteger {
			return quote(strconv.FormatInt(n, 10)), true
		}
		return strconv.AppendInt(nil, n, 10), true
	}
	return quote(string(raw)), isText(to)
}

// rewrites reports whether values of one type stand in rows in another form than the same values of another type.
func rewrites(from, to contenttypes.Type) bool {
	switch {
	case to == contenttypes.JSON:
		return false
	case isNumber(from):
		return !isNumber(to)
	case from == contenttypes.BigInteger:
		return isNumber(to)
	}
	return from == contenttypes.Date && to == contenttypes.DateTime
}

// ordering tells types apart whose indexes are in different orders: see appendOrdered.
func ordering(t contenttypes.Type) int {
	switch t {
	case contenttypes.Integer, contenttypes.Float, contenttypes.Decimal, contenttypes.ID:
		return 1
	case contenttypes.BigInteger:
		return 2
	case contenttypes.Boolean:
		return 3
	case contenttypes.DateTime:
		return 4
	}
	return 0
}

// quote prints a text as a JSON string.
func quote(s string) []byte { return jsontree.AppendString(nil, s) }
