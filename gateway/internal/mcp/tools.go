package mcp

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"net/url"
	"path"
	"slices"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"lectern/contenttypes"
	"lectern/documents/apierror"
	"lectern/jsontree"
)

// A tool is an operation that clients may call.
type tool struct {
	name, title, description string
	required, optional       []string // arguments, each a key of properties
	readOnly, idempotent     bool
	destroys                 bool // it may remove or replace content

	// request returns the request to the REST API that carries out a call, or nil if the tool needs none: then answer
	// is its result.
	request func(h *Handler, c *call) error
}

// properties are the JSON Schemas of arguments. Those that are texts are checked before a request is made.
var properties = map[string]string{
	"type":            `{"type":"string","description":"uid of a content-type, such as api::article.article, or its name in paths, such as articles"}`,
	"documentId":      `{"type":"string","description":"identifies the document; leave it out for single types only"}`,
	"filters":         `{"type":"object","description":"conditions, such as {\"title\":{\"$contains\":\"x\"}}; operators include $eq $ne $in $lt $lte $gt $gte $contains $null $and $or $not; relations nest"}`,
	"sort":            `{"description":"attributes, such as [\"title:asc\",\"createdAt:desc\"]"}`,
	"fields":          `{"description":"attributes to return, such as [\"title\"]; default: all scalars"}`,
	"populate":        `{"description":"relations, media and components to return, such as [\"author\"], \"*\", or an object with fields, filters and populate for each"}`,
	"pagination":      `{"type":"object","description":"{\"page\":1,\"pageSize\":25} or {\"start\":0,\"limit\":25}"}`,
	"locale":          `{"type":"string","description":"code of a locale; default: the default locale"}`,
	"status":          `{"type":"string","enum":["draft","published"],"description":"which version, of types with drafts; default when reading: published"}`,
	"_q":              `{"type":"string","description":"text to search for in all text attributes"}`,
	"data":            `{"type":"object","description":"values by attribute; relations by documentId, such as {\"author\":\"abc\"} or {\"tags\":{\"connect\":[\"abc\"]}}"}`,
	"fileName":        `{"type":"string","description":"name of the file, with its extension"}`,
	"content":         `{"type":"string","description":"the file in base64"}`,
	"alternativeText": `{"type":"string"}`,
	"caption":         `{"type":"string"}`,
}

var (
	readParameters  = []string{"fields", "populate", "locale", "status"}
	writeParameters = []string{"locale", "status", "fields", "populate"}
)

var tools = []tool{
	{name: "list_types", title: "List content-types", readOnly: true, request: listTypes,
		description: "Lists the content-types that you may use, with their names and what you may do with each."},
	{name: "find", title: "Find documents", readOnly: true, required: []string{"type"},
		optional: append([]string{"filters", "sort", "pagination", "_q"}, readParameters...), request: onCollection(http.MethodGet, "read"),
		description: "Finds documents of a collection type. The answer is a page of documents and, in meta, " +
			"how many there are."},
	{name: "read", title: "Read a document", readOnly: true, required: []string{"type"},
		optional: append([]string{"documentId"}, readParameters...), request: onDocument(http.MethodGet, ""),
		description: "Reads one document."},
	{name: "create", title: "Create a document", required: []string{"type", "data"}, optional: writeParameters,
		request: onCollection(http.MethodPost, "update"),
		description: "Creates a document of a collection type. Of a type with drafts it is published at once, " +
			"unless status is draft."},
	{name: "update", title: "Change a document", required: []string{"type", "data"}, destroys: true, idempotent: true,
		optional: append([]string{"documentId"}, writeParameters...), request: onDocument(http.MethodPut, ""),
		description: "Changes the attributes in data, and leaves the others as they are. " +
			"Of a type with drafts the document is published, unless status is draft."},
	{name: "delete", title: "Delete a document", required: []string{"type"}, optional: []string{"documentId", "locale"},
		destroys: true, idempotent: true,
		request: onDocument(http.MethodDelete, ""), description: "Deletes a document, or one of its locales."},
	{name: "publish", title: "Publish a document", required: []string{"type"},
		optional: []string{"documentId", "locale"}, destroys: true, idempotent: true,
		request: onDocument(http.MethodPost, "/actions/publish"), description: "Publishes the draft of a document."},
	{name: "unpublish", title: "Unpublish a document", required: []string{"type"},
		optional: []string{"documentId", "locale"}, destroys: true, idempotent: true,
		request:     onDocument(http.MethodPost, "/actions/unpublish"),
		description: "Takes back the published version of a document. Its draft stays."},
	{name: "discard_draft", title: "Discard a draft", required: []string{"type"},
		optional: []string{"documentId", "locale"}, destroys: true, idempotent: true,
		request:     onDocument(http.MethodPost, "/actions/discard-draft"),
		description: "Replaces the draft of a document by its published version."},
	{name: "upload", title: "Upload a file", required: []string{"fileName", "content"},
		optional: []string{"alternativeText", "caption"}, request: upload,
		description: "Uploads a file. Use its id as the value of a media attribute."},
}

// schema returns the JSON Schema of the arguments.
func (t *tool) schema() json.RawMessage {
	var b strings.Builder
	b.WriteString(`{"type":"object","additionalProperties":false,"properties":{`)
	for i, name := range slices.Concat(t.required, t.optional) {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, "%q:%s", name, properties[name])
	}
	b.WriteString(`}`)
	if len(t.required) > 0 {
		fmt.Fprintf(&b, `,"required":["%s"]`, strings.Join(t.required, `","`))
	}
	return json.RawMessage(b.String() + "}")
}

