package media

import (
	"errors"
	"strconv"

	"lectern/documents/apierror"
	"lectern/documents/issues"
	"lectern/jsontree"
)

// An Info holds what a client states about a file in the field fileInfo. A nil field is not stated.
type Info struct {
	name, alternativeText, caption *string
	focalPoint                     any
}

const infoField = "fileInfo"

// infos reads the field fileInfo of a form about n files: an object for one file, a list of objects for several.
func (f *Form) infos(n int) ([]Info, error) {
	list := make([]Info, n)
	given, ok := f.parsed.Get(infoField)
	if !ok {
		return list, nil
	}
	value, err := decodedInfo(given, &f.memory)
	if err != nil {
		return nil, err
	}
	items, isList := value.([]any)
	if n == 1 {
		if isList && len(items) == 1 {
			value = items[0]
		}
		list[0], err = ReadInfo(value)
		return list, err
	}
	if !isList {
		return nil, issues.Error(issues.WrongType([]string{infoField}, "array", nil, value, value != nil))
	}
	for i := range min(n, len(items)) {
		if list[i], err = readInfo(items[i], []string{infoField, strconv.Itoa(i)}); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// Info reads the field fileInfo of a form about one file.
func (f *Form) Info() (Info, error) {
	if f.parsed == nil {
		return Info{}, nil
	}
	list, err := f.infos(1)
	if err != nil {
		return Info{}, err
	}
	return list[0], nil
}

// decodedInfo parses the JSON in a form field, or in each of several fields of the same name.
func decodedInfo(v any, memory jsontree.Memory) (any, error) {
	switch v := v.(type) {
	case string:
		if v == "" {
			return "", nil
		}
		tree, err := jsontree.ParseWithin([]byte(v), 20, memory)
		var wrong *jsontree.SyntaxError
		switch {
		case errors.As(err, &wrong):
			return nil, apierror.Validation("fileInfo must be JSON")
		case err != nil:
			return nil, err
		}
		return tree, nil
	case []any:
		list := make([]any, len(v))
		for i, item := range v {
			var err error
			if list[i], err = decodedInfo(item, memory); err != nil {
				return nil, err
			}
		}
		return list, nil
	}
	return v, nil
}

// ReadInfo reads an Info from an object of a JSON body.
func ReadInfo(v any) (Info, error) { return readInfo(v, []string{infoField}) }

func readInfo(v any, path []string) (info Info, err error) {
	o, ok := v.(*jsontree.Object)
	if !ok {
		return info, issues.Error(issues.WrongType(path, "object", nil, v, v != nil))
	}
	for _, field := range []struct {
		key  string
		into **string
	}{{"name", &info.name}, {"alternativeText", &info.alternativeText}, {"caption", &info.caption}} {
		switch v := o.Value(field.key).(type) {
		case nil:
		case string:
			*field.into = &v
		case bool, jsontree.Number:
			s := string(jsontree.Append(nil, v))
			*field.into = &s
		default:
			return info, issues.Error(issues.WrongType(append(path[:len(path):len(path)], field.key), "string", v, v,
				false))
		}
	}
	if info.name != nil {
		if err := checkName(*info.name); err != nil {
			return info, err
		}
	}
	info.focalPoint, err = focalPoint(o.Value("focalPoint"), path)
	return info, err
}

// focalPoint checks a focal point: the position, in percent of width and height, of the most important part of an
// image.
func focalPoint(v any, path []string) (any, error) {
	if v == nil {
		return nil, nil
	}
	o, ok := v.(*jsontree.Object)
	if ok {
		for _, key := range []string{"x", "y"} {
			n, isNumber := o.Value(key).(jsontree.Number)
			ok = ok && isNumber && n.Float() >= 0 && n.Float() <= 100
		}
	}
	if !ok {
		return nil, issues.Error(issues.WrongType(append(path[:len(path):len(path)], "focalPoint"), "object", v, v,
			false))
	}
	point := jsontree.NewObject()
	point.Set("x", o.Value("x"))
	point.Set("y", o.Value("y"))
	return point, nil
}

// fill writes the stated fields into the data of a document.
func (i Info) fill(data *jsontree.Object) {
	if i.name != nil {
		data.Set("name", *i.name)
	}
	if i.alternativeText != nil {
		data.Set("alternativeText", *i.alternativeText)
	}
	if i.caption != nil {
		data.Set("caption", *i.caption)
	}
	if i.focalPoint != nil {
		data.Set("focalPoint", i.focalPoint)
	}
}
