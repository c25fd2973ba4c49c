package conformance

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// An undescribedBody is the error for a request with a body of a media type that its operation does not have; "" if the
// operation has none.
type undescribedBody string

func (b undescribedBody) Error() string {
	return fmt.Sprintf("it takes no request body of type %q", string(b))
}

// A badBody is the error for a request with a body that the schema refuses.
type badBody struct{ error }

func (b badBody) Error() string { return "request body: " + b.error.Error() }

// requestBody checks the body of a request that has succeeded.
func (d *document) requestBody(op map[string]any, e *exchange) error {
	described, _ := op["requestBody"].(map[string]any)
	if len(e.sent) == 0 {
		if described["required"] == true {
			return errors.New("it wants a request body")
		}
		return nil
	}
	kind, params, err := mime.ParseMediaType(e.req.Header.Get("Content-Type"))
	if err != nil {
		return err
	}
	content, _ := described["content"].(map[string]any)
	media, ok := content[kind].(map[string]any)
	if !ok {
		return undescribedBody(kind)
	}
	var value any
	if kind == "multipart/form-data" {
		value, err = formValues(multipart.NewReader(bytes.NewReader(e.sent), params["boundary"]))
	} else {
		value, err = jsonschema.UnmarshalJSON(bytes.NewReader(e.sent))
	}
	if err != nil {
		return err
	}
	if err := d.validate(media["schema"], value); err != nil {
		return badBody{err}
	}
	return nil
}

// formValues returns the fields of a form as an object of texts. The field files is a list, as OpenAPI has it for
// fields that may be repeated.
func formValues(form *multipart.Reader) (any, error) {
	values := map[string]any{}
	for {
		part, err := form.NextPart()
		if err == io.EOF {
			return values, nil
		}
		if err != nil {
			return nil, err
		}
		text, err := io.ReadAll(part)
		if err != nil {
			return nil, err
		}
		name := part.FormName()
		if list, _ := values[name].([]any); name == "files" {
			values[name] = append(list, string(text))
		} else {
			values[name] = string(text)
		}
	}
}
