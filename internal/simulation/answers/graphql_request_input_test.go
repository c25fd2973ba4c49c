package answers

import (
	"strconv"
	"strings"

	"lectern/internal/simulation/program"
)

// arguments returns the arguments of a field with their values.
func (w *World) arguments(s *Selection) pairs {
	a := s.Args
	var all pairs
	add := func(key, typ string, value any) {
		switch {
		case indexOf(a.Null, key) >= 0:
			value = nil
		case indexOf(a.Omitted, key) >= 0:
			value = absent{}
		case value == nil:
			return
		}
		if _, none := value.(absent); none || indexOf(a.Variable, key) >= 0 {
			value = variableValue{typ, value}
		}
		all = append(all, pair{key, value})
	}
	if a.Write != nil {
		w.writeArguments(a.Write, add)
		return all
	}
	if a.Form == "one" {
		add("documentId", "ID!", w.documentID(a.Number))
	}
	if a.Form != "one" && a.Form != "single" {
		var filter, sort, page any
		if a.Filter != nil {
			filter = w.filterInput(a.Filter)
		}
		if a.Sort != nil {
			sort = sortInput(a.Sort, a.SortForm)
		}
		if a.Paging != nil {
			page = a.Paging.input()
		}
		add("filters", w.filtersWord(s), filter)
		add("pagination", "PaginationArg", page)
		add("sort", "[String]", sort)
	}
	if a.Form == "" {
		return all
	}
	add("status", "PublicationStatus", enumOrNone(a.Status))
	add("hasPublishedVersion", "Boolean", truthOrNone(a.HasVersion))
	add("publicationFilter", "PublicationFilter", enumOrNone(a.Publication))
	if len(a.Locale) > 0 {
		add("locale", "I18NLocaleCode", a.Locale[0])
	} else if a.Type.Localized {
		add("locale", "I18NLocaleCode", nil)
	}
	return all
}

func enumOrNone(word string) any {
	if word == "" {
		return nil
	}
	return bare(strings.ToUpper(strings.ReplaceAll(word, "-", "_")))
}

func truthOrNone(word string) any {
	if word == "" {
		return nil
	}
	return word == "true"
}

// filtersWord returns the input type of a field's filters.
func (w *World) filtersWord(s *Selection) string {
	switch {
	case s.Args.Type != nil:
		return s.Args.Type.word() + "FiltersInput"
	case s.Attr.Type == "media":
		return "UploadFileFiltersInput"
	case s.Attr.Component != nil:
		return s.Attr.Component.word() + "FiltersInput"
	}
	return s.Attr.Target.word() + "FiltersInput"
}

func (p *Paging) input() any {
	out := pairs{}
	for i, f := range p.Fields {
		out = append(out, pair{f, p.Values[i]})
	}
	return out
}

// sortInput returns a sort argument: a list, one text, or one text with commas.
func sortInput(keys []SortKey, form int) any {
	var list []any
	var words []string
	for i, k := range keys {
		word := dotted(k.Path)
		switch {
		case k.Desc:
			word += pick2(i%2 == 0, ":desc", ":DESC")
		case (form+i)%2 == 1:
			word += pick2(i%2 == 0, ":asc", ":ASC")
		}
		list, words = append(list, word), append(words, word)
	}
	switch {
	case form == 3:
		return strings.Join(words, ", ")
	case form == 2 && len(list) == 1:
		return list[0]
	}
	return list
}

func pick2(first bool, a, b string) string {
	if first {
		return a
	}
	return b
}

// filterInput returns a filter as an input object.
func (w *World) filterInput(f *Filter) pairs {
	switch f.Op {
	case "and", "or":
		if f.Implicit {
			return w.together(f)
		}
		var list []any
		for _, x := range f.Of {
			list = append(list, w.filterInput(x))
		}
		if len(list) == 1 { // GraphQL accepts a single value for a list
			return pairs{{f.Op, list[0]}}
		}
		return pairs{{f.Op, list}}
	case "not":
		return pairs{{"not", w.filterInput(f.Of[0])}}
	case "into":
		return pairs{{f.Attr.Name, w.filterInput(f.Of[0])}}
	case "nothing":
		return pairs{{f.Operator, f.Empty}}
	}
	if f.Operator == "" {
		return pairs{{f.Attr.Name, nil}}
	}
	return pairs{{f.Attr.Name, w.testInput(f)}}
}

