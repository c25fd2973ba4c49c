package media

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"os"
	"strconv"

	"lectern/contenttypes"
	"lectern/documents"
	"lectern/documents/apierror"
	"lectern/documents/permission"
	"lectern/internal/budget"
	"lectern/internal/ctxio"
	"lectern/jsontree"
	"lectern/store"
)

// Limits of one form, beside the size limit of each file.
const (
	maxFiles      = 100
	maxFieldBytes = 1 << 20 // of all text fields together
	maxFields     = 1000
	maxParts      = 10 * (maxFiles + maxFields) // also of those that do not count
)

// ErrMalformed means that a form could not be read to its end: it is not well-formed, or the connection broke.
var ErrMalformed = errors.New("the multipart body cannot be read")

// errEmpty is the answer to a form without the file that it must contain.
var errEmpty = apierror.Validation("Files are empty")

// A Form is an upload as a client sent it. Its files are in the spool until they are stored or Close removes them. The
// zero Form is empty.
type Form struct {
	files  []*received
	fields [][2]string
	parsed *jsontree.Object // made from fields
	spool  *spool
	memory budget.Tally // of fields and parsed
}

// A received file was read from a form and is in the spool.
type received struct {
	name    string // name in the form, without directories
	mime    string // media type that its document states
	spooled string
	size    int64
	kind    kind
}

// ReadForm reads a form and streams its files to the spool, each up to the size limit. Only files in the field named
// files count. parse builds a tree from the other fields, as names and values, within the memory of the form. Parts
// that do not count are bounded as well, since a compressed form can have very many of them in few bytes.
func (l *Library) ReadForm(ctx context.Context, r *multipart.Reader,
	parse func([][2]string, jsontree.Memory) (*jsontree.Object, error)) (form *Form, err error) {
	form = &Form{spool: l.spool, memory: l.memory.Tally()}
	defer func() {
		if err != nil {
			err = errors.Join(err, form.Close())
		}
	}()
	room, others := int64(maxFieldBytes), l.settings.SizeLimit
	for parts := 0; ; parts++ {
		part, err := r.NextPart()
		if err == io.EOF {
			break
		}
		if err != nil {
			return form, fmt.Errorf("%w: %w", ErrMalformed, err)
		}
		if parts == maxParts {
			return form, tooLarge("the form has too many parts")
		}
		name, file, isFile := disposition(part)
		switch {
		case isFile && name == "files":
			err = l.receive(ctx, form, part, file)
		case isFile:
			err = skip(part, &others)
		case name != "":
			err = form.field(name, part, &room)
		}
		if err != nil {
			return form, err
		}
	}
	if len(form.files) == 1 && form.files[0].size == 0 { // browsers send an empty file if the user chose none
		if err = form.discard(); err != nil {
			return form, err
		}
		form.files = nil
	}
	form.parsed, err = parse(form.fields, &form.memory)
	return form, err
}

// Close removes the files that were not stored, and gives back the memory of the fields.
func (f *Form) Close() error {
	f.memory.Release()
	return f.discard()
}

// discard removes the files that were not stored.
func (f *Form) discard() error {
	var names []string
	if f.spool == nil {
		return nil
	}
	for _, r := range f.files {
		names = append(names, r.spooled)
	}
	return f.spool.remove(names...)
}

// Files returns how many files the form contains.
func (f *Form) Files() int { return len(f.files) }

// Ref returns the uid of the content-type to whose document the form links its files, "" if it links them to none.
func (f *Form) Ref() string {
	if f.parsed == nil {
		return ""
	}
	return f.parsed.Text("ref")
}

