package objects

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"lectern/internal/ctxio"
	"lectern/internal/tempfile"
)

// BucketSettings say where a bucket is and how to enter it.
type BucketSettings struct {
	Endpoint  string // for example https://s3.eu-central-1.amazonaws.com
	Bucket    string
	Region    string
	AccessKey string
	SecretKey string
	Prefix    string // names in the bucket begin with it; "" or a path that ends with a slash
}

// A Bucket keeps objects in a bucket.
type Bucket struct {
	client         *minio.Client
	bucket, prefix string
}

// NewBucket returns the Bucket with these settings. It does not connect to it yet.
func NewBucket(s BucketSettings) (*Bucket, error) {
	endpoint, err := url.Parse(s.Endpoint)
	if err != nil || endpoint.Host == "" {
		return nil, fmt.Errorf("the endpoint of the storage is not a URL: %q", s.Endpoint)
	}
	client, err := minio.New(endpoint.Host, &minio.Options{
		Creds: credentials.NewStaticV4(s.AccessKey, s.SecretKey, ""), Secure: endpoint.Scheme == "https",
		Region: s.Region,
	})
	if err != nil {
		return nil, fmt.Errorf("connect to the storage: %w", err)
	}
	return &Bucket{client, s.Bucket, s.Prefix}, nil
}

// String implements Store.
func (b *Bucket) String() string { return "s3://" + b.bucket + "/" + b.prefix }

// partSize is how many bytes of a long object are sent at once.
const partSize = 16 << 20

// Put implements Store. An object of unknown length is copied to a temporary file first, because a bucket wants to know
// the length.
func (b *Bucket) Put(ctx context.Context, name string, r io.Reader, size int64) error {
	if size < 0 {
		f, err := tempfile.New("")
		if err != nil {
			return err
		}
		defer f.Close()
		if size, err = io.Copy(ctxio.NewWriter(ctx, f), r); err != nil {
			return err
		}
		r = io.NewSectionReader(f, 0, size)
	}
	return b.PutAs(ctx, name, r, size, "application/octet-stream", false)
}

// PutAs is Put for an object that clients may fetch from the bucket. It has the Content-Type contentType. If attachment
// is set, browsers save it instead of showing it.
func (b *Bucket) PutAs(ctx context.Context, name string, r io.Reader, size int64, contentType string,
	attachment bool) error {
	o := minio.PutObjectOptions{ContentType: contentType, PartSize: partSize, NumThreads: 1}
	if attachment {
		o.ContentDisposition = "attachment"
	}
	_, err := b.client.PutObject(ctx, b.bucket, b.prefix+name, r, size, o)
	return err
}

// Extend implements Store. It sends the whole object again, because a bucket cannot append to one.
func (b *Bucket) Extend(ctx context.Context, name string, content []byte, _ int) error {
	return b.Put(ctx, name, bytes.NewReader(content), int64(len(content)))
}

// An Object is an open object of a bucket.
type Object struct {
	*minio.Object
	Size     int64
	Modified time.Time
	ETag     string // without quotes
}

// Look opens an object to read it from any place. The error wraps fs.ErrNotExist if there is none.
func (b *Bucket) Look(ctx context.Context, name string) (*Object, error) {
	o, err := b.client.GetObject(ctx, b.bucket, b.prefix+name, minio.GetObjectOptions{})
	if err != nil {
		return nil, missing(err)
	}
	info, err := o.Stat()
	if err != nil {
		return nil, errors.Join(missing(err), o.Close())
	}
	return &Object{o, info.Size, info.LastModified, strings.Trim(info.ETag, `"`)}, nil
}

// Open implements Store.
func (b *Bucket) Open(ctx context.Context, name string) (io.ReadCloser, error) {
	o, err := b.Look(ctx, name)
	if err != nil {
		return nil, err
	}
	return o, nil
}

// List implements Store.
func (b *Bucket) List(ctx context.Context, prefix string) (list []Info, err error) {
	for o := range b.client.ListObjects(
		ctx, b.bucket, minio.ListObjectsOptions{Prefix: b.prefix + prefix, Recursive: true}) {
		if o.Err != nil {
			return nil, o.Err
		}
		list = append(list, Info{strings.TrimPrefix(o.Key, b.prefix), o.Size, o.LastModified})
	}
	return list, nil
}

// Delete implements Store.
func (b *Bucket) Delete(ctx context.Context, name string) error {
	err := missing(b.client.RemoveObject(ctx, b.bucket, b.prefix+name, minio.RemoveObjectOptions{}))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// Refused reports whether an error is the answer of a bucket that has not done what it was asked to do. After other
// errors it may have.
func Refused(err error) bool {
	var answer minio.ErrorResponse
	return errors.As(err, &answer) && answer.StatusCode >= 400 && answer.StatusCode < 500
}

// missing wraps an error of the storage in fs.ErrNotExist if it means that the object does not exist.
func missing(err error) error {
	if err == nil {
		return nil
	}
	if r := minio.ToErrorResponse(err); r.StatusCode == http.StatusNotFound && r.Code != "NoSuchBucket" {
		return fmt.Errorf("%w: %w", fs.ErrNotExist, err)
	}
	return err
}
