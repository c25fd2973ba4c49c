package media

import (
	"context"
	"io"
	"time"
)

// A Storage keeps files by name. Names are single parts of a path without a dot before them. Any number of goroutines may
// use it.
type Storage interface {
	// Provider is its name, as files say it.
	Provider() string
	// URL is where clients fetch a file.
	URL(name string) string
	// Put stores files, replacing those that have their names; each either is there whole or is as it was before. When Put
	// returns nil all are durable; when it does not, any of them may be there.
	Put(ctx context.Context, files []Stored) error
	// Open opens a file; the error wraps fs.ErrNotExist where there is none.
	Open(ctx context.Context, name string) (*Object, error)
	// Delete removes files. Those that are not there are no error.
	Delete(ctx context.Context, names []string) error
}

// A Stored is a file to be stored.
type Stored struct {
	Name    string
	Spooled string // where its content lies in the spool; Put may take it away from there
	Type    string // Content-Type
	Active  bool   // a browser that shows it might run script
}

// An Object is an open file.
type Object struct {
	io.ReadSeekCloser
	Size     int64
	Modified time.Time
	ETag     string // with quotes
}
