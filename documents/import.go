package documents

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"slices"
	"strconv"
	"strings"

	"lectern/contenttypes"
	"lectern/jsontree"
	"lectern/store"
)

// These are the limits of an import.
const (
	importChunk     = 200       // lines in one transaction
	importChunkText = 256 << 10 // bytes of lines after which a transaction ends
	maxImportLine   = 64 << 20  // maximum bytes of a line
	maxLineProblems = 1000      // problems in the result; more are only counted
	progressEvery   = 1000      // lines between two calls of Progress
	strangeLines    = 20        // a file is no export if this many lines at its beginning are not JSON
)

// ImportOptions configure Import.
type ImportOptions struct {
	// Partial stores the valid lines even if others are invalid.
	Partial bool
	// Progress, if set, is called with the progress of the import.
	Progress func(ImportProgress)
	// Reserve, if set, is called before the import needs more memory, with its total number of bytes from then on. An error
	// from it ends the import before anything is stored.
	Reserve func(bytes int64) error
}

// ImportProgress is the progress of an import, which reads each line three times. Total is 0 during the first time, when it is
// not known yet.
type ImportProgress struct {
	Phase string `json:"phase"`
	Done  int    `json:"done"`
	Total int    `json:"total"`
}

// An ImportResult counts what an import stored.
type ImportResult struct {
	Versions int `json:"versions"` // versions of documents that were stored
	Skipped  int `json:"skipped"`  // invalid lines
	NewIDs   int `json:"newIds"`   // ids in the file that other documents of the store have, so that rows and components got new ones
}

// A LineProblem says why a line of an import is invalid.
type LineProblem struct {
	Line    int    `json:"line"`
	Message string `json:"message"`
}

func (p LineProblem) String() string { return fmt.Sprintf("%d: %s", p.Line, p.Message) }

// LineProblems are the errors in the lines of an import, in order. As an error it prints one per line.
type LineProblems []LineProblem

func (ps LineProblems) Error() string {
	lines := make([]string, len(ps))
	for i, p := range ps {
		lines[i] = "line " + p.String()
	}
	return strings.Join(lines, "\n")
}

// sorted orders the problems by line and removes duplicates, since draft and published version may have the same problem.
func (ps LineProblems) sorted() LineProblems {
	slices.SortFunc(ps, func(a, b LineProblem) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Message, b.Message))
	})
	return slices.Compact(ps)
}

// Import stores the content of a file that Export wrote. First it checks all lines; if one is invalid, it stores nothing, unless o.Partial is
// set. Then it stores the versions, and then the links between them, some lines in each transaction. It replaces all versions of a document
// that exists, so an interrupted import can be repeated. Documents that are not in the file do not change.
//
// With o.Partial, documents with an invalid line are skipped with all their lines. The error is LineProblems if lines are invalid, also if
// the others were stored.
func (s *Service) Import(ctx context.Context, file io.ReadSeeker, o ImportOptions) (ImportResult, error) {
	if o.Progress == nil {
		o.Progress = func(ImportProgress) {}
	}
	im := &importer{
		ctx: ctx, s: s, o: o, file: file, now: formatDateTime(s.Now().UTC()), seed: maphash.MakeSeed(),
		bad: map[int]bool{}, late: map[int]bool{}, damaged: map[uint64]int{}, versions: map[uint64]int{}, present: map[uint64]bool{}, unique: map[uint64]int{},
		singles: map[*contenttypes.ContentType]string{}, pending: map[uint64][]lateProblem{}, held: map[uint64]holder{},
		ids: importIDs{lines: map[uint64]int{}, row: map[*contenttypes.ContentType]uint64{}, wanted: map[uint64]uint64{}, taken: map[uint64]bool{}},
	}
	if err := checkIsText(file); err != nil {
		return ImportResult{}, err
	}
	if err := im.check(); err != nil {
		return ImportResult{}, err
	}
	result := ImportResult{Skipped: len(im.bad)}
	if len(im.bad) > 0 && !o.Partial {
		return result, im.problems
	}
	im.ranks.sort()
	if err := im.storeRows(&result); err != nil {
		return result, err
	}
	if err := im.storeLinks(); err != nil {
		return result, err
	}
	if len(im.problems) > 0 {
		return result, im.problems.sorted()
	}
	return result, nil
}

