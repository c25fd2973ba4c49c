// Package objects keeps named objects in a directory or in a bucket that speaks the protocol of Amazon S3.
//
// A Directory and a Bucket have the same methods, which are those of Store. The package alone imports a client of S3,
// so the files of a project in a bucket (package media) and its backups in a bucket go through the same code.
package objects

import (
	"context"
	"io"
	"time"
)

// A Store keeps objects by name. A name is a path with slashes and no element that begins with a dot. Any number of
// goroutines may use a Store.
type Store interface {
	// Put stores an object of size bytes and replaces the one of the same name. size is -1 if it is not known. The
	// object is replaced as a whole and durably when Put returns nil, and not at all if reading r fails.
	Put(ctx context.Context, name string, r io.Reader, size int64) error
	// Extend makes content the content of an object that had content[:from] before. It creates the object if from is 0.
	// The object is durable when Extend returns nil. After a crash in between, a directory may hold any part of the
	// rest, and a bucket holds all or nothing of it. The error wraps ErrChanged if the object is not as long as from
	// says.
	Extend(ctx context.Context, name string, content []byte, from int) error
	// Open opens an object; the error wraps fs.ErrNotExist if there is none.
	Open(ctx context.Context, name string) (io.ReadCloser, error)
	// List returns the objects whose names begin with prefix, a path that ends with a slash, ordered by name.
	List(ctx context.Context, prefix string) ([]Info, error)
	// Delete removes an object. It ignores a name that does not exist.
	Delete(ctx context.Context, name string) error
	// String returns where the objects are, as a user names it.
	String() string
}

// An Info describes an object.
type Info struct {
	Name     string
	Size     int64
	Modified time.Time
}

var (
	_ Store = (*Directory)(nil)
	_ Store = (*Bucket)(nil)
)
