// Package media stores uploaded files. A Storage holds their contents; documents of plugin::upload.file describe them.
//
//	library, err := media.Open(media.Options{Dir: "data/uploads", Store: st, Documents: docs, Model: model})
//	form, err := library.ReadForm(ctx, multipartReader, parse) // streams the files to disk, within limits
//	err = library.Add(ctx, nil, form, access, show)            // stores the files, writes their documents, shows those
//	err = library.ServeFile(w, r, name)
//
// No transaction spans the contents and the documents, so the package keeps a journal (journal.go). Its promises:
//
//   - The files of a document are durable before the document, and both before the client gets an answer.
//   - Each upload, replacement and removal is in the journal, durably, before its first step.
//   - After a crash, Recover finishes or undoes the operations in the journal. It never touches a file that the journal
//     does not name.
//
// The content of a file decides its type (kinds.go): whether it may be uploaded, whether it is processed as an image,
// and how it is served. The type that the client declared is stored and not trusted.
//
// A client may ask for an image in another size or format (variant.go says what it may ask for, layout.go what it
// gets). Such a variant is made once (variants.go, flights.go) and cached on disk, where the next request finds it.
package media
