package powerloss

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// A disk knows what a program did to the files below a directory, and which states a loss of power may leave there.
//
// A change is durable when a sync that began after it has ended. A change that is not durable may be lost:
//
//   - Writes of a file are lost or kept one by one, and a write may be torn: each of its sectors is lost or kept.
//   - The length of a file (ftruncate, fallocate) needs fsync; fdatasync keeps only the length that its writes need.
//   - Names (created, renamed, removed) need an fsync of their directory. The last ones of each directory are lost, as
//     in a journal.
type disk struct {
	root   string
	before map[string]*inode // what was there first; it is durable
	now    map[string]*inode // while the trace is read
	inodes []*inode
	names  []*nameChange
}

const sectorSize = 512

// An inode is a file or a directory. A file keeps its content when it is renamed.
type inode struct {
	dir     bool
	content []byte // what is durable at the last time that was asked about, and not in changes
	changes []*change
}

// A change is a write, or a new length of a file.
type change struct {
	began, ended, durable int
	offset                int64
	data                  []byte // nil: offset is the new length
	grows                 bool   // the new length is at least offset (fallocate)
}

// A nameChange gives an inode a name, takes one away, or both.
type nameChange struct {
	began, ended, durable int
	from, to              string // either may be ""
	inode                 *inode
}

// newDisk returns the files below root as a disk on which all of them are durable.
func newDisk(root string) (*disk, error) {
	d := &disk{root: root, before: map[string]*inode{}}
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.Type()&fs.ModeSocket != 0 {
			return err
		}
		n := &inode{dir: entry.IsDir()}
		if !n.dir {
			n.content, err = os.ReadFile(path)
		}
		d.before[path], d.inodes = n, append(d.inodes, n)
		return err
	})
	d.now = maps.Clone(d.before)
	return d, err
}

// replay takes in what a program has done.
func (d *disk) replay(calls []*call) error {
	for _, c := range calls {
		if c.failed() || c.ended == never { // the program ended first
			continue
		}
		if err := d.do(c); err != nil {
			return fmt.Errorf("%s(%.200s): %w", c.name, strings.Join(c.args, ", "), err)
		}
	}
	return nil
}

// below reports whether a path is the root or below it.
func (d *disk) below(path string) bool {
	return path == d.root || strings.HasPrefix(path, d.root+"/")
}

// do takes in one call. Calls that change no file below the root have no effect.
func (d *disk) do(c *call) error {
	switch c.name {
	case "openat":
		return d.open(c)
	case "write", "pwrite64", "ftruncate", "fallocate", "fsync", "fdatasync":
		if p := path(c.args[0]); d.below(p) {
			n := d.now[p]
			if n == nil {
				return nil // it was removed while open
			}
			return d.change(c, p, n)
		}
		return nil
	case "renameat", "renameat2":
		from, err := d.named(c.args[0], c.args[1])
		if err != nil {
			return err
		}
		to, err := d.named(c.args[2], c.args[3])
		if err != nil || !d.below(to) {
			return err
		}
		switch n := d.now[from]; {
		case n == nil: // a socket
		case n.dir:
			return fmt.Errorf("the model cannot rename the directory %s", from)
		default:
			d.rename(c, from, to, n)
		}
		return nil
	case "unlinkat":
		at, err := d.named(c.args[0], c.args[1])
		if err == nil && d.now[at] != nil {
			d.rename(c, at, "", d.now[at])
		}
		return err
	case "mkdirat":
		at, err := d.named(c.args[0], c.args[1])
		if err == nil && d.below(at) {
			d.create(c, at, &inode{dir: true})
		}
		return err
	}
	for _, argument := range c.args {
		if b, err := text(argument); d.below(path(argument)) || err == nil && d.below(string(b)) {
			return errors.New("the model lacks this call")
		}
	}
	return nil
}

// named returns the path that a directory's descriptor and a name mean.
func (d *disk) named(dir, name string) (string, error) {
	b, err := text(name)
	if err != nil {
		return "", err
	}
	if filepath.IsAbs(string(b)) {
		return filepath.Clean(string(b)), nil
	}
	return filepath.Join(path(dir), string(b)), nil
}

func (d *disk) open(c *call) error {
	at, err := d.named(c.args[0], c.args[1])
	if err != nil || !d.below(at) {
		return err
	}
	switch {
	case d.now[at] == nil && strings.Contains(c.args[2], "O_CREAT"):
		d.create(c, at, &inode{})
	case strings.Contains(c.args[2], "O_TRUNC"):
		n := d.now[at]
		n.changes = append(n.changes, &change{began: c.began, ended: c.ended, durable: never})
	}
	return nil
}

func (d *disk) create(c *call, at string, n *inode) {
	d.inodes = append(d.inodes, n)
	d.rename(c, "", at, n)
}

// rename takes in a nameChange: from is "" for a new name, to is "" for one that is removed.
func (d *disk) rename(c *call, from, to string, n *inode) {
	d.names = append(d.names, &nameChange{c.began, c.ended, never, from, to, n})
	delete(d.now, from)
	if to != "" {
		d.now[to] = n
	}
}

