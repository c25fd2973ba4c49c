package filesync

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"path"
	"strings"
	"sync"
	"time"

	"lectern/documents"
	"lectern/documents/apierror"
	"lectern/gateway/internal/cluster/consensus"
	"lectern/gateway/internal/replication"
	"lectern/internal/durable"
	"lectern/internal/within"
	"lectern/jsontree"
	"lectern/media"
	"lectern/store"
)

const (
	// fileNote begins the name of the note that says which content an uploaded file has: a replication.File. The name
	// of the file follows.
	fileNote = "cluster/file/"
	// filesNote is the name of a note that is another after each change of these notes.
	filesNote = "cluster/files"
	// NodesPath is the path at which nodes give each other files.
	NodesPath = "/cluster/file"
	// stagedName is the directory, among the uploads of a node, with contents that are not in place yet.
	stagedName = ".staged"
	// maxStaged is how long a content may wait for the write that lists its file.
	maxStaged = time.Hour
	// answerTime is how long another node may take for an answer, without the time for the content of a file.
	answerTime = 10 * time.Second
	// slowest is the rate, in bytes per second, at which a node takes a file at least.
	slowest = 256 << 10
)

// NodeFilesOptions are what NodeFiles are made of.
type NodeFilesOptions struct {
	Uploads string // the directory of this node's files
	Name    string // of this node
	Peers   func() ([]consensus.Peer, error)
	Client  *http.Client          // of other nodes
	Store   func() *store.Store   // as it is served
	Library func() *media.Library // as it is served; nil where upload is switched off
	Log     *slog.Logger
}

// NodeFiles keeps the uploaded files of a node of a cluster as the notes in the store list them. The leader stages the
// contents of new files at a majority of the nodes before it proposes the notes, so that a file that is listed can be
// had. It implements media.Nodes. Its methods are safe for concurrent use.
type NodeFiles struct {
	Damage  Damage
	options NodeFilesOptions
	woken   chan struct{}

	placing sync.Mutex                  // held while a file is put in place or removed
	placed  map[string]replication.File // what Run has found in place, by name
	compare string                      // filesNote as Run has seen it last
}

var _ media.Nodes = (*NodeFiles)(nil)

// NewNodeFiles returns the NodeFiles of one node.
func NewNodeFiles(o NodeFilesOptions) *NodeFiles {
	return &NodeFiles{options: o, woken: make(chan struct{}, 1), placed: map[string]replication.File{}}
}

// stagedAt is where a content is, among the uploads, until the file is put in place.
func stagedAt(file *replication.File) string {
	key := sha256.Sum256([]byte(file.Name + "\n" + file.SHA256))
	return path.Join(stagedName, hex.EncodeToString(key[:]))
}

// inPlace reports whether this node has a file with its content.
func (f *NodeFiles) inPlace(file *replication.File) bool {
	info, err := within.Lstat(f.options.Uploads, file.Name)
	return err == nil && file.Same(info)
}

// listed returns what the store says about a file, nil if it is not listed.
func (f *NodeFiles) listed(name string) (file *replication.File, err error) {
	err = f.options.Store().View(func(s *store.Snapshot) error {
		if raw := s.Note(fileNote + name); raw != nil {
			file, err = parseFile(raw)
		}
		return err
	})
	return file, err
}

// parseFile parses a replication.File of another node or of the store.
func parseFile(raw []byte) (*replication.File, error) {
	list, err := replication.ParseFiles(bytes.Join([][]byte{[]byte("["), raw, []byte("]")}, nil))
	if err != nil {
		return nil, err
	}
	if len(list) != 1 {
		return nil, replication.ErrDamaged
	}
	return &list[0], nil
}

// sameFile reports whether two files have the same content.
func sameFile(a, b replication.File) bool {
	return a.Name == b.Name && a.SHA256 == b.SHA256 && a.Size == b.Size && a.Modified.Equal(b.Modified)
}

// change returns the note that says that others have changed.
func (f *NodeFiles) change() documents.Note {
	text, _ := json.Marshal(rand.Text()) // a string
	return documents.Note{Name: filesNote, Value: text}
}

// Stage implements media.Nodes.
func (f *NodeFiles) Stage(ctx context.Context, files []media.Staged) ([]documents.Note, error) {
	root, err := f.openStaged()
	if err != nil {
		return nil, err
	}
	defer root.Close()
	notes := []documents.Note{f.change()}
	var list []*replication.File
	for _, from := range files {
		file, err := f.describe(root, from)
		if err == nil {
			err = root.Rename(from.Spooled, stagedAt(file))
		}
		var text []byte
		if err == nil {
			text, err = json.Marshal(file)
		}
		if err != nil {
			return nil, fmt.Errorf("stage %s: %w", from.Name, err)
		}
		list = append(list, file)
		notes = append(notes, documents.Note{Name: fileNote + file.Name, Value: text})
	}
	if err := durable.SyncIn(root, stagedName); err != nil {
		return nil, err
	}
	return notes, f.push(ctx, list)
}

