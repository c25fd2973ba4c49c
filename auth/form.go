package auth

import (
	"lectern/contenttypes"
	"lectern/documents/issues"
	"lectern/documents/passwords"
	"lectern/documents/values"
	"lectern/jsontree"
)

// A form reads and checks a body or query that is not a document, such as the credentials of a login. Each method reads
// one key and adds issues in the order of the calls. err returns one error for all issues.
type form struct {
	body   *jsontree.Object
	sent   any
	issues []issues.Issue
}

// newForm returns a form for a parsed body. A nil body counts as empty; a list or a scalar is an issue.
func newForm(body any) *form {
	f := &form{sent: body}
	switch o := body.(type) {
	case nil:
		f.sent = jsontree.NewObject()
	case *jsontree.Object:
		f.body = o
	default:
		f.issues = append(f.issues, issues.WrongType(nil, "object", body, body, false))
	}
	if f.body == nil {
		f.body = jsontree.NewObject()
	}
	return f
}

// err returns a ValidationError with all issues, or nil if there are none.
func (f *form) err() error {
	if len(f.issues) == 0 {
		return nil
	}
	if _, isObject := f.sent.(*jsontree.Object); !isObject {
		return issues.Error(f.issues[0]) // the body is no object, so leave out the issues that keys are missing
	}
	return issues.Error(f.issues...)
}

// has reports whether a key was sent.
func (f *form) has(key string) bool { _, ok := f.body.Get(key); return ok }

// value returns the value of a key, nil if it was not sent.
func (f *form) value(key string) any { return f.body.Value(key) }

// text reads a required text that must not be empty.
func (f *form) text(key string) string { s, _ := f.readText(key); return s }

// readText reads a text as text does, and reports whether it is valid.
func (f *form) readText(key string) (s string, ok bool) {
	path := []string{key}
	v, given := f.body.Get(key)
	s, isText := v.(string)
	switch {
	case !given:
		f.issues = append(f.issues, issues.Missing(path, "is a required field"))
	case !isText:
		f.issues = append(f.issues, issues.WrongType(path, "string", v, v, false))
	case s == "":
		f.issues = append(f.issues, issues.At(path, "is a required field", s))
	default:
		return s, true
	}
	return "", false
}

// email reads a required e-mail address.
func (f *form) email(key string) string {
	s, ok := f.readText(key)
	if ok && !values.IsEmail(s) {
		f.issues = append(f.issues, issues.At([]string{key}, "must be a valid email", s))
	}
	return s
}

// password reads a required password that will be hashed. It refuses passwords longer than passwords.MaxLength; a
// password that is too short is refused when the document is written.
func (f *form) password(key string) string {
	s, ok := f.readText(key)
	if ok && len(s) > passwords.MaxLength {
		f.issue([]string{key}, passwords.TooLong, s)
	}
	return s
}

// filled reads an optional text that must not be empty.
func (f *form) filled(key string) (s string, given bool) {
	v, given := f.body.Get(key)
	if !given {
		return "", false
	}
	s, isText := v.(string)
	switch path := []string{key}; {
	case !isText:
		f.issues = append(f.issues, issues.WrongType(path, "string", v, v, false))
	case s == "":
		f.issues = append(f.issues, issues.At(path, "must be at least 1 characters", s))
	}
	return s, true
}

// issue adds an issue of the value at a path. The message is used unchanged, without the path.
func (f *form) issue(path []string, message string, value any) {
	f.issues = append(f.issues, issues.Issue{Path: path, Message: message, Value: value, HasValue: true})
}

// missing adds the issue that a required value is absent.
func (f *form) missing(path []string) {
	f.issues = append(f.issues, issues.Missing(path, "is a required field"))
}

// wrongType adds the issue that a value is not of the type want: "object", "array", ….
func (f *form) wrongType(path []string, want string, v any) {
	f.issues = append(f.issues, issues.WrongType(path, want, v, v, false))
}

// only adds an issue if the body has keys other than these.
func (f *form) only(keys ...string) {
	unknown := ""
	for _, k := range f.others(keys...) {
		if unknown != "" {
			unknown += ", "
		}
		unknown += k
	}
	if unknown != "" {
		f.issue(nil, "this field has unspecified keys: "+unknown, f.sent)
	}
}

// others returns the keys of the body except these, in their order.
func (f *form) others(keys ...string) (others []string) {
	known := map[string]bool{}
	for _, k := range keys {
		known[k] = true
	}
	for _, k := range f.body.Keys {
		if !known[k] {
			others = append(others, k)
		}
	}
	return others
}

// values returns the values of attributes of a type that a client may write, as the data of a document.
func (f *form) values(t *contenttypes.ContentType) *jsontree.Object {
	data := jsontree.NewObject()
	for _, a := range t.Attributes {
		if v, given := f.body.Get(a.Name); given && !a.System {
			data.Set(a.Name, v)
		}
	}
	return data
}

// repeated reads a required repetition of a password, which must equal the value of another key.
func (f *form) repeated(key, of string) {
	f.readText(key)
	if v := f.body.Value(key); v != nil && v != "" && !jsontree.Equal(v, f.body.Value(of)) {
		f.issue([]string{key}, "Passwords do not match", v)
	}
}