// together joins several conditions in one input object. Conditions on the same field share its object.
func (w *World) together(f *Filter) pairs {
	var all pairs
	for _, x := range f.Of {
		if f.Attr != nil {
			all = append(all, w.testInput(x)...)
		} else {
			all = append(all, w.filterInput(x)...)
		}
	}
	if f.Attr != nil {
		return pairs{{f.Attr.Name, all}}
	}
	return all
}

func (w *World) testInput(f *Filter) pairs {
	var list []any
	for _, o := range f.Operands {
		list = append(list, w.operandInput(f, w.resolve(o)))
	}
	e := pair{strings.TrimPrefix(f.Operator, "$"), list}
	if indexOf(listOperators, f.Operator) < 0 {
		e.value = list[0]
	}
	if f.Not {
		return pairs{{"not", pairs{e}}}
	}
	return pairs{e}
}

// listOperators are the operators that take lists in GraphQL.
var listOperators = []string{"$in", "$notIn", "$between", "$and", "$or"}

func (w *World) operandInput(f *Filter, o Operand) any {
	if o.Null {
		return nil
	}
	if f.Operator == "$null" || f.Operator == "$notNull" {
		return o.Value
	}
	v := inputValue(f.Attr.Type, o.Value, o.Spelled)
	if o.Variable {
		v = variableValue{scalarWord(f.Attr.Type), v}
	}
	return v
}

// inputValue returns a scalar as a GraphQL input value. other selects an alternative form with the same meaning.
func inputValue(typ string, v any, other bool) any {
	switch v := v.(type) {
	case float64:
		switch {
		case typ == "integer":
			return int(v)
		case other:
			return digits(strconv.FormatFloat(v, 'e', -1, 64))
		}
	case int64:
		if other || v > 9007199254740991 || v < -9007199254740991 {
			return strconv.FormatInt(v, 10)
		}
	case string:
		switch {
		case !other:
		case typ == "time":
			return strings.TrimSuffix(v, ".000")
		case typ == "datetime":
			return strings.TrimSuffix(v, "Z") + "+00:00"
		}
	}
	return v
}

// Mutations.

func (w *World) writeArguments(op *Operation, add func(key, typ string, value any)) {
	if !op.Type.Single && op.Kind != "create" {
		add("documentId", "ID!", w.documentID(op.Number))
	}
	if op.Kind == "create" || op.Kind == "update" {
		add("status", "PublicationStatus", enumOrNone(op.Status))
		add("data", op.Type.word()+"Input!", w.dataInput(op.Data, false))
	}
	if op.Type.Localized {
		var locale any
		if op.Locale != "" {
			locale = op.Locale
		}
		add("locale", "I18NLocaleCode", locale)
	}
}

// dataInput returns the fields of a body as input. The items of a dynamic zone have the same form as in REST.
func (w *World) dataInput(fields []Field, zone bool) pairs {
	out := pairs{}
	for _, f := range fields {
		var v any
		switch value := f.Value.(type) {
		case nil:
		case Literal:
			v = w.scalarInput(f, value, zone)
		case *NewItem:
			v = w.itemInput(value, zone)
		case []*NewItem:
			list := []any{}
			for _, it := range value {
				list = append(list, w.itemInput(it, zone))
			}
			v = list
		case *Attached:
			v = w.attached(f.Attr, value)
		case *Edit:
			list := []any{}
			for _, t := range value.Set {
				list = append(list, w.documentID(t.Number))
			}
			if v = list; value.Form == "bare" {
				v = list[0]
			}
		}
		out = append(out, pair{f.Attr.Name, v})
	}
	return out
}

func (w *World) scalarInput(f Field, l Literal, zone bool) any {
	other := program.JSON(plain(l.Send)) != program.JSON(plain(l.Keep))
	v := inputValue(f.Attr.Type, l.Keep, other)
	typ := scalarWord(f.Attr.Type)
	if f.Attr.Type == "enumeration" && !zone {
		v, typ = bare(enumName(l.Keep.(string))), w.Model.enumWord(f.Attr)
	}
	if f.Variable && !zone {
		return variableValue{typ, v}
	}
	return v
}

func (w *World) itemInput(it *NewItem, zone bool) pairs {
	zone = zone || it.Zone
	out := pairs{}
	if it.Zone {
		out = append(out, pair{"__typename", it.Component.word()})
	}
	if it.Keep != 0 {
		if old := w.Item(it.Keep); old != nil {
			var id any = strconv.FormatInt(int64(old.ID.Value.(float64)), 10)
			if it.Number%2 == 0 {
				id = int64(old.ID.Value.(float64))
			}
			out = append(out, pair{"id", id})
		}
	}
	return append(out, w.dataInput(it.Fields, zone)...)
}