// openStaged opens the directory of uploads, with the one of contents that are not in place yet.
func (f *NodeFiles) openStaged() (*os.Root, error) {
	if err := os.MkdirAll(f.options.Uploads, 0o700); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(f.options.Uploads)
	if err != nil {
		return nil, err
	}
	if err := root.MkdirAll(stagedName, 0o700); err != nil {
		return nil, errors.Join(err, root.Close())
	}
	return root, nil
}

// describe returns the file that a content is to be. Its time is later than that of the former content, so that the two
// differ.
func (f *NodeFiles) describe(root *os.Root, from media.Staged) (*replication.File, error) {
	in, err := within.OpenIn(root, from.Spooled)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return nil, err
	}
	sum, err := replication.Checksum(in)
	if err != nil {
		return nil, err
	}
	file := &replication.File{Name: from.Name, Size: info.Size(), Modified: info.ModTime(), SHA256: sum}
	former, err := f.listed(from.Name)
	if err == nil && former != nil && !file.Modified.After(former.Modified) {
		file.Modified = former.Modified.Add(time.Second)
	}
	return file, err
}

// errFewNodes is the answer to an upload that a majority of the nodes cannot have.
var errFewNodes = &apierror.Error{Status: http.StatusServiceUnavailable, Name: "ServiceUnavailableError",
	Reason:  apierror.Origin,
	Message: "no majority of the nodes of the cluster has taken the file; nothing was written",
	Details: jsontree.ObjectOf("outcome", "refused")}

// straggler is how long an upload waits for the other nodes once a majority has the files. A node that takes longer
// asks for them later.
const straggler = 200 * time.Millisecond

// push gives files that are staged here to the other nodes with a vote. The error is nil if a majority has them.
func (f *NodeFiles) push(ctx context.Context, files []*replication.File) error {
	others, voters, err := f.voters()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	var all sync.WaitGroup
	defer all.Wait()
	defer cancel()
	taken := make(chan bool, len(others))
	for _, n := range others {
		all.Go(func() { taken <- f.pushTo(ctx, n, files) })
	}
	have, late := voters-len(others), (<-chan time.Time)(nil)
	for range others {
		if late == nil && have > voters/2 {
			late = time.After(straggler)
		}
		select {
		case ok := <-taken:
			if ok {
				have++
			}
		case <-late:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if have <= voters/2 {
		return errFewNodes
	}
	return nil
}

// voters returns the other nodes with a vote, and how many nodes have one.
func (f *NodeFiles) voters() (others []consensus.Peer, count int, err error) {
	list, err := f.options.Peers()
	for _, n := range list {
		if n.Voter {
			count++
			if n.Name != f.options.Name {
				others = append(others, n)
			}
		}
	}
	return others, count, err
}

// pushTo gives files to another node, and reports whether that has all of them durably.
func (f *NodeFiles) pushTo(ctx context.Context, n consensus.Peer, files []*replication.File) bool {
	for _, file := range files {
		if err := f.send(ctx, n.Address, file); err != nil {
			f.options.Log.Debug("a node does not take a file, and will ask for it", "node", n.Name, "file", file.Name,
				"error", err)
			return false
		}
	}
	return true
}

// timeFor returns how long a node may take to send or to receive a file.
func timeFor(file *replication.File) time.Duration {
	return answerTime + time.Duration(file.Size/slowest)*time.Second
}

func fileURL(address string, file *replication.File) (string, error) {
	text, err := json.Marshal(file)
	return "http://" + address + NodesPath + "?" + url.Values{"file": {string(text)}}.Encode(), err
}

func (f *NodeFiles) send(ctx context.Context, address string, file *replication.File) error {
	ctx, cancel := context.WithTimeout(ctx, timeFor(file))
	defer cancel()
	in, err := within.Open(f.options.Uploads, stagedAt(file))
	if err != nil {
		return err
	}
	defer in.Close()
	to, err := fileURL(address, file)
	if err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPut, to, io.LimitReader(in, file.Size))
	if err != nil {
		return err
	}
	r.ContentLength = file.Size
	answer, err := f.options.Client.Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusNoContent {
		text, _ := io.ReadAll(io.LimitReader(answer.Body, 1<<10))
		return fmt.Errorf("%s answers: %s", address, bytes.TrimSpace(text))
	}
	return nil
}

// ServeHTTP answers another node that gives a file, or asks for one.
func (f *NodeFiles) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	file, err := parseFile([]byte(r.URL.Query().Get("file")))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if r.Method == http.MethodPut {
		if err := f.receive(file, r.Body); err != nil {
			http.Error(w, err.Error(), http.StatusConflict)
			return
		}
		w.WriteHeader(http.StatusNoContent)
		return
	}
	in, err := within.Open(f.options.Uploads, stagedAt(file))
	if errors.Is(err, fs.ErrNotExist) && f.inPlace(file) {
		in, err = within.Open(f.options.Uploads, file.Name)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusNotFound)
		return
	}
	defer in.Close()
	_, _ = io.Copy(w, io.LimitReader(in, file.Size)) // the other node checks what it gets
}