// checkIsText returns an error for a binary file, which cannot be an export, and says what it seems to be.
func checkIsText(file io.ReadSeeker) error {
	head := make([]byte, 64<<10)
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	n, err := io.ReadFull(file, head)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return err
	}
	head = head[:n]
	switch {
	case bytes.HasPrefix(head, []byte("\x1f\x8b")), bytes.HasPrefix(head, []byte("\x28\xb5\x2f\xfd")), bytes.HasPrefix(head, []byte("PK\x03\x04")):
		return errors.New("it is no export but a compressed file; uncompress it first")
	case bytes.Contains(head[:min(n, 2<<10)], []byte("lectern-backup.json\x00")): // the name of the first entry in a backup, which is a tar archive
		return errors.New("it is no export but a backup, which `lectern restore` reads")
	case bytes.IndexByte(head, 0) >= 0:
		return errors.New("it is no export but a binary file; `lectern export` writes lines of JSON")
	}
	return nil
}

// An importer is a running import. It keeps hashes instead of names, so that each line of the file takes only a few bytes of memory.
type importer struct {
	ctx  context.Context
	s    *Service
	o    ImportOptions
	file io.ReadSeeker
	now  string
	seed maphash.Seed

	reserved int64 // number of bytes in the last call of Reserve
	longest  int   // length of the longest line so far
	read     int   // lines of the file that were read at least once
	length   int   // length of the line that was read last

	lines    int          // number of lines in the file
	bad      map[int]bool // lines that will not be stored
	late     map[int]bool // lines in bad that are invalid only because a link target does not exist
	problems LineProblems
	damaged  map[uint64]int // document with an invalid line → that line

	versions   map[uint64]int                       // version → its line
	present    map[uint64]bool                      // localizations of documents in the file
	unique     map[uint64]int                       // unique value → its line
	singles    map[*contenttypes.ContentType]string // single type → its documentId
	pending    map[uint64][]lateProblem             // localization that was not found yet, in the store or the file → problems of the lines that link to it
	lateChecks int                                  // number of entries in pending
	held       map[uint64]holder                    // target that only one document may link to → the line that links to it
	ranks      linkRanks
	ids        importIDs
}

// A holder is the line of the file, and its document, that has the only allowed link to a target. Other lines of the same document
// may have the same link.
type holder struct {
	line int
	doc  uint64
}

// A lateProblem is a problem of a line that a later line may solve.
type lateProblem struct {
	line    int
	doc     uint64
	message string
}

// wrong marks a line as invalid.
func (im *importer) wrong(line int, err error) {
	im.bad[line] = true
	if len(im.problems) < maxLineProblems {
		im.problems = append(im.problems, LineProblem{line, err.Error()})
	}
}

// hash returns a hash that identifies parts. 64 bits make collisions negligible for a file of any size.
func (im *importer) hash(parts ...string) uint64 {
	var h maphash.Hash
	h.SetSeed(im.seed)
	for _, p := range parts {
		h.WriteString(p)
		h.WriteByte(0)
	}
	return h.Sum64()
}

