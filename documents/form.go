package documents

import (
	"lectern/contenttypes"
	"lectern/jsontree"
)

// A Form reads and checks a body or query that is not a document, such as the credentials of a login. Each method reads one key and adds
// issues in the order of the calls. Err returns one error for all issues.
type Form struct {
	body   *jsontree.Object
	sent   any
	issues []issue
}

// NewForm returns a Form for a parsed body. A nil body counts as empty; a list or a scalar is an issue.
func NewForm(body any) *Form {
	f := &Form{sent: body}
	switch o := body.(type) {
	case nil:
		f.sent = jsontree.NewObject()
	case *jsontree.Object:
		f.body = o
	default:
		f.issues = append(f.issues, wrongType(nil, "object", body, body, false))
	}
	if f.body == nil {
		f.body = jsontree.NewObject()
	}
	return f
}

// Err returns a ValidationError with all issues, or nil if there are none.
func (f *Form) Err() error {
	if len(f.issues) == 0 {
		return nil
	}
	if _, isObject := f.sent.(*jsontree.Object); !isObject {
		return issuesError(f.issues[:1]) // the body is no object, so leave out the issues that keys are missing
	}
	return issuesError(f.issues)
}

// Has reports whether a key was sent.
func (f *Form) Has(key string) bool { _, ok := f.body.Get(key); return ok }

// Value returns the value of a key, nil if it was not sent.
func (f *Form) Value(key string) any { return f.body.Value(key) }

// Text reads a required text that must not be empty.
func (f *Form) Text(key string) string { s, _ := f.text(key); return s }

func (f *Form) text(key string) (s string, ok bool) {
	path := []string{key}
	v, given := f.body.Get(key)
	s, isText := v.(string)
	switch {
	case !given:
		f.issues = append(f.issues, missing(path, "is a required field"))
	case !isText:
		f.issues = append(f.issues, wrongType(path, "string", v, v, false))
	case s == "":
		f.issues = append(f.issues, issueAt(path, "is a required field", s))
	default:
		return s, true
	}
	return "", false
}

// Email reads a required e-mail address.
func (f *Form) Email(key string) string {
	s, ok := f.text(key)
	if ok && !isEmailAddress(s) {
		f.issues = append(f.issues, issueAt([]string{key}, "must be a valid email", s))
	}
	return s
}

// Password reads a required password that will be hashed. It refuses passwords longer than maxPassword; a password that is too short is
// refused when the document is written.
func (f *Form) Password(key string) string {
	s, ok := f.text(key)
	if ok && len(s) > maxPassword {
		f.Issue([]string{key}, tooLong, s)
	}
	return s
}

// Filled reads an optional text that must not be empty.
func (f *Form) Filled(key string) (s string, given bool) {
	v, given := f.body.Get(key)
	if !given {
		return "", false
	}
	s, isText := v.(string)
	switch path := []string{key}; {
	case !isText:
		f.issues = append(f.issues, wrongType(path, "string", v, v, false))
	case s == "":
		f.issues = append(f.issues, issueAt(path, "must be at least 1 characters", s))
	}
	return s, true
}

// Issue adds an issue of the value at a path. The message is used unchanged, without the path.
func (f *Form) Issue(path []string, message string, value any) {
	f.issues = append(f.issues, issue{path: path, message: message, value: value, hasValue: true})
}

// Missing adds the issue that a required value is absent.
func (f *Form) Missing(path []string) {
	f.issues = append(f.issues, missing(path, "is a required field"))
}

// WrongType adds the issue that a value is not of the type want: "object", "array", ….
func (f *Form) WrongType(path []string, want string, v any) {
	f.issues = append(f.issues, wrongType(path, want, v, v, false))
}

// Only adds an issue if the body has keys other than these.
func (f *Form) Only(keys ...string) {
	unknown := ""
	for _, k := range f.Others(keys...) {
		if unknown != "" {
			unknown += ", "
		}
		unknown += k
	}
	if unknown != "" {
		f.Issue(nil, "this field has unspecified keys: "+unknown, f.sent)
	}
}

// Others returns the keys of the body except these, in their order.
func (f *Form) Others(keys ...string) (others []string) {
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

// Values returns the values of attributes of a type that a client may write, as the data of a document.
func (f *Form) Values(t *contenttypes.ContentType) *jsontree.Object {
	data := jsontree.NewObject()
	for _, a := range t.Attributes {
		if v, given := f.body.Get(a.Name); given && !a.System {
			data.Set(a.Name, v)
		}
	}
	return data
}

// Repeated reads a required repetition of a password, which must equal the value of another key.
func (f *Form) Repeated(key, of string) {
	f.text(key)
	if v := f.body.Value(key); v != nil && v != "" && !jsontree.Equal(v, f.body.Value(of)) {
		f.Issue([]string{key}, "Passwords do not match", v)
	}
}