// receive stages the content of a file, durably. Several may come at the same time: another node gives it, Run fetches
// it, and clients ask for it.
func (f *NodeFiles) receive(file *replication.File, from io.Reader) error {
	if f.isStaged(file) || f.inPlace(file) {
		return nil
	}
	return f.stage(file, from)
}

// stage is receive, also if the content is here already.
func (f *NodeFiles) stage(file *replication.File, from io.Reader) error {
	root, err := f.openStaged()
	if err != nil {
		return err
	}
	defer root.Close()
	sum, at := sha256.New(), stagedAt(file)
	own := at + "-" + rand.Text()
	err = durable.WriteIn(root, own, 0o700, func(w io.Writer) error {
		n, err := io.Copy(io.MultiWriter(w, sum), io.LimitReader(from, file.Size))
		if err == nil && (n != file.Size || hex.EncodeToString(sum.Sum(nil)) != file.SHA256) {
			err = replication.ErrDamaged
		}
		return err
	})
	if err != nil {
		return err
	}
	if err := root.Rename(own, at); err != nil {
		return err
	}
	return durable.SyncIn(root, stagedName)
}

// Unlist implements media.Nodes.
func (f *NodeFiles) Unlist(names []string) []documents.Note {
	notes := []documents.Note{f.change()}
	for _, name := range names {
		notes = append(notes, documents.Note{Name: fileNote + name})
	}
	return notes
}

// Place implements media.Nodes.
func (f *NodeFiles) Place(ctx context.Context, names []string) error {
	var errs []error
	for _, name := range names {
		if within.IsFileName(name) {
			errs = append(errs, f.place(ctx, name))
		}
	}
	return errors.Join(errs...)
}

// place puts a file in place, or removes it. If the content is not staged here, another node gives it.
func (f *NodeFiles) place(ctx context.Context, name string) error {
	for {
		file, err := f.listed(name)
		if err != nil {
			return err
		}
		if file != nil && f.inPlace(file) {
			return nil
		}
		if file != nil && !f.isStaged(file) {
			if err := f.fetch(ctx, file, f.receive); err != nil {
				return fmt.Errorf("fetch %s from another node: %w", name, err)
			}
		}
		if done, err := f.placeStaged(name, file, false); done || err != nil {
			return err
		}
	}
}

// placeStaged does what place does if the file is staged or not listed. With again it replaces what is in place. It
// reports false if the store says something else by now.
func (f *NodeFiles) placeStaged(name string, file *replication.File, again bool) (done bool, err error) {
	f.placing.Lock()
	defer f.placing.Unlock()
	now, err := f.listed(name)
	switch {
	case err != nil:
		return false, err
	case file == nil && now == nil:
		err := within.Do(f.options.Uploads, func(root *os.Root) error { return root.Remove(name) })
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return false, err
		}
		return true, nil
	case file == nil || now == nil || !sameFile(*now, *file):
		return false, nil
	case !again && f.inPlace(file): // by another call
		return true, nil
	}
	err = within.Do(f.options.Uploads, func(root *os.Root) error {
		at := stagedAt(file)
		err := root.Chtimes(at, file.Modified, file.Modified)
		if err == nil {
			err = root.MkdirAll(path.Dir(name), 0o755)
		}
		if err == nil {
			err = root.Rename(at, name)
		}
		if err == nil {
			err = durable.SyncIn(root, ".")
		}
		return err
	})
	return err == nil, err
}

func (f *NodeFiles) isStaged(file *replication.File) bool {
	_, err := within.Lstat(f.options.Uploads, stagedAt(file))
	return err == nil
}

// fetch has stage take a content that another node has.
func (f *NodeFiles) fetch(ctx context.Context, file *replication.File,
	stage func(*replication.File, io.Reader) error) error {
	list, err := f.options.Peers()
	if err != nil {
		return err
	}
	var reasons []string
	for _, n := range list {
		if n.Name == f.options.Name {
			continue
		}
		failed := f.fetchFrom(ctx, n.Address, file, stage)
		if failed == nil {
			return nil
		}
		if sent := (*url.Error)(nil); errors.As(failed, &sent) {
			failed = sent.Err // without the long path
		}
		reasons = append(reasons, n.Name+": "+failed.Error())
	}
	return fmt.Errorf("no other node has sent it (%s)", strings.Join(reasons, "; "))
}

func (f *NodeFiles) fetchFrom(ctx context.Context, address string, file *replication.File,
	stage func(*replication.File, io.Reader) error) error {
	ctx, cancel := context.WithTimeout(ctx, timeFor(file))
	defer cancel()
	from, err := fileURL(address, file)
	if err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, from, nil)
	if err != nil {
		return err
	}
	answer, err := f.options.Client.Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers with %s", address, answer.Status)
	}
	return stage(file, answer.Body)
}

// Missing fetches a file that a client asks for and that is not there, and reports whether it is there now.
func (f *NodeFiles) Missing(ctx context.Context, name string) bool {
	file, err := f.listed(name)
	if err != nil || file == nil || f.inPlace(file) {
		return false
	}
	return f.Place(ctx, []string{name}) == nil
}
