// Package mcp serves the content API to programs that speak the Model Context Protocol, such as assistants: tools that
// find, read and write documents, and resources that describe the content-types. It alone imports the SDK of the
// protocol.
//
// Each call of a tool becomes one request to the REST API, answered in the same process (Options.Call) with the
// credential of the caller. So parameters, permissions, validation, limits and errors are those of REST.
//
// The protocol's streamable HTTP is served without sessions: each message is a request of its own, and is answered in
// JSON.
package mcp

import (
	"bytes"
	"context"
	"net/http"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"lectern/contenttypes"
	"lectern/documents/permission"
	"lectern/jsontree"
)

// Options are what a Handler is made of.
type Options struct {
	Version string // of the server
	Prefix  string // of the REST API
	Types   []Type
	// Call answers a request to the REST API, and reports whether the answer is complete. It does not panic.
	Call func(http.ResponseWriter, *http.Request) (complete bool)
}

// A Type is a content-type with routes in the REST API.
type Type struct {
	*contenttypes.ContentType
	Name    string   // in paths
	Actions []string // of its routes
}

// A Handler serves the protocol. It is safe for concurrent use.
type Handler struct {
	options Options
	types   map[string]*Type // by uid, and by name in lower case
	http    *sdk.StreamableHTTPHandler
}

// New returns a Handler.
func New(o Options) *Handler {
	h := &Handler{options: o, types: map[string]*Type{}}
	for i := range o.Types {
		t := &o.Types[i]
		h.types[t.UID], h.types[strings.ToLower(t.Name)] = t, t
	}
	// The SDK gets no logger: it logs mistakes of clients as errors.
	server := sdk.NewServer(&sdk.Implementation{Name: "lectern", Title: "Lectern", Version: o.Version},
		&sdk.ServerOptions{
			Instructions: instructions,
			Capabilities: &sdk.ServerCapabilities{Tools: &sdk.ToolCapabilities{},
				Resources: &sdk.ResourceCapabilities{}},
			SetCacheable: func(_ context.Context, _ sdk.Request, c *sdk.Cacheable) { c.CacheScope = "private" },
		})
	for i := range tools {
		h.addTool(server, &tools[i])
	}
	h.addResources(server)
	server.AddReceivingMiddleware(withoutSubscriptions)
	h.http = sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, &sdk.StreamableHTTPOptions{
		Stateless:                    true,
		JSONResponse:                 true,
		DisableLocalhostProtection:   true, // the gateway checks Host and Origin
		PropagateRequestCancellation: true,
		MaxRequestBodyBytes:          -1, // the gateway has read the body
	})
	return h
}

// withoutSubscriptions refuses requests whose answer would be a stream of notifications: there are none to send.
func withoutSubscriptions(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, r sdk.Request) (sdk.Result, error) {
		if strings.HasPrefix(method, "subscriptions/") {
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "method not found"}
		}
		return next(ctx, method, r)
	}
}

const instructions = "This server holds structured content. Call list_types first: " +
	"it names the content-types and what you may do with them. Read the resource of a type for its attributes. " +
	"Documents are identified by their documentId. Parameters are those of the Strapi 5 REST API."

// isBatch reports whether a body holds several messages, which the protocol no longer allows.
func isBatch(body []byte) bool { return bytes.HasPrefix(bytes.TrimLeft(body, " \t\r\n"), []byte("[")) }

// Serve answers a request whose body is one message. access is what its caller may do, and memory is for what the
// message is parsed to. Its errors are told to the client.
func (h *Handler) Serve(w http.ResponseWriter, r *http.Request, access *permission.Access, memory jsontree.Memory) {
	ctx := context.WithValue(r.Context(), callerKey{}, &caller{request: r, access: access, memory: memory})
	h.http.ServeHTTP(w, r.WithContext(ctx))
}

// A caller is who has sent a message. The SDK hands it on in the context of the message.
type caller struct {
	request *http.Request
	access  *permission.Access
	memory  jsontree.Memory
}

type callerKey struct{}

// callerOf returns the caller of a message.
func callerOf(ctx context.Context) *caller { return ctx.Value(callerKey{}).(*caller) }
