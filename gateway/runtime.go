package gateway

import (
	"net/http"

	"lectern/documents"
	"lectern/shadowcrud/rest"
)

// A Runtime is what a Server answers with: all that hangs on one Model.
type Runtime struct {
	// Prefix of the content API; "" is /api.
	Prefix string
	// REST is the API generated from the Model.
	REST *rest.API
	// Authenticate says what the asker of a request may do. A credential that is not valid is a *documents.Error 401; none
	// at all is no error but the Access of the public. It is called for each request to a route of REST and of Routes.
	Authenticate func(*http.Request) (*documents.Access, error)
	// Routes are served beside the generated ones and go before them where both match.
	Routes []Route
}

// A Route is one operation beside the generated API.
type Route struct {
	Method string // GET answers HEAD as well
	// Path begins with a slash and includes the prefix. A part that begins with a colon takes any one part of a path
	// (r.PathValue gives it, decoded); a last part "*" the rest of it. Letter case does not matter.
	Path string
	// Handle answers. An error that it returns becomes the answer, as long as it has written nothing; what is no
	// *documents.Error is logged and shown as a 500 without its text. access is nil where Open.
	Handle func(w http.ResponseWriter, r *http.Request, access *documents.Access) error
	// Open routes look at no credential: Authenticate is not called.
	Open bool
	// Streams are routes whose work lasts as long as bytes flow: they bound it themselves.
	Streams bool
}