// Hash returns a hash of what the form says: its fields and files, in their order. The bytes that clients send differ
// each time, in the boundary between the parts. Hash must be called before the files are stored.
func (f *Form) Hash() ([]byte, error) {
	h := sha256.New() // its Write never fails
	for _, field := range f.fields {
		fmt.Fprintf(h, "field %q %q\n", field[0], field[1])
	}
	for _, r := range f.files {
		fmt.Fprintf(h, "file %q %q %d\n", r.name, r.mime, r.size)
		if err := f.spool.copyTo(h, r.spooled); err != nil {
			return nil, fmt.Errorf("read a received file: %w", err)
		}
	}
	return h.Sum(nil), nil
}

// disposition returns the name of a part and of its file. It replaces the methods of multipart.Part because those cut
// off directories, and names with directories must be refused.
func disposition(part *multipart.Part) (name, file string, isFile bool) {
	_, params, err := mime.ParseMediaType(part.Header.Get("Content-Disposition"))
	if err != nil {
		return "", "", false
	}
	file, isFile = params["filename"]
	return params["name"], file, isFile
}

// skip reads a file in a field that does not count. room is how many bytes all of them may have together.
func skip(part io.Reader, room *int64) error {
	n, err := io.Copy(io.Discard, io.LimitReader(part, *room+1))
	if err != nil {
		return fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	if *room -= n; *room < 0 {
		return tooLarge("the files in fields other than files are too long")
	}
	return nil
}

// An inflated form is what a compressed form is decompressed to. Reading it fails when it is too long.
type inflated struct {
	io.Reader
	room  int64
	limit string
}

// Inflated returns a reader of a decompressed form, which may have the size limit of one file, beside its fields and
// the heads of its parts. A client that sends more than that sends it as it is, and not a thousand times smaller.
func (l *Library) Inflated(form io.Reader) io.Reader {
	return &inflated{form, l.settings.SizeLimit + 2*maxFieldBytes, readable(l.settings.SizeLimit)}
}

// Read implements io.Reader.
func (r *inflated) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	if r.room -= int64(n); r.room < 0 {
		return 0, tooLarge("the compressed form exceeds size limit of " + r.limit +
			" when it is decompressed. Send its files without Content-Encoding.")
	}
	return n, err
}

func (f *Form) field(name string, r io.Reader, room *int64) error {
	value, err := io.ReadAll(&counted{io.LimitReader(r, *room+1), &f.memory})
	switch {
	case errors.Is(err, budget.ErrExhausted), errors.Is(err, budget.ErrNever):
		return err
	case err != nil:
		return fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	if *room -= int64(len(value)); *room < 0 || len(f.fields) >= maxFields {
		return tooLarge("the fields of the form are too many or too long")
	}
	f.fields = append(f.fields, [2]string{name, string(value)})
	return nil
}

// copies is how many times a field is in memory while it is read: in a buffer that grows, and as a text.
const copies = 3

// counted is a reader of a field, which asks for the memory of what was read.
type counted struct {
	io.Reader
	memory *budget.Tally
}

// Read implements io.Reader.
func (c *counted) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	if failed := c.memory.Add(copies * int64(n)); failed != nil {
		return 0, failed
	}
	return n, err
}

func tooLarge(message string) error {
	return &apierror.Error{Status: 413, Name: "PayloadTooLargeError", Message: message, Reason: apierror.FileSize}
}

// receive writes the file in a part to the spool, checks its type and adds it to the form.
func (l *Library) receive(ctx context.Context, form *Form, part *multipart.Part, name string) error {
	if len(form.files) >= maxFiles {
		return apierror.Validation("Too many files at once: at most " + strconv.Itoa(maxFiles))
	}
	name, err := sentName(name)
	if err != nil {
		return err
	}
	f, err := l.spool.create()
	if err != nil {
		return fmt.Errorf("receive a file: %w", err)
	}
	file := &received{name: name, spooled: f.name}
	err = l.copyWithin(ctx, f, part, name)
	if err == nil {
		file.kind, err = kindOfFile(f, extension(name))
	}
	if err == nil {
		file.mime = statedType(extension(name), declaredType(part.Header.Get("Content-Type")), file.kind)
		if extension(name) == "" {
			file.kind, err = kindOfFile(f, extensionOf(name, file.mime))
		}
	}
	if err == nil {
		err = l.policy.check(name, file.kind)
	}
	if file.size, err = f.finish(err); err != nil {
		return err
	}
	form.files = append(form.files, file)
	return nil
}

