package conformance

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/pb33f/libopenapi"
	validator "github.com/pb33f/libopenapi-validator"
	"github.com/pb33f/libopenapi-validator/config"
	"github.com/pb33f/libopenapi/datamodel"
)

// A validatorOfOthers is a validator that others made. What the contract accepts without an excuse, it must accept too.
type validatorOfOthers struct{ validator.Validator }

// newValidator returns a validator of exchanges with the server that answers this OpenAPI document. It leaves the
// parameters of the query string to the contract: it does not know nested brackets.
func newValidator(document []byte) (validatorOfOthers, error) {
	// Documents may lead to one another in circles, as their relations do.
	doc, err := libopenapi.NewDocumentWithConfiguration(
		document, &datamodel.DocumentConfiguration{SkipCircularReferenceCheck: true})
	if err != nil {
		return validatorOfOthers{}, err
	}
	v, errs := validator.NewValidator(doc, config.WithoutRequestQueryParameterValidation(),
		config.WithoutSecurityValidation())
	if len(errs) > 0 {
		return validatorOfOthers{}, fmt.Errorf("%v", errs)
	}
	return validatorOfOthers{v}, nil
}

// judge returns what is wrong with an exchange; nil if nothing is.
func (v validatorOfOthers) judge(e *exchange) error {
	u, err := url.Parse("http://" + e.req.URL.Host + e.path)
	if err != nil {
		return err
	}
	req := e.req.Clone(e.req.Context())
	req.URL, req.Body = u, io.NopCloser(bytes.NewReader(e.sent))
	res := &http.Response{StatusCode: e.status, Header: e.header, Body: io.NopCloser(bytes.NewReader(e.body)),
		Request: req}
	ok, problems := v.ValidateHttpResponse(req, res)
	if ok && e.status < 300 && len(e.sent) > 0 &&
		strings.HasPrefix(req.Header.Get("Content-Type"), "application/json") {
		ok, problems = v.ValidateHttpRequest(req)
	}
	if ok {
		return nil
	}
	var text []string
	for _, p := range problems {
		text = append(text, p.Error())
		for _, cause := range p.SchemaValidationErrors {
			text = append(text, cause.Reason)
		}
	}
	return fmt.Errorf("libopenapi-validator: %.600s", strings.Join(text, "; "))
}