// eachLine calls do with each line of the file, except for the header and empty lines. If a line is no JSON object, o is nil and err says
// why.
func (im *importer) eachLine(phase string, do func(number int, o *jsontree.Object, err error) error) error {
	if _, err := im.file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	r := bufio.NewReaderSize(im.file, 256<<10)
	number := 0
	for {
		text, err := im.readLine(r)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil && !errors.Is(err, errLongLine) {
			return err
		}
		number++
		im.read, im.length = max(im.read, number), len(text)
		if number%progressEvery == 0 {
			im.o.Progress(ImportProgress{phase, number, im.lines})
		}
		if ctxErr := im.ctx.Err(); ctxErr != nil {
			return ctxErr
		}
		var o *jsontree.Object
		if err == nil {
			if text = bytes.TrimSpace(text); len(text) == 0 {
				continue
			}
			o, err = parseObject(text)
		}
		if err == nil && number == 1 {
			var header bool
			if header, err = isHeader(o); header && err == nil {
				continue
			}
		}
		if err := do(number, o, err); err != nil {
			return err
		}
	}
	im.lines = number
	im.o.Progress(ImportProgress{phase, number, number})
	return nil
}

func parseObject(text []byte) (*jsontree.Object, error) {
	v, err := jsontree.Parse(text, jsontree.MaxDepth)
	if err != nil {
		return nil, fmt.Errorf("not valid JSON: %w", err)
	}
	o, ok := v.(*jsontree.Object)
	if !ok {
		return nil, errors.New("a line must be a JSON object")
	}
	return o, nil
}

var errLongLine = fmt.Errorf("a line has at most %d MiB", maxImportLine>>20)

// Estimates of the memory of an import in bytes.
const (
	perLineByte  = 8 // for each byte of a line: the text and its parsed form
	perLine      = 192
	perUnique    = 64
	perLink      = 128
	perLateCheck = 320
)

// reserve reserves memory for the data about the file and for lines of this length, in steps of at least 256 KiB. After the
// check of the file, everything that the import needs is reserved.
func (im *importer) reserve(length int) error {
	im.longest = max(im.longest, length)
	bytes := int64(im.longest+importChunkText)*perLineByte + int64(im.read)*perLine + int64(len(im.unique)+len(im.ids.lines))*perUnique +
		int64(len(im.held)+len(im.ranks.links))*perLink + int64(im.lateChecks)*perLateCheck
	if im.o.Reserve == nil || bytes <= im.reserved {
		return nil
	}
	bytes += 256 << 10
	if err := im.o.Reserve(bytes); err != nil {
		return fmt.Errorf("import: %w", err)
	}
	im.reserved = bytes
	return nil
}

// readLine reads up to the next line break. It skips a line that is too long and returns an error for it.
func (im *importer) readLine(r *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		if err := im.reserve(len(line) + len(part)); err != nil {
			return nil, err
		}
		if len(line) <= maxImportLine {
			line = append(line, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case errors.Is(err, io.EOF) && len(line) > 0, err == nil:
			if len(line) > maxImportLine {
				return nil, errLongLine
			}
			return line, nil
		}
		return nil, err
	}
}

// check reads the whole file and collects problems without storing anything.
func (im *importer) check() error {
	objects := 0
	err := im.s.store.View(func(snap *store.Snapshot) error {
		err := im.eachLine("checking", func(number int, o *jsontree.Object, err error) error {
			if err == nil {
				err = im.checkLine(snap, number, o)
			}
			if err != nil {
				im.wrong(number, err)
			}
			if o != nil {
				objects++
			}
			if objects == 0 && len(im.bad) >= strangeLines {
				return fmt.Errorf("it is no export: none of its first %d lines is a JSON object; `lectern export` writes one a line", strangeLines)
			}
			return nil
		})
		if err != nil {
			return err
		}
		return im.checkItemIDs(snap)
	})
	if err != nil {
		return err
	}
	for name, late := range im.pending {
		if im.present[name] {
			continue
		}
		for _, p := range late {
			im.late[p.line] = true
			im.damaged[p.doc] = p.line
			im.wrong(p.line, errors.New(p.message))
		}
	}
	im.problems = im.problems.sorted()
	return nil
}

func (im *importer) checkLine(snap *store.Snapshot, number int, o *jsontree.Object) error {
	l, err := im.parseLine(o)
	if err != nil {
		return err
	}
	if err := im.checkVersion(snap, number, l); err != nil {
		im.damaged[im.docName(l)] = number
		return err
	}
	return nil
}

