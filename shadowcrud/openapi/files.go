package openapi

import (
	"lectern/contenttypes"
	"lectern/jsontree"
)

const filesTag = "Files"

// file returns a reference to the schema of a file.
func (b *builder) file() *jsontree.Object { return b.read(&b.fileType().Schema) }

func (b *builder) fileType() *contenttypes.ContentType { return b.Model.Type(contenttypes.FileUID) }

// plainList returns the parameters of a list without envelope.
func (b *builder) plainList(t *contenttypes.ContentType) []any {
	return []any{
		commas("fields", "The fields to show; ids are always shown. Without it: all.", b.fields(&t.Schema)),
		deep("populate", "The relations to show, with options. Without it: none.", b.populate(&t.Schema)),
		b.filtersParameter(t), b.sortParameter(), b.search(),
		queryParameter("start", "How many to skip.", typed("integer", "minimum", 0)),
		queryParameter("limit", "The most to list. Without it: all.", typed("integer", "minimum", 1)),
	}
}

// POST /api/upload: with a form alone, although the server reads JSON too if a file is only renamed. Generators take
// the first media type that they know, and a client that sends JSON cannot upload.
func (b *builder) upload() *operation {
	op := b.operation(filesTag, "upload", "Upload files, or change one", "The changed file.", b.file())
	op.description = "With `id` a file is changed: its content by `files`, or its name, " +
		"alternative text and caption by `fileInfo`. With `ref`, `refId` and `field` the files are added to a document."
	op.parameters = []any{queryParameter("id", "The file to change.", typed("integer"))}
	op.responses.Set("201", answer("The files that were added.", arrayOf(b.file()), nil))
	op.body = jsontree.ObjectOf("required", true, "content", jsontree.ObjectOf(
		"multipart/form-data", jsontree.ObjectOf("schema", typed("object", "properties", jsontree.ObjectOf(
			"files", arrayOf(typed("string", "contentMediaType", "application/octet-stream")),
			"fileInfo", typed("string", "description",
				"A JSON object with `name`, `alternativeText` and `caption`; one for each file."),
			"ref", typed("string", "description", "The uid of a type."), "refId", typed("string", "description",
				"The id of a document."), "field", typed("string"), "path", typed("string"),
		))),
	))
	return op
}

// GET /api/upload/files
func (b *builder) listFiles() *operation {
	op := b.operation(filesTag, "findFiles", "List files", "The files.", arrayOf(b.file()))
	op.parameters = append(b.plainList(b.fileType()), unusedFiles)
	op.errors = readErrors
	return op
}

// unusedFiles is the parameter that lists only files that nothing uses.
var unusedFiles = queryParameter("unused", "Only files that no document uses, also none that the caller may not see. "+
	"It needs the action findUsage.", typed("string", "enum", []any{"true"}))

// GET /api/upload/files/count
func (b *builder) countFiles() *operation {
	op := b.operation(filesTag, "countFiles", "Count files", "How many files the list has.", typed("integer"))
	op.parameters = []any{b.filtersParameter(b.fileType()), b.search(), unusedFiles}
	op.errors = readErrors
	return op
}

// GET /api/upload/files/{id}/usage
func (b *builder) fileUsage() *operation {
	text := typed("string")
	op := b.operation(filesTag, "findFileUsage", "List the documents that use a file", "A page of the documents.", object(
		"data", arrayOf(object("contentType", text, "documentId", text,
			"locale", nullable("string"), "title", nullable("string"), "fields", arrayOf(text),
			"status", arrayOf(typed("string", "enum", []any{"draft", "published"})))),
		"meta", object("pagination", object("start", typed("integer"), "limit", typed("integer"), "total", typed("integer")),
			"hidden", typed("boolean"))))
	op.parameters = []any{
		queryParameter("start", "How many to skip.", typed("integer", "minimum", 0)),
		queryParameter("limit", "The most to list.", typed("integer", "minimum", 1, "maximum", 100)),
	}
	op.errors = readErrors
	return op
}

// GET /api/upload/files/{id}
func (b *builder) oneFile() *operation {
	op := b.operation(filesTag, "findFile", "Read a file's entry", "The entry.", b.file())
	op.parameters = []any{deep("populate", "The relations to show.", b.populate(&b.fileType().Schema))}
	op.errors = readErrors
	return op
}

// DELETE /api/upload/files/{id}
func (b *builder) deleteFile() *operation {
	return b.operation(filesTag, "deleteFile", "Delete a file", "The entry as it was.", b.file())
}

// GET /uploads/{path}
func (b *builder) fileContent() *operation {
	op := b.operation(filesTag, "fileContent", "Read the content of a file", "", nil)
	content := jsontree.ObjectOf("*/*", jsontree.NewObject())
	op.responses = jsontree.ObjectOf(
		"200", jsontree.ObjectOf("description", "The content.", "content", content),
		"206", jsontree.ObjectOf("description", "The range of the content that the header Range asks for.", "content",
			content),
		"304", jsontree.ObjectOf("description", "You have the content."),
		"416", jsontree.ObjectOf("description", "The content has no such range."),
	)
	op.errors = []int{404, 412, 500, 503}
	return op
}
