package transfer

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"lectern/contenttypes"
	"lectern/documents"
	"lectern/documents/values"
	"lectern/internal/extsort"
)

// ImportOptions configure Import.
type ImportOptions struct {
	// Partial stores the valid lines even if others are invalid.
	Partial bool
	// Keep stores values that break a rule of their attribute, as long as it can hold them: Fit says which these are.
	// KeepTaken stores unique values that other documents have.
	Keep, KeepTaken bool
	// Progress, if set, is called with the progress of the import.
	Progress func(ImportProgress)
	// Reserve, if set, is called before the import needs more memory, with its total number of bytes from then on. An
	// error from it ends the import before anything is stored.
	Reserve func(bytes int64) error
}

// ImportProgress is the progress of a phase of an import, in lines. The phase "checking" reads the whole file; Total is
// 0 until it ends. "storing" reads it again, and "linking" reads the documents whose links had to wait, and then again
// those whose links still have to.
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

// sorted orders the problems by line and removes duplicates, since draft and published version may have the same
// problem.
func (ps LineProblems) sorted() LineProblems {
	slices.SortFunc(ps, func(a, b LineProblem) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Message, b.Message))
	})
	return slices.Compact(ps)
}

// Import stores the content of a file that Export wrote. It has four phases, in files of their own:
//
//   - Check (check.go, claims.go) reads all lines. If one is invalid, Import stores nothing, unless o.Partial is set.
//   - Store (load.go, store.go) stores the documents, many in each transaction, type by type: those that others link to
//     first. A document that links to one that does not exist yet waits for the next phase; if it is new, its versions
//     are stored without links.
//   - Link stores what waited. A link to a localization that an existing document gets only in this phase may still
//     have no target.
//   - Complete adds those links.
//
// A document that existed before is replaced in one transaction, with all its versions and links, except for those of
// the last phase. So a reader sees it as it was before or as it is in the file, and an import that was interrupted can
// be repeated. Documents that are not in the file do not change.
//
// With o.Partial, documents with an invalid line are skipped with all their lines. The error is LineProblems if lines
// are invalid, also if the others were stored. Imports of the same Service wait for one another.
func Import(ctx context.Context, s *documents.Service, file io.ReadSeeker,
	o ImportOptions) (result ImportResult, err error) {
	release, err := s.LockImports(ctx)
	if err != nil {
		return result, err
	}
	defer release()
	if o.Progress == nil {
		o.Progress = func(ImportProgress) {}
	}
	if err := checkIsText(file); err != nil {
		return result, err
	}
	im := newImporter(ctx, s, file, o)
	defer func() { err = errors.Join(err, im.close()) }()
	if err := im.check(); err != nil {
		return result, err
	}
	result = ImportResult{Skipped: len(im.bad)}
	if len(im.bad) > 0 && !o.Partial {
		return result, im.problems.sorted()
	}
	if err := im.prepare(); err != nil {
		return result, err
	}
	result.Skipped = len(im.bad)
	if err := im.store(&result); err != nil {
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
	case bytes.HasPrefix(head, []byte("\x1f\x8b")), bytes.HasPrefix(head, []byte("\x28\xb5\x2f\xfd")),
		bytes.HasPrefix(head, []byte("PK\x03\x04")):
		return errors.New("it is no export but a compressed file; uncompress it first")
	case bytes.Contains(head[:min(n, 2<<10)],
		[]byte("lectern-backup.json\x00")): // the name of the first entry in a backup, which is a tar archive
		return errors.New("it is no export but a backup, which `lectern restore` reads")
	case bytes.IndexByte(head, 0) >= 0:
		return errors.New("it is no export but a binary file; `lectern export` writes lines of JSON")
	}
	return nil
}

