package media

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"strings"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
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
	client  *minio.Client
	bucket  string
	baseURL string
	dir     *directory // contains the spool
}

var _ Storage = (*s3)(nil)

func newS3(c S3Settings, dir *directory) (*s3, error) {
	endpoint, err := url.Parse(c.Endpoint)
	if err != nil || endpoint.Host == "" {
		return nil, fmt.Errorf("the endpoint of the storage is not a URL: %q", c.Endpoint)
	}
	client, err := minio.New(endpoint.Host, &minio.Options{
		Creds: credentials.NewStaticV4(c.AccessKey, c.SecretKey, ""), Secure: endpoint.Scheme == "https", Region: c.Region,
	})
	if err != nil {
		return nil, fmt.Errorf("connect to the storage: %w", err)
	}
	return &s3{client: client, bucket: c.Bucket, baseURL: strings.TrimRight(c.BaseURL, "/"), dir: dir}, nil
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
	for _, f := range files {
		if err := s.put(ctx, f); err != nil {
			return fmt.Errorf("store %s: %w", f.Name, err)
		}
	}
	return nil
}

// put uploads one file. A file in which a browser may run script gets the header that has browsers save it, since clients may
// fetch it from the bucket.
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
	o := minio.PutObjectOptions{ContentType: f.Type, PartSize: 16 << 20, NumThreads: 1}
	if f.Active {
		o.ContentDisposition = "attachment"
	}
	_, err = s.client.PutObject(ctx, s.bucket, f.Name, in, info.Size(), o)
	return err
}

// Open implements Storage.
func (s *s3) Open(ctx context.Context, name string) (*Object, error) {
	if !isStoredName(name) {
		return nil, fs.ErrNotExist
	}
	o, err := s.client.GetObject(ctx, s.bucket, name, minio.GetObjectOptions{})
	if err != nil {
		return nil, missing(err)
	}
	info, err := o.Stat()
	if err != nil {
		return nil, errors.Join(missing(err), o.Close())
	}
	return &Object{Content: o, Size: info.Size, Modified: info.LastModified, ETag: `"` + strings.Trim(info.ETag, `"`) + `"`}, nil
}

// Delete implements Storage.
func (s *s3) Delete(ctx context.Context, names []string) error {
	var errs []error
	for _, name := range names {
		err := missing(s.client.RemoveObject(ctx, s.bucket, name, minio.RemoveObjectOptions{}))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, fmt.Errorf("delete %s: %w", name, err))
		}
	}
	return errors.Join(errs...)
}

// missing wraps an error of the storage in fs.ErrNotExist if it means that the file does not exist.
func missing(err error) error {
	if err == nil {
		return nil
	}
	if r := minio.ToErrorResponse(err); r.StatusCode == http.StatusNotFound && r.Code != "NoSuchBucket" {
		return fmt.Errorf("%w: %w", fs.ErrNotExist, err)
	}
	return err
}