// addTool adds a tool to the server of the SDK.
func (h *Handler) addTool(server *sdk.Server, t *tool) {
	no := false
	server.AddTool(&sdk.Tool{
		Name: t.name, Title: t.title, Description: t.description, InputSchema: t.schema(),
		Annotations: &sdk.ToolAnnotations{ReadOnlyHint: t.readOnly, IdempotentHint: t.idempotent,
			DestructiveHint: &t.destroys, OpenWorldHint: &no},
	}, func(ctx context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		c := &call{tool: t, caller: callerOf(ctx)}
		text, err := h.run(c, r.Params.Arguments)
		if err != nil {
			return &sdk.CallToolResult{IsError: true, Content: []sdk.Content{&sdk.TextContent{Text: errorText(err)}}},
				nil
		}
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: text}}}, nil
	})
}

// A call is a call of a tool, and the request to the REST API that carries it out.
type call struct {
	tool      *tool
	caller    *caller
	arguments *jsontree.Object

	method, path, kind string
	body               []byte
	answer             string // of a tool that needs no request
}

// run carries out a call and returns the text of its result.
func (h *Handler) run(c *call, arguments json.RawMessage) (string, error) {
	if err := c.read(arguments); err != nil {
		return "", err
	}
	if err := c.tool.request(h, c); err != nil {
		return "", err
	}
	if c.path == "" {
		return c.answer, nil
	}
	return h.send(c)
}

// read reads and checks the arguments.
func (c *call) read(arguments json.RawMessage) error {
	c.arguments = jsontree.NewObject()
	if len(arguments) > 0 {
		v, err := jsontree.ParseWithin(arguments, jsontree.MaxDepth, c.caller.memory)
		var wrong *jsontree.SyntaxError
		switch {
		case errors.As(err, &wrong):
			return apierror.Validation("the arguments are no JSON: " + err.Error())
		case err != nil:
			return err
		}
		var ok bool
		if c.arguments, ok = v.(*jsontree.Object); !ok {
			return apierror.Validation("the arguments must be an object")
		}
	}
	for _, name := range c.tool.required {
		if c.arguments.Value(name) == nil {
			return apierror.Validation("the argument " + name + " is missing")
		}
	}
	for _, name := range c.arguments.Keys {
		if !slices.Contains(c.tool.required, name) && !slices.Contains(c.tool.optional, name) {
			return apierror.Validation("there is no argument " + name)
		}
		_, isText := c.arguments.Value(name).(string)
		if strings.HasPrefix(properties[name], `{"type":"string"`) && !isText && c.arguments.Value(name) != nil {
			return apierror.Validation("the argument " + name + " must be a text")
		}
	}
	return nil
}

// typ returns the content-type that the call names.
func (h *Handler) typ(c *call) (*Type, error) {
	name := c.arguments.Text("type")
	t := h.types[name]
	if t == nil {
		t = h.types[strings.ToLower(name)]
	}
	if t == nil {
		return nil, &apierror.Error{Status: http.StatusNotFound, Name: "NotFoundError",
			Message: "there is no content-type " + name + "; list_types lists those that you may use"}
	}
	return t, nil
}

// onCollection returns the request of a tool for all documents of a collection type. forSingle names the tool for the
// document of a single type.
func onCollection(method, forSingle string) func(h *Handler, c *call) error {
	return func(h *Handler, c *call) error {
		t, err := h.typ(c)
		if err != nil {
			return err
		}
		if t.Kind == contenttypes.SingleType {
			return apierror.Validation(t.UID + " has a single document: use " + forSingle)
		}
		c.method, c.path = method, "/"+t.Name
		return nil
	}
}

// onDocument returns the request of a tool for one document. below is the rest of its path.
func onDocument(method, below string) func(h *Handler, c *call) error {
	return func(h *Handler, c *call) error {
		t, err := h.typ(c)
		if err != nil {
			return err
		}
		c.method, c.path = method, "/"+t.Name
		id := c.arguments.Text("documentId")
		switch single := t.Kind == contenttypes.SingleType; {
		case single && id != "":
			return apierror.Validation(t.UID + " has a single document: leave documentId out")
		case !single && id == "":
			return apierror.Validation("the argument documentId is missing")
		case !single:
			c.path += "/" + url.PathEscape(id)
		}
		c.path += below
		return nil
	}
}

func upload(_ *Handler, c *call) error {
	content, err := base64.StdEncoding.DecodeString(c.arguments.Text("content"))
	if err != nil {
		return apierror.Validation("the argument content must be base64: " + err.Error())
	}
	info := jsontree.ObjectOf("name", c.arguments.Text("fileName"))
	for _, name := range []string{"alternativeText", "caption"} {
		if v := c.arguments.Value(name); v != nil {
			info.Set(name, v)
		}
	}
	var form bytes.Buffer
	w := multipart.NewWriter(&form)
	name := c.arguments.Text("fileName")
	kind := cmp.Or(mime.TypeByExtension(path.Ext(name)), http.DetectContentType(content))
	part, err := w.CreatePart(textproto.MIMEHeader{
		"Content-Disposition": {multipart.FileContentDisposition("files", name)}, "Content-Type": {kind},
	})
	if err == nil {
		_, err = part.Write(content)
	}
	if err == nil {
		err = w.WriteField("fileInfo", string(jsontree.Append(nil, info)))
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		return fmt.Errorf("write a form: %w", err)
	}
	c.method, c.path, c.kind, c.body = http.MethodPost, "/upload", w.FormDataContentType(), form.Bytes()
	return nil
}