// copyWithin copies a file into the spool. It refuses a file over the size limit, which it compares in kilobytes
// rounded to two decimals: the size that the document will state.
func (l *Library) copyWithin(ctx context.Context, f *spooled, r io.Reader, name string) error {
	limit := l.settings.SizeLimit
	n, err := io.Copy(f, ctxio.NewReader(ctx, io.LimitReader(r, limit+10)))
	var disk *os.PathError
	switch {
	case errors.As(err, &disk):
		return fmt.Errorf("receive a file: %w", err)
	case ctx.Err() != nil &&
		!errors.Is(err, os.ErrDeadlineExceeded): // a body that is too slow ends the request's context too
		return ctx.Err()
	case err != nil:
		return fmt.Errorf("%w: %w", ErrMalformed, err)
	case hundredths(n)*10 > limit:
		return tooLarge(name + " exceeds size limit of " + readable(limit) + ".")
	}
	return nil
}

// attachment reads the fields ref, refId and field of a form, which name the entry and the attribute that link the
// uploaded files. It returns nil if they are absent. The caller must be allowed to update entries of that type.
func (l *Library) attachment(fields *jsontree.Object, access *permission.Access) (*documents.Attachment, error) {
	ref, id, field := fields.Text("ref"), fields.Text("refId"), fields.Text("field")
	if ref == "" {
		return nil, nil
	}
	t := l.model.Type(ref)
	if t == nil || t.Internal {
		return nil, apierror.Validation("ref names no content-type: " + ref)
	}
	if !access.Allows(t, "update") {
		return nil, apierror.Forbidden()
	}
	if id == "" || field == "" {
		return nil, nil
	}
	attr := t.Attribute(field)
	if attr == nil || attr.Type != contenttypes.Media || !access.Follows(attr) {
		return nil, apierror.Validation("field names no media attribute of " + ref + ": " + field)
	}
	row, err := strconv.ParseUint(id, 10, 64)
	if err != nil {
		return nil, apierror.Validation("refId must be the numeric id of an entry, not " + id)
	}
	err = l.store.View(func(s *store.Snapshot) error {
		if _, _, _, ok := s.DocumentByRow(t, row); !ok {
			return errNoEntry(ref, row)
		}
		return nil
	})
	return &documents.Attachment{Type: t, Attr: attr, Row: row, Access: access}, err
}

// errNoEntry is the answer to a form that links its files to an entry that does not exist.
func errNoEntry(ref string, row uint64) error {
	return apierror.Validation(fmt.Sprintf("refId names no entry of %s: %d", ref, row))
}

// hundredths returns a size in hundredths of a kilobyte, rounded.
func hundredths(bytes int64) int64 { return (bytes + 5) / 10 }

// kilobytes returns a size in kilobytes with two decimals, as documents of files state it.
func kilobytes(bytes int64) jsontree.Number {
	return jsontree.Number(strconv.FormatFloat(float64(hundredths(bytes))/100, 'f', -1, 64))
}

// readable returns a size as messages show it: 1 MB, 209.7 MB.
func readable(bytes int64) string {
	n, unit := float64(bytes), "B"
	for _, next := range []string{"kB", "MB", "GB", "TB"} {
		if n < 1000 {
			break
		}
		n, unit = n/1000, next
	}
	return strconv.FormatFloat(float64(int64(n*10+0.5))/10, 'f', -1, 64) + " " + unit
}

// extensionOf returns the extension that a file is stored with: that of its name or, if it has none, the usual one of
// its type.
func extensionOf(name, mime string) string {
	if ext := extension(name); ext != "" {
		return ext
	}
	return extensionByType(mime)
}