// checkVersion checks a line and, if it is valid, remembers its version and names.
func (im *importer) checkVersion(snap *store.Snapshot, number int, l *importLine) error {
	for _, st := range l.statuses {
		if first, twice := im.versions[im.versionName(l, st)]; twice {
			return fmt.Errorf("line %d is the same version of the same document", first)
		}
	}
	if l.typ.Kind == contenttypes.SingleType {
		if id, ok := im.singles[l.typ]; ok && id != l.documentID {
			return fmt.Errorf("%s is a single type, and an earlier line has its document %s", l.typ.UID, id)
		}
	}
	var edges []edge
	var taken []uint64
	var items []idName
	collect := func(n idName) uint64 {
		if n.id > 0 {
			items = append(items, n)
		}
		return 1
	}
	for _, st := range l.statuses {
		row, err := im.row(l, st, collect)
		if err != nil {
			return err
		}
		values, err := im.checkUnique(snap, l, row)
		if err != nil {
			return err
		}
		taken = append(taken, values...)
		if err := im.edges(l, st, store.Record{}, func(e edge) { edges = append(edges, e) }); err != nil {
			return err
		}
	}
	if err := im.checkIDs(snap, number, l, items); err != nil {
		return err
	}
	if err := im.checkEdges(snap, number, im.docName(l), edges); err != nil {
		return err
	}
	for _, value := range taken {
		im.unique[value] = number
	}
	for _, st := range l.statuses {
		im.versions[im.versionName(l, st)] = number
	}
	im.present[im.hash(l.typ.UID, l.documentID, l.locale)] = true
	if l.typ.Kind == contenttypes.SingleType {
		im.singles[l.typ] = l.documentID
	}
	return nil
}

func (im *importer) docName(l *importLine) uint64 { return im.hash(l.typ.UID, l.documentID) }

func (im *importer) versionName(l *importLine, st store.Status) uint64 {
	return im.hash(l.typ.UID, l.documentID, l.locale, statusName(st))
}

// checkUnique returns an error if another document, in the file or in the store, has a unique value of a published version. Otherwise it
// returns the hashes of the unique values.
func (im *importer) checkUnique(snap *store.Snapshot, l *importLine, row *store.Row) (names []uint64, err error) {
	if row.Status == store.Draft {
		return nil, nil
	}
	for _, a := range l.typ.Attributes {
		value := row.Values[a.Index].JSON
		if a.System || !isUnique(a) || !a.IsScalar() || value == nil || string(value) == `""` {
			continue
		}
		name := im.hash(l.typ.UID, l.locale, a.Name, string(value))
		if first, taken := im.unique[name]; taken {
			return nil, fmt.Errorf("%s: must be unique, and line %d has %s as well", a.Name, first, value)
		}
		if other := ownerOf(snap, l, a, value); other != "" {
			return nil, fmt.Errorf("%s: must be unique, and document %s has %s as well", a.Name, other, value)
		}
		names = append(names, name)
	}
	return names, nil
}

// ownerOf returns the documentId of another document in the store that has this unique value, or "" if there is none.
func ownerOf(snap *store.Snapshot, l *importLine, a *contenttypes.Attribute, value []byte) (other string) {
	snap.Equal(l.typ, store.Published, l.locale, a, value, func(r store.Record) bool {
		if id := text(r.JSON(l.typ.Attribute("documentId"))); id != l.documentID && bytes.Equal(r.JSON(a), value) {
			other = id
		}
		return other == ""
	})
	return other
}