// An importer is a running import. Its memory does not grow with the file: what it has to remember of each line is in
// Sorters, as hashes instead of names.
type importer struct {
	ctx  context.Context
	s    *documents.Service
	o    ImportOptions
	file io.ReadSeeker
	now  string
	seed maphash.Seed

	reserved int64                                // number of bytes in the last call of Reserve
	longest  int                                  // length of the longest line so far, or later of the longest document
	densest  int64                                // most bytes that the values of a line have taken so far
	lines    int                                  // number of lines in the file
	length   int64                                // length of the lines that were read
	turns    map[*contenttypes.ContentType]uint64 // see turnsOf
	unique   map[*contenttypes.ContentType][][]*contenttypes.Attribute

	bad      map[int]bool   // lines that will not be stored
	damaged  map[uint64]int // document with an invalid line → that line
	problems LineProblems
	singles  map[*contenttypes.ContentType]string // single type → its documentId
	ids      importIDs
	roles    map[string]uint64 // number of each role that was linked, by its type

	// What is kept of the lines, sorted. The fields of the records are in claims.go, order.go and ids.go.
	claims  *extsort.Sorter // names that only one line may have
	names   *extsort.Sorter // localizations in the file, and those that links need
	ranks   *extsort.Sorter // links with a position in the list of their target
	lineage *extsort.Sorter // lines by document
	order   *extsort.Sorter // lines of the documents to store, in the order in which they are stored

	links     uint64   // number of links in ranks
	positions *os.File // for each link in ranks its position, 8 bytes each
}

// sortedInMemory is how many records a Sorter keeps in memory: 40 bytes each.
const sortedInMemory = 32 << 10

func newImporter(ctx context.Context, s *documents.Service, file io.ReadSeeker, o ImportOptions) *importer {
	im := &importer{
		ctx: ctx, s: s, o: o, file: file, now: values.FormatTime(s.Now().UTC()), seed: maphash.MakeSeed(),
		bad: map[int]bool{}, damaged: map[uint64]int{}, singles: map[*contenttypes.ContentType]string{},
		ids: newImportIDs(), roles: map[string]uint64{}, turns: turnsOf(s.Model()),
		unique: map[*contenttypes.ContentType][][]*contenttypes.Attribute{},
	}
	for _, sorter := range im.sorters() {
		*sorter = extsort.New(im.dir(), sortedInMemory)
	}
	return im
}

func (im *importer) sorters() []**extsort.Sorter {
	return []**extsort.Sorter{&im.claims, &im.names, &im.ranks, &im.lineage, &im.order, &im.ids.wanted}
}

// dir returns the directory for temporary files: that of the store.
func (im *importer) dir() string { return filepath.Dir(im.s.Store().Path()) }

// close removes the temporary files.
func (im *importer) close() error {
	var errs []error
	for _, sorter := range im.sorters() {
		errs = append(errs, (*sorter).Close())
	}
	if im.positions != nil {
		errs = append(errs, im.positions.Close())
	}
	return errors.Join(errs...)
}

// wrong marks a line as invalid.
func (im *importer) wrong(line int, err error) {
	im.bad[line] = true
	im.warn(line, err.Error())
}

// warn adds a problem of a line to the result.
func (im *importer) warn(line int, message string) {
	if len(im.problems) < maxLineProblems {
		im.problems = append(im.problems, LineProblem{line, message})
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

// hashDocument returns the hash of a document. A single type has one document, whatever its documentId.
func (im *importer) hashDocument(t *contenttypes.ContentType, documentID string) uint64 {
	if t.Kind == contenttypes.SingleType {
		documentID = ""
	}
	return im.hash(t.UID, documentID)
}

// Estimates of the memory of an import in bytes.
const (
	perLineByte = 8 // for each byte of a line: the text and its parsed form
	perProblem  = 96
)

// reserve reserves memory for lines of this length, in steps of at least 256 KiB.
func (im *importer) reserve(length int) error {
	im.longest = max(im.longest, length)
	bytes := max(im.densest, max(int64(im.longest), min(im.length, loadedAhead))*perLineByte)
	bytes += int64(len(im.bad)+len(im.damaged)+len(im.ids.taken)) * perProblem
	for _, sorter := range im.sorters() {
		bytes += (*sorter).Memory()
	}
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
