// Package documents is the document service: it validates and carries out writes of documents, with drafts, locales,
// components and relations, and describes what a read may see.
//
// A document is a documentId with at most one row per locale and status (draft, published). A write of a type with
// draft & publish changes the draft and, unless only the draft is meant, publishes it: the published row becomes a copy
// of the draft. Each write is computed completely from one state of the store before it is applied, so a refused write
// changes nothing.
//
// Reading the source: service.go has the methods of a Service, writing.go the state of one write, save.go creates and
// updates, publish.go publishes; schedule.go and schedule_due.go do that at a given time. body.go reads a body,
// body_relations.go the relations in it; links.go and links_order.go edit the lists of links. transaction.go combines
// several writes, and write_all.go those of one call. replace.go is for imports, which package transfer reads.
//
// # Schedules
//
// A publication at a given time is a document of the built-in type lectern::schedule. So it is durable, part of
// backups, and lists filter and sort it like any content. Service.CarryOut publishes the document and removes the
// schedule in one batch, and does neither if the schedule is gone by then. That alone makes it happen exactly once:
// whoever calls it, and however often, nothing depends on what a process remembers. Deleting a document deletes its
// schedules in the same batch.
package documents
