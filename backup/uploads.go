package backup

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"time"

	"lectern/internal/ctxio"
	"lectern/internal/objects"
	"lectern/store"
)

// A manifest says which uploaded file had which content, by name. A full one belongs to a base and lists all files; the
// others list files that were new or changed since, and have the position of that base or a later one. The content of a
// file is stored once, under its SHA-256.
type manifest map[string]upload

// An upload is an uploaded file in a manifest.
type upload struct {
	Sum      string `json:"sha256"`
	Size     int64  `json:"size"`
	Modified int64  `json:"modified"` // in ns, of the file that was copied
	Sequence uint64 `json:"sequence"` // of an entry of the log before which, or soon after which, the file was copied
}

// A listedManifest is a manifest by its name.
type listedManifest struct {
	name     string
	position store.Position
	full     bool
	made     int64 // in ms, so that two at one position have different names
}

const fullSuffix = "-full.json"

func (m listedManifest) String() string {
	if m.full {
		return uploadsAt + positionName(m.position) + fullSuffix
	}
	return uploadsAt + positionName(m.position) + "-" + strconv.FormatInt(m.made, 10) + ".json"
}

func parseManifestName(name string) (m listedManifest, ok bool) {
	m.name = name
	text := strings.TrimPrefix(name, uploadsAt)
	if position, isFull := strings.CutSuffix(text, fullSuffix); isFull {
		m.full = true
		m.position, ok = parsePositionName(position)
		return m, ok
	}
	text, ok = strings.CutSuffix(text, ".json")
	at := strings.LastIndexByte(text, '-')
	if !ok || at < 0 {
		return m, false
	}
	made, err := strconv.ParseInt(text[at+1:], 10, 64)
	m.made = made
	m.position, ok = parsePositionName(text[:at])
	return m, ok && err == nil
}

// putManifest stores a manifest.
func putManifest(ctx context.Context, to objects.Store, m manifest, at store.Position, full bool) error {
	text, err := json.Marshal(m)
	if err != nil {
		return err
	}
	name := listedManifest{position: at, full: full, made: time.Now().UnixMilli()}.String()
	return putBytes(ctx, to, name, text)
}

func readManifest(ctx context.Context, from objects.Store, name string) (m manifest, err error) {
	r, err := from.Open(ctx, name)
	if err == nil {
		err = json.NewDecoder(r).Decode(&m)
		err = errors.Join(err, r.Close())
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	for file, u := range m {
		if sum, err := hex.DecodeString(u.Sum); err != nil || len(sum) != 32 {
			return nil, fmt.Errorf("read %s: %q has no SHA-256", name, file)
		}
	}
	return m, nil
}

// objectName returns where the content of a file is stored.
func (u upload) objectName() string { return filesAt + u.Sum[:2] + "/" + u.Sum }

// Uploads knows the contents of uploaded files at a point in time.
type Uploads struct {
	from     objects.Store
	sequence uint64
	names    map[string][]upload // in the order in which they were copied
}

// uploadsSince reads the manifests of an epoch from a base on.
func (c *catalogue) uploadsSince(ctx context.Context, from objects.Store, base store.Position,
	sequence uint64) (*Uploads, error) {
	var list []listedManifest
	for _, m := range c.manifests {
		if m.position.Epoch == base.Epoch && m.position.Sequence >= base.Sequence {
			list = append(list, m)
		}
	}
	slices.SortFunc(list, func(a, b listedManifest) int {
		full := func(m listedManifest) int { return map[bool]int{true: 1}[m.full] }
		return cmp.Or(cmp.Compare(a.position.Sequence, b.position.Sequence), full(b)-full(a),
			cmp.Compare(a.made, b.made))
	})
	u := &Uploads{from, sequence, map[string][]upload{}}
	for _, l := range list {
		m, err := readManifest(ctx, from, l.name)
		if err != nil {
			return nil, err
		}
		for name, file := range m {
			u.names[name] = append(u.names[name], file)
		}
	}
	for _, all := range u.names { // a manifest may have the position of the base and list files that were copied later, or before
		slices.SortStableFunc(all, func(a, b upload) int { return cmp.Compare(a.Sequence, b.Sequence) })
	}
	return u, nil
}

// Copy writes to w the content that the file of this name had at the point in time. It reports whether the backup has
// one.
func (u *Uploads) Copy(ctx context.Context, name string, w io.Writer) (found bool, err error) {
	file, found := u.at(name)
	if !found {
		return false, nil
	}
	r, err := u.from.Open(ctx, file.objectName())
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read %s: %w", file.objectName(), err)
	}
	sum := sha256.New()
	_, err = io.Copy(io.MultiWriter(ctxio.NewWriter(ctx, w), sum), r)
	if err = errors.Join(err, r.Close()); err == nil && hex.EncodeToString(sum.Sum(nil)) != file.Sum {
		err = errors.New("it is damaged: its content is not the one that its name says")
	}
	if err != nil {
		return false, fmt.Errorf("read %s, which is the uploaded file %s: %w", file.objectName(), name, err)
	}
	return true, nil
}

// at returns the content that a file had at the point in time: the last one that was copied up to then, or else the
// first one after it, since a file is copied a little later than the entry that names it.
func (u *Uploads) at(name string) (upload, bool) {
	all := u.names[name]
	if len(all) == 0 {
		return upload{}, false
	}
	found := all[0]
	for _, file := range all[1:] {
		if file.Sequence <= u.sequence {
			found = file
		}
	}
	return found, true
}