func (d *disk) change(c *call, at string, n *inode) error {
	size := func(i int) int64 { v, _ := strconv.ParseInt(c.args[i], 0, 64); return v }
	made := &change{began: c.began, ended: c.ended, durable: never}
	switch c.name {
	case "fsync", "fdatasync":
		d.sync(c, at, n)
		return nil
	case "ftruncate":
		made.offset = size(1)
	case "fallocate":
		if c.args[1] != "0" {
			return errors.New("the model lacks this mode")
		}
		made.offset, made.grows = size(2)+size(3), true
	case "pwrite64", "write":
		data, err := text(c.args[1])
		if err != nil {
			return err
		}
		made.data, made.offset = data, n.length() // the program writes files from beginning to end
		if c.name == "pwrite64" {
			made.offset = size(3)
		}
		if written, _ := strconv.Atoi(c.result); written != len(data) {
			return fmt.Errorf("a partial write: %s", c.result)
		}
	}
	n.changes = append(n.changes, made)
	return nil
}

// sync makes durable what had ended when a sync began.
func (d *disk) sync(c *call, at string, n *inode) {
	for _, m := range n.changes {
		if m.ended < c.began && (m.data != nil || c.name == "fsync") {
			m.durable = min(m.durable, c.ended)
		}
	}
	if !n.dir {
		return
	}
	for _, m := range d.names {
		if m.ended < c.began && (filepath.Dir(m.from) == at || filepath.Dir(m.to) == at) {
			m.durable = min(m.durable, c.ended)
		}
	}
}

// length is the length of a file with all its changes.
func (n *inode) length() int64 {
	length := int64(len(n.content))
	for _, m := range n.changes {
		switch {
		case m.data != nil:
			length = max(length, m.offset+int64(len(m.data)))
		case m.grows:
			length = max(length, m.offset)
		default:
			length = m.offset
		}
	}
	return length
}

// pending counts the changes that a loss of power may lose.
func (d *disk) pending(at int) (n int) {
	for _, node := range d.inodes {
		for _, m := range node.changes {
			if m.began <= at && m.durable > at {
				n++
			}
		}
	}
	for _, m := range d.names {
		if m.began <= at && m.durable > at {
			n++
		}
	}
	return n
}

// A loss decides which of the changes that are not durable survive a loss of power.
type loss struct {
	at   int // the position in the trace at which power is lost
	rng  *rand.Rand
	keep float64 // the share of changes that survives
	torn float64 // the share of writes of which a part survives
}

func (l loss) chance(p float64) bool { return l.rng.Float64() < p }

// after returns the files after a loss of power. Calls must be in the order of their times.
func (d *disk) after(l loss) map[string][]byte {
	names := maps.Clone(d.before)
	lost := map[string]bool{} // directories whose later changes are lost
	for _, m := range d.names {
		if m.began > l.at {
			break
		}
		dir := filepath.Dir(m.to)
		if m.to == "" {
			dir = filepath.Dir(m.from)
		}
		if m.durable > l.at && (lost[dir] || !l.chance(l.keep)) {
			lost[dir] = true
			continue
		}
		delete(names, m.from)
		if m.to != "" {
			names[m.to] = m.inode
		}
	}
	files := map[string][]byte{}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		n := names[name]
		if parent := names[filepath.Dir(name)]; name != d.root && (parent == nil || !parent.dir) {
			delete(names, name) // its directory is lost
			continue
		}
		if n.dir {
			files[name] = nil
		} else {
			files[name] = n.after(l)
		}
	}
	return files
}

func (n *inode) after(l loss) []byte {
	for len(n.changes) > 0 && n.changes[0].durable <= l.at {
		n.content = n.changes[0].apply(n.content, nil)
		n.changes = n.changes[1:]
	}
	content := append(make([]byte, 0, len(n.content)), n.content...)
	for _, m := range n.changes {
		switch {
		case m.began > l.at:
			return content
		case m.durable <= l.at:
			content = m.apply(content, nil)
		case l.chance(l.torn):
			content = m.apply(content, func() bool { return l.chance(0.5) })
		case l.chance(l.keep):
			content = m.apply(content, nil)
		}
	}
	return content
}

// apply makes a change; survives decides about each sector of a write.
func (m *change) apply(content []byte, survives func() bool) []byte {
	switch {
	case m.data == nil && m.grows && m.offset <= int64(len(content)):
		return content
	case m.data == nil:
		return resize(content, m.offset)
	}
	for at := int64(0); at < int64(len(m.data)); {
		next := min(int64(len(m.data)), at+sectorSize-(m.offset+at)%sectorSize)
		if survives == nil || survives() {
			content = resize(content, max(int64(len(content)), m.offset+next))
			copy(content[m.offset+at:], m.data[at:next])
		}
		at = next
	}
	return content
}

func resize(b []byte, n int64) []byte {
	if n <= int64(len(b)) {
		return b[:n]
	}
	return append(b, make([]byte, n-int64(len(b)))...)
}

// write writes files to a directory instead of the root. Zeros become holes.
func (d *disk) write(files map[string][]byte, dir string) error {
	for _, name := range slices.Sorted(maps.Keys(files)) {
		to := filepath.Join(dir, strings.TrimPrefix(name, d.root))
		if files[name] == nil {
			if err := os.MkdirAll(to, 0o700); err != nil {
				return err
			}
			continue
		}
		if err := writeSparse(to, files[name]); err != nil {
			return err
		}
	}
	return nil
}

func writeSparse(to string, content []byte) error {
	f, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	const block = 64 << 10
	var zeros [block]byte
	for at := 0; err == nil && at < len(content); at += block {
		if part := content[at:min(at+block, len(content))]; !bytes.Equal(part, zeros[:len(part)]) {
			_, err = f.WriteAt(part, int64(at))
		}
	}
	return errors.Join(err, f.Truncate(int64(len(content))), f.Close())
}
