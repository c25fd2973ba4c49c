package media

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"lectern/internal/objects"
)

// S3Settings are the settings of a storage that speaks the protocol of Amazon S3.
type S3Settings struct {
	Endpoint  string // for example https://s3.eu-central-1.amazonaws.com
	Bucket    string
	Region    string
	AccessKey string
	SecretKey string
	BaseURL   string // address of the files for clients; "" means /uploads of this server
}

// s3 is the Storage that keeps files in a bucket, each under its own name.
type s3 struct {
	bucket  *objects.Bucket
	baseURL string
	dir     *directory // contains the spool
}

var _ Storage = (*s3)(nil)

func newS3(c S3Settings, dir *directory) (*s3, error) {
	bucket, err := objects.NewBucket(objects.BucketSettings{
		Endpoint: c.Endpoint, Bucket: c.Bucket, Region: c.Region, AccessKey: c.AccessKey, SecretKey: c.SecretKey,
	})
	if err != nil {
		return nil, err
	}
	return &s3{bucket, strings.TrimRight(c.BaseURL, "/"), dir}, nil
}

// Provider implements Storage.
func (*s3) Provider() string { return "s3" }

// URL implements Storage.
func (s *s3) URL(name string) string {
	if s.baseURL == "" {
		return "/uploads/" + name
	}
	return s.baseURL + "/" + name
}

// Put implements Storage. It leaves the files in the spool.
func (s *s3) Put(ctx context.Context, files []Stored) error {
	for i, f := range files {
		if err := s.put(ctx, f); err != nil {
			if i == 0 && objects.Refused(err) {
				err = fmt.Errorf("%w: %w", errNoneStored, err)
			}
			return fmt.Errorf("store %s: %w", f.Name, err)
		}
	}
	return nil
}

// put uploads one file. A file in which a browser may run script gets the header that has browsers save it, since
// clients may fetch it from the bucket.
func (s *s3) put(ctx context.Context, f Stored) error {
	in, err := s.dir.root().Open(f.Spooled)
	if err != nil {
		return err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return err
	}
	return s.bucket.PutAs(ctx, f.Name, in, info.Size(), f.Type, f.Active)
}

// Open implements Storage.
func (s *s3) Open(ctx context.Context, name string) (*Object, error) {
	if !isStoredName(name) {
		return nil, fs.ErrNotExist
	}
	o, err := s.bucket.Look(ctx, name)
	if err != nil {
		return nil, err
	}
	return &Object{Content: o, Size: o.Size, Modified: o.Modified, ETag: `"` + o.ETag + `"`}, nil
}

// Delete implements Storage.
func (s *s3) Delete(ctx context.Context, names []string) error {
	var errs []error
	for _, name := range names {
		if err := s.bucket.Delete(ctx, name); err != nil {
			errs = append(errs, fmt.Errorf("delete %s: %w", name, err))
		}
	}
	return errors.Join(errs...)
}
