package documents

import (
	"lectern/contenttypes"
	"lectern/jsontree"
)

// A Form reads a body (or a query) that is no document: the credentials of a login, the data of a user. Each method reads one key, and
// what is wrong with it is collected in the order of the calls; Err makes one error of it, in the words that clients know.
type Form struct {
	body   *jsontree.Object
	sent   any
	issues []issue
}

// NewForm begins to read a parsed body. None counts as an empty one; a list or a scalar is wrong.
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

// Err returns the ValidationError that tells all that is wrong, nil when nothing is.
func (f *Form) Err() error {
	if len(f.issues) == 0 {
		return nil
	}
	if _, isObject := f.sent.(*jsontree.Object); !isObject {
		return issuesError(f.issues[:1]) // it is no object, so that all keys are missing
	}
	return issuesError(f.issues)
}

// Has reports whether a key was sent.
func (f *Form) Has(key string) bool { _, ok := f.body.Get(key); return ok }

// Value returns what was sent for a key, nil where nothing was.
func (f *Form) Value(key string) any { return f.body.Value(key) }

// Text reads a text that must be there and not empty.
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

// Email reads an e-mail address that must be there.
func (f *Form) Email(key string) string {
	s, ok := f.text(key)
	if ok && !isEmailAddress(s) {
		f.issues = append(f.issues, issueAt([]string{key}, "must be a valid email", s))
	}
	return s
}

// Password reads a password that is to be hashed and must be there. What is too long to be hashed as a whole is refused; what
// is too short is told when the document is written.
func (f *Form) Password(key string) string {
	s, ok := f.text(key)
	if ok && len(s) > maxPassword {
		f.Issue([]string{key}, tooLong, s)
	}
	return s
}

// Filled reads a text that need not be there, but must not be empty when it is.
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

// Issue adds what is wrong with the value at a path; the message stands as it is.
func (f *Form) Issue(path []string, message string, value any) {
	f.issues = append(f.issues, issue{path: path, message: message, value: value, hasValue: true})
}

// Missing adds that there is nothing at a path.
func (f *Form) Missing(path []string) {
	f.issues = append(f.issues, missing(path, "is a required field"))
}

// WrongType adds that the value at a path is no want: "object", "array", ….
func (f *Form) WrongType(path []string, want string, v any) {
	f.issues = append(f.issues, wrongType(path, want, v, v, false))
}

// Only refuses all other keys.
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

// Others returns the keys that were sent beside these, in their order.
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

// Values returns what was sent for the attributes of a type that a client may write, to be written as a document.
func (f *Form) Values(t *contenttypes.ContentType) *jsontree.Object {
	data := jsontree.NewObject()
	for _, a := range t.Attributes {
		if v, given := f.body.Get(a.Name); given && !a.System {
			data.Set(a.Name, v)
		}
	}
	return data
}

// Repeated reads a password that is to be typed twice: it must be there and equal to that of another key.
func (f *Form) Repeated(key, of string) {
	f.text(key)
	if v := f.body.Value(key); v != nil && v != "" && !jsontree.Equal(v, f.body.Value(of)) {
		f.Issue([]string{key}, "Passwords do not match", v)
	}
}
