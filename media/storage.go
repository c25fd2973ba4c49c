package media

import (
	"context"
	"errors"
	"io"
	"time"
)

// A Storage stores files by name. A name is a single path element that does not begin with a dot. Any number of
// goroutines may use a Storage.
type Storage interface {
	// Provider returns the name by which documents of files refer to the storage.
	Provider() string
	// URL returns the address from which clients fetch a file.
	URL(name string) string
	// Put stores files and replaces those of the same names; each file is replaced as a whole or not at all. When Put
	// returns nil, all are durable; when it returns an error, any of them may have been stored, unless the error wraps
	// errNoneStored.
	Put(ctx context.Context, files []Stored) error
	// Open opens a file; the error wraps fs.ErrNotExist if there is none.
	Open(ctx context.Context, name string) (*Object, error)
	// Delete removes files. It ignores names that do not exist.
	Delete(ctx context.Context, names []string) error
}

// errNoneStored: a storage has stored nothing.
var errNoneStored = errors.New("nothing was stored")

// A Stored is a file to be stored.
type Stored struct {
	Name    string
	Spooled string // name of its content in the spool; Put may move it away
	Type    string // Content-Type
	Active  bool   // a browser that shows it may run script
}

// An Object is an open file.
type Object struct {
	Content
	Size     int64
	Modified time.Time
	ETag     string // in quotes
}

// Content is the content of an open file.
type Content interface {
	io.ReadSeekCloser
	io.ReaderAt
}
