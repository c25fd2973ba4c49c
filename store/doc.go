// Package store keeps all documents of a project in one bbolt file: their versions, the links between them, the indexes
// that make queries fast, and a log of all changes.
//
// Reads happen in a Snapshot (View), which sees one consistent state for as long as it lasts. Writes happen one after
// the other in a Tx (Write). Writes of several callers at the same time share one transaction and its fsyncs; each
// returns when its change is durable. A write changes content through a Batch, from which the store updates indexes,
// counts, revisions and the log.
//
// A Store reads the file under the definitions of one Model. Redefine changes the definitions while the store is in
// use, and returns a new Store. The old Store then returns ErrRedefined, so that nothing is read or written under
// definitions that the content no longer has.
//
// # What is stored
//
//   - Documents. A document has a number. The version of it in a slot lies under (schema, slot, document). Links name
//     documents, never the id of a row. The list of its versions lies under its documentId, so generated ids come in
//     runs that begin alike: documents that are created together share a page.
//   - Rows keep the number of their layout and a directory of field ends. Scalars are kept as the JSON text that goes
//     onto the wire. A new attribute needs no rewriting: older layouts do not have it. Components and dynamic zones lie
//     inside the row, each item like a row of its own.
//   - Numbers for names. The catalog gives schemas, fields, layouts and locales their numbers, and never reuses one.
//   - Links (relations and media) join documents. A relation has two sets of links: published versions show one, drafts
//     the other. Publishing copies the document's own links from one set to the other and does not touch its
//     neighbours. A link to a document that has no version of that status is kept but not shown. Each link stands in
//     the ordered list of either end, with both positions, so that each side has an order of its own.
//   - Indexes are keyed by (schema, field, slot, value, id), with values whose bytes sort as the values do. Texts are
//     cut at 64 bytes; for an entry of a cut text the store looks at the row again.
//   - Text indexes find the rows whose text has a part: they have an entry for each three bytes of the text, folded as
//     comparisons that ignore case fold it. Rows are checked. A write only puts its row on a list, which queries check
//     too; the write that finds the list too long indexes all texts on it.
//   - Inner indexes find the rows in whose components a unique attribute has a value, for unique checks. There is one
//     for each component attribute or dynamic zone inside which something is unique. The catalog keeps which keys each
//     has, so a change of the components removes it and builds it anew.
//   - Young blocks. Where a space of the index grows, at its end or at the end of the rows with one value, the block that
//     takes the new entries stands apart, with those of all other spaces, until it is full. So a new document writes few
//     pages for its ids, dates, nulls and common values.
//   - Counted ranges. Neighbouring index entries stand together in blocks, each one value of the file. Groups of blocks
//     and spans of groups keep the number of entries below them. So the store counts any range and finds the k-th entry
//     in a few dozen steps: totals, counts for each enumeration value and deep pages all use this one mechanism.
//
// # Formats
//
// The file says which format it has, and the first release of Lectern that reads it. Open looks at that before anything
// else, and checks no other value for it, so even an old Lectern can say what a file of the future needs. It refuses a
// newer format. It copies a file of an older one, and brings it to the present format in one transaction.
//
// # Damage
//
//   - Checksums. Every value carries a checksum (CRC-32C) of its bucket, its key and itself: behind it, or in the upper
//     bits of a number, so that links keep their size. It is compared before the value is used.
//   - Pages. Reads do not use bbolt's cursors, which trust every page. They use those of store/internal/pages, which
//     check each page once before they use it: its number, the order and places of its elements, the checksums of a
//     leaf. Each step down the tree compares the key that leads to a page with the first key of that page, so a damaged
//     page cannot hide keys. In a write transaction bbolt reads, after the pages around have been checked.
//   - Errors. A damaged page, an assertion of bbolt or a fault of the memory mapping ends the view or write with an
//     error and marks the store as damaged. A panic of the caller's own code goes on as it came.
//   - Health. A store is sound, full, lost or damaged.  Reads go on in all states.
//
// # What changes the file
//
// Content changes by batches alone: Store.Write and Tx.Apply, which has three callers, all in documents. Documents,
// files, users, tokens, roles, fills and imports all go this way. Replicas, and nodes that do not lead, apply the
// entries of such batches instead. Store.Revision is the number of the last durable batch or transaction of a
// conversion.
//
// Answers to writes with idempotency keys are stored with their batch. These also write into a file of content:
//
//   - Notes: what parts of the server keep beside the content, such as how far webhooks are. They have no entries in
//     the log.
//   - Conversion steps, when definitions change. They are no batches because they move and remove links by key, a
//     thousand at a time, and drop and build whole indexes. Each transaction takes a number of the same sequence and is
//     an entry of the log.
//   - The identity of the file and the upgrade from an older format. They change no content.
//   - A commit without a change, which tries whether a full disk has space again.
//   - Salvage and compaction, which fill a new file that no Store has open yet.
//   - The beginning of a cluster (ResetAppliedIndex), which forgets the index of the last
//     transaction of a former one. It changes no content.
//
// # The log
//
// The log is one sequence of entries: one for each batch and for each transaction of a conversion, in the bucket log of
// the same file. An entry is stored in the transaction that it describes, so it is durable exactly if its changes are,
// and costs no further sync. Whoever applies the entries in order to an empty store has the same content: store.Replica
// does, and its file can then be opened as a store.
//
//   - Encoding: a version, the epoch, the time, the kind and name of the principal, what happened to which documents,
//     and the changes of rows and links in the numbers of the catalog. A row is copied as it is stored. So no Model is
//     needed to read or apply an entry. New locale codes are in the entry that uses them first. The changes are
//     compressed, because an update of a published document holds nearly the same row three times: its entry shrinks to
//     a third.
//   - Cost (BenchmarkWriters in documents). With 16 writers, an update of a published article of half a kilobyte writes
//     13.5 KB with the log and 12.3 KB without it, and grows the file by 0.7 KB.
//   - What was before. The change of a row also holds the row before it: the fields that were different, or the whole
//     row if it was removed or had another layout. So every version since the oldest entry can be read, even if the
//     entry that wrote it was removed.
//   - Index. The bucket history says which entries changed a document. Keys in random order would cost each write a
//     page of the file, so it is built like the levels of a log-structured merge tree: a sorted block for each 1,024
//     entries, written once and removed with them. Readers search the blocks and go through the entries after the last
//     block.
//   - The past. Snapshot.ViewAt shows documents and relations as they were behind an entry. It undoes the later
//     entries, and only for what is read. Indexes are not undone, so it takes no queries. An entry of a conversion says
//     whether content was converted, or means something else under the new definitions; what was before that is
//     refused, as is what was before the oldest entry.
//   - Conversions. Changed rows and links are in the entry as in that of a batch, so a replica repeats no decision of a
//     conversion. The entry also has the catalog, if the transaction changed it, and what is left to do. A replica that
//     is opened as a store in between goes on with the conversion. Only the work on indexes is not recorded: the entry
//     has the step, and a replica repeats it on its own rows, for which an index is the same.
//   - Changes. Snapshot.VersionChanges tells what an entry did to each version: type, document, status, locale and
//     action. It reads no row, since rows may be gone: an entry has whole rows that were put, and the documentIds of
//     those that were deleted. Store.NextCommit returns a channel that the next commit closes. All who wait share it,
//     so a commit costs the same whether nobody or thousands wait.
//   - Positions. A position is an epoch and a sequence. The epoch is random: Open of a new file and lectern restore
//     begin a new one, and Snapshot.Entries refuses positions of others. A file that somebody puts back by hand keeps
//     its epoch.
//   - Chain. Each entry holds the SHA-256 of the one before it, so the hash of the last entry stands for all. A
//     transaction reads the last entry to get its hash, so nothing else needs to be kept in step. Replicas store
//     entries byte for byte, and refuse one that does not continue their chain.
//   - Kept answers. The answer to a write with an idempotency key is printed in its transaction and stored in the
//     bucket answers. The entry of the write holds it too: Once.carryOut runs the write in Tx.Together, whose entry is
//     appended when the answer is known.
//   - Bounds. A write that finds the log too large or its oldest entry too old removes the oldest ones, at most 1,000
//     keys in a transaction and as many as it added. Two counters in the bucket meta say which entries count and how
//     large the log is. An entry longer than a part of 8,100 bytes is stored in several, because bbolt writes a page
//     again for each key that it appends to it.
//
// # Replicas
//
// A replica is a Store with Options.Origin. Its writer goroutine applies the entries of another store's log, with
// snapshots and caches as for a write; everything else is refused with a *ReplicaError. Replica and Store share one
// applier, which works under the definitions in the catalog. So it needs no Model, and can go through any number of
// conversions.
//
//   - Changed definitions. The first entry of a conversion pins readers on the state before, as Redefine does. When it
//     has all entries of the conversion, Store.Adopt makes the Store for the new Model.
//   - Parts. A partial replica has a store.Part. Its origin reduces each entry to the rows and links of the part, and
//     makes the copy of entries too, so that nothing else ever leaves. A link is kept if both its ends are. An entry of
//     which nothing is left still moves the position. The entry of a conversion cannot be reduced; the replica begins
//     anew. Reduced entries carry the hash of the whole entry, by which the replica checks that they continue, and get
//     a chain of their own in its log. The part is in the bucket meta, in the ETags, and ends with the epoch: a
//     promoted part is all that there is. Readers call Snapshot.Covers with a query first.
//
// # Writing
//
//   - Write buffers. bbolt splits a page only when its transaction commits, so keys put in random order cost the square
//     of their number. Links and lists of versions are therefore changed in a buffer, a B-tree in key order. Reads
//     within the transaction look through it, and the file gets it in one walk over each bucket before the commit. A
//     transaction whose buffers are full takes no further write, which bounds the memory of many heavy writes.
//   - Group commit. One writer goroutine serves all. When a write fails after it applied something, it is taken out of
//     its transaction and the other writes run again. When a commit fails because the disk is full, the store opens the
//     file anew in place. When it fails for any other reason, the store takes no more writes: nobody knows what the
//     disk holds then, and after a failed fsync the page cache may show what the disk lacks.
//   - Space. bbolt grows its file by truncating it, which leaves holes, so a full disk would show between two pages of
//     a commit. The store therefore allocates space ahead: a step and a reserve. bbolt's MaxSize bounds a commit by
//     what is allocated and what the file system has, and a commit that needs more is refused before it writes its
//     first page. Only batches that remove may use the reserve. Some limits cannot be seen ahead (quotas,
//     copy-on-write), and such a commit fails half way. Its pages are none that the last state uses. So the store opens
//     the file anew by a duplicate of its descriptor, compares its state with the last one that was acknowledged, and
//     swaps it in. Readers of the former mapping go on; no write begins before they have ended, because bbolt no longer
//     protects the pages that they see.
//   - Compaction. bbolt never shrinks its file. Store.Compact copies a state, as a reader sees it, into a new file, and
//     then what has changed since, until little is left. bbolt never writes a page again that a reader can see, so
//     pages that two states share are equal, and pages.Diff reads only the others. For the last changes, the sync and
//     the rename, the writer goroutine itself does the work, so no write can come between. Then the store swaps the
//     open file as after a full disk. The copy continues the numbers of the transactions: caches know a state by its
//     number, and none belongs to two states.
//   - Foreign changes. One stat before a transaction and one before its acknowledgement compare the path with the open
//     file. A transaction whose number does not follow the last one means that another program wrote. The writer also
//     looks every two seconds. An identity in meta and in a marker beside the file keeps a start from silently
//     beginning with an empty store.
//
// # Reading
//
//   - Queries. A store.Filter is compiled to conditions with every negation pushed down to the leaves, in the
//     three-valued logic of SQL, so that "unknown" never matches. A condition that an index can answer becomes a source
//     with a known cost. A condition on the target of a relation becomes one, too: the store finds the targets first,
//     and then either follows their links back or walks over the links of all rows. Find picks the plan: one range in
//     the requested order; a walk in order that stops when the page is full; the rows of a source, checked one by one,
//     if they are few; the intersection of sources as sets of documents, before rows are read; or a scan. The page of a
//     set is picked out in a walk in the requested order, if that is cheaper than to sort. The walk that tests rows is
//     given up when it has cost as much as to find all that match. A total needs the set of all that match, unless one
//     counted range knows it. An index is walked in either direction, with ties by ascending id. Conditions and orders
//     that follow relations visit each target once, since relations may lead in circles.
//   - Kept sets. The set of documents that meet a condition is a compressed bitmap. The store keeps those that were
//     expensive to find, in a bounded cache, together with the revisions of the types on which the condition depends.
//     As long as these stay the same, it costs nothing to find the set again.
//   - Explanations. Reads of a context that Explain returned record the plan of each query, what finds the rows that
//     meet each of its conditions, and the work. The recorder stands in the place of the context's span, so others pay
//     nothing.
//   - Relation cache. As long as nothing is written, the store remembers which rows each list of links shows, so it
//     follows a relation the second time without reading its links or searching for its targets. The cache holds
//     offsets in the file and no content. Each committed state has its own.
//   - Snapshot pool. As long as nothing is written, a snapshot that is no longer in use serves the next reader, with
//     its buckets and cursors. All pooled snapshots are closed before a write begins.
//   - Bounded work. A read has a context and a deadline. It counts links, entries and rows as steps, and looks at the
//     clock every few thousand. The context bounds a write in the same way until it applies its first batch. If the
//     context ends before that, Apply refuses the batch, and the transaction goes on with the other writes. A write
//     that has begun to apply is completed.
//
// # Definitions
//
// The catalog keeps the definition that each type was last opened with. When a Model differs from it, package evolve
// plans the steps of a conversion, and the store carries them out in transactions of about a thousand rows. The steps
// that are left stand in the file, so a conversion that was killed goes on at the next start. Without a difference, a
// start reads no rows. Inspect tells the outcome without carrying it out, for a file or a store in use, and shows the
// content as it will be.
//
// Redefine does while the store is in use what Open does at a start, on the goroutine of the writer, and returns the
// Store for the new Model; both share the file. Settle first carries out a migration, where the refusal asks for
// nothing else. A Store knows the last transaction whose state it describes. A snapshot compares its own number with
// that one, which is all that this costs a read. Before its first transaction a conversion begins read transactions on
// the present state, which readers under the old Model share. When the file outgrows its mapping, bbolt needs all
// readers to end: then the conversion lets them go, and readers wait.
//
// Work of several writes takes a shared lock on the definitions (LockSchema), and never gets ErrRedefined half way. A
// change of definitions needs the exclusive lock. It waits a second for it, and otherwise tries later.
package store
