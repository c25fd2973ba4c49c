package replication

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path"
	"time"

	"lectern/internal/within"
)

// A File is an uploaded file of the origin.
type File struct {
	Name     string    `json:"name"` // its path below /uploads
	Size     int64     `json:"size"`
	Modified time.Time `json:"modified"`
	SHA256   string    `json:"sha256"`
}

// Same reports whether a stored file is the one that the origin has. A replica gives its files the times of the
// origin's.
func (f *File) Same(info fs.FileInfo) bool {
	return info.Mode().IsRegular() && info.Size() == f.Size && info.ModTime().Equal(f.Modified)
}

// ParseFiles parses the JSON of a list of Files. It refuses names that lead elsewhere.
func ParseFiles(text []byte) (list []File, err error) {
	d := json.NewDecoder(bytes.NewReader(text))
	switch start, err := d.Token(); {
	case err != nil:
		return nil, listError(err)
	case start == nil: // there are none
		return nil, nil
	case start != json.Delim('['):
		return nil, listError(ErrDamaged)
	}
	for d.More() { // one after the other, so that empty ones do not take memory
		var f File
		if err := d.Decode(&f); err != nil {
			return nil, listError(err)
		}
		if sum, err := hex.DecodeString(f.SHA256); !within.IsFileName(f.Name) || f.Size < 0 || err != nil ||
			len(sum) != sha256.Size {
			return nil, listError(fmt.Errorf("%q: %w", f.Name, ErrDamaged))
		}
		list = append(list, f)
	}
	if _, err := d.Token(); err != nil {
		return nil, listError(err)
	}
	return list, nil
}

func listError(err error) error { return fmt.Errorf("read the list of files: %w", err) }

// Files returns the uploaded files of the origin.
func (o *Client) Files(ctx context.Context) ([]File, error) {
	s, _, err := o.get(ctx, o.replica("files"), nil)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	f, err := s.Next()
	if err != nil {
		return nil, err
	}
	if f.Kind != FilesFrame {
		return nil, ErrDamaged
	}
	return ParseFiles(f.Payload)
}

// Fetched is the directory, among the uploaded files, with those that Fetch has not completed.
const Fetched = ".fetched"

// Fetch stores a file of the origin below uploads, under its name. It goes on where an attempt before was cut off:
// until the file is complete and has its checksum, it is in the directory Fetched.
func (o *Client) Fetch(ctx context.Context, f *File, uploads *os.Root) error {
	if err := uploads.MkdirAll(Fetched, 0o700); err != nil {
		return err
	}
	part := path.Join(Fetched, f.SHA256)
	if err := o.download(ctx, f, uploads, part); err != nil {
		return fmt.Errorf("fetch %s: %w", f.Name, err)
	}
	if err := checkSum(uploads, part, f.SHA256); err != nil {
		return errors.Join(fmt.Errorf("fetch %s: %w", f.Name, err), uploads.Remove(part))
	}
	if err := uploads.Chtimes(part, f.Modified, f.Modified); err != nil {
		return err
	}
	if err := uploads.MkdirAll(path.Dir(f.Name), 0o755); err != nil {
		return err
	}
	return uploads.Rename(part, f.Name)
}

// download appends to part what is missing of a file.
func (o *Client) download(ctx context.Context, f *File, uploads *os.Root, part string) error {
	to, err := uploads.OpenFile(part, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	defer to.Close()
	have, err := to.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	if have > f.Size {
		have = 0
	}
	header := http.Header{}
	if have > 0 {
		header.Set("Range", fmt.Sprintf("bytes=%d-", have))
	}
	if have < f.Size {
		if err := requireSpace(to, f.Size-have); err != nil {
			return err
		}
		s, answer, err := o.get(ctx, o.Base()+"/uploads/"+(&url.URL{Path: f.Name}).EscapedPath(), header)
		if err != nil {
			return err
		}
		defer s.Close()
		if answer.StatusCode != http.StatusPartialContent {
			have = 0
		}
		if _, err := to.Seek(have, io.SeekStart); err != nil {
			return err
		}
		n, err := io.Copy(to, io.LimitReader(s.text, f.Size-have))
		if err != nil {
			return err
		}
		have += n
	}
	if have < f.Size {
		return io.ErrUnexpectedEOF
	}
	return errors.Join(to.Truncate(f.Size), to.Sync())
}

// checkSum returns an error if a file has another checksum.
func checkSum(root *os.Root, name, want string) error {
	f, err := root.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	sum, err := Checksum(f)
	if err == nil && sum != want {
		err = ErrDamaged
	}
	return err
}

// Checksum reads a content to its end and returns its SHA-256 in hexadecimal digits, as File.SHA256 has it.
func Checksum(content io.Reader) (string, error) {
	sum := sha256.New()
	if _, err := io.Copy(sum, content); err != nil {
		return "", err
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}