// storeRows is the second phase: it stores the versions of all valid documents.
func (im *importer) storeRows(result *ImportResult) error {
	seen := map[uint64]bool{} // documents with a line in this or an earlier chunk
	var chunk []storedLine
	length := 0 // length of the lines in chunk
	flush := func() error {
		versions, newIDs := 0, 0
		err := im.s.store.Write(im.ctx, func(tx *store.Tx) error {
			im.passIDs(tx)
			versions, newIDs = 0, 0
			for _, l := range chunk {
				changed, err := im.storeLine(tx, l)
				if err != nil {
					return err
				}
				versions += len(l.statuses)
				newIDs += changed
			}
			return nil
		})
		result.Versions += versions
		result.NewIDs += newIDs
		chunk, length = chunk[:0], 0
		return err
	}
	err := im.eachLine("storing", func(number int, o *jsontree.Object, err error) error {
		if err != nil || im.bad[number] {
			return nil
		}
		l, err := im.parseLine(o)
		if err != nil {
			return err
		}
		doc := im.docName(l)
		if wrong, damaged := im.damaged[doc]; damaged {
			im.late[number] = true
			im.wrong(number, fmt.Errorf("left out, since line %d of the same document is wrong", wrong))
			result.Skipped++
			return nil
		}
		chunk = append(chunk, storedLine{l, !seen[doc]})
		seen[doc] = true
		length += im.length
		if len(chunk) < importChunk && length < importChunkText {
			return nil
		}
		return flush()
	})
	if err != nil {
		return err
	}
	return flush()
}

// A storedLine is a line to be stored; first is set for the first line of its document.
type storedLine struct {
	*importLine
	first bool
}

// storeLine stores the versions of a line. newIDs is how many ids in the line were taken.
func (im *importer) storeLine(tx *store.Tx, l storedLine) (newIDs int, err error) {
	doc, exists := tx.Document(l.typ, l.documentID)
	action := store.Updated
	if l.first {
		if err := im.replace(tx, l.importLine, doc, exists); err != nil {
			return 0, err
		}
		if !exists {
			action = store.Created
		}
	}
	if !exists {
		doc = tx.NewDoc()
	}
	choose := func(n idName, next func() uint64) uint64 {
		if im.keep(n) {
			return n.id
		}
		if n.id > 0 {
			newIDs++
		}
		return next()
	}
	var batch store.Batch
	for _, st := range l.statuses {
		row, err := im.row(l.importLine, st, func(n idName) uint64 { return choose(n, tx.NewComponentID) })
		if err != nil {
			return 0, err
		}
		row.Doc = doc
		id := choose(idName{l.typ.UID, l.id}, func() uint64 { return tx.NewRowID(l.typ) })
		row.Values[l.typ.Attribute("id").Index].JSON = strconv.AppendUint(nil, id, 10)
		batch.PutRow(row)
	}
	batch.Log(l.typ, l.documentID, action)
	return newIDs, tx.Apply(&batch)
}

// replace removes all versions of a document from the store, before those of the file are stored. It keeps the links of other documents
// to localizations that are in the file. For a single type it also removes a document with another documentId, with all its links.
func (im *importer) replace(tx *store.Tx, l *importLine, doc uint64, exists bool) error {
	wr := &writing{s: im.s, tx: tx, w: &Write{Type: l.typ, DocumentID: l.documentID, Locale: "*"}, t: l.typ, locale: "*"}
	if l.typ.Kind == contenttypes.SingleType {
		other, id, err := single(tx.Snapshot, l.typ)
		if err != nil {
			return err
		}
		if other != 0 && other != doc {
			wr.begin(other, id)
			if err := wr.remove(); err != nil {
				return err
			}
			if err := wr.apply(); err != nil {
				return err
			}
			wr = &writing{s: im.s, tx: tx, w: wr.w, t: l.typ, locale: "*"}
		}
	}
	if !exists {
		return nil
	}
	wr.begin(doc, l.documentID)
	for v := range wr.versions {
		wr.drop(v)
		wr.clearFrom(&l.typ.Schema, wr.ref(v.locale))
		if !im.present[im.hash(l.typ.UID, l.documentID, v.locale)] {
			wr.clearTo(wr.ref(v.locale))
		}
	}
	return wr.apply()
}
