package media

import (
	"context"
	"errors"

	"lectern/documents"
)

// Nodes is how the nodes of a cluster, which have the same store, keep the same files on their disks. The store has a
// note for each file. The transaction that writes the documents of files changes the notes as well, so that both change
// at once, on every node.
type Nodes interface {
	// Stage gives a majority of the nodes the contents of files, durably, and returns the notes that list them. It
	// takes the files away.
	Stage(ctx context.Context, files []Staged) ([]documents.Note, error)
	// Unlist returns the notes that do not list files any more.
	Unlist(names []string) []documents.Note
	// Place does on this node what the notes in the store say about files: it puts the staged contents in place, and
	// removes what is not listed.
	Place(ctx context.Context, names []string) error
	// Complete puts in place all files that are listed and missing on this node.
	Complete(ctx context.Context) error
}

// A Staged is a file to be stored.
type Staged struct {
	Name string
	// Spooled is the name of its content, which is durable, below the directory of uploads.
	Spooled string
}

// onNodes is the Storage that keeps files in the directories of the nodes of a cluster.
type onNodes struct {
	*local
	nodes Nodes
}

var _ Storage = (*onNodes)(nil)

// Put implements Storage.
func (*onNodes) Put(context.Context, []Stored) error {
	return errors.New("files of the nodes of a cluster are stored by Stage")
}

// Delete implements Storage. Files that are listed stay.
func (s *onNodes) Delete(ctx context.Context, names []string) error {
	return s.nodes.Place(ctx, names)
}

// put stores files. The write of the documents that name them must store the notes, if there are any, and place be
// called afterwards.
func (l *Library) put(ctx context.Context, to Storage, files []Stored) ([]documents.Note, error) {
	t, ok := to.(*onNodes)
	if !ok {
		return nil, to.Put(ctx, files)
	}
	staged := make([]Staged, len(files))
	for i, f := range files {
		staged[i] = Staged{f.Name, f.Spooled}
	}
	return t.nodes.Stage(ctx, staged)
}

// unlisted returns the notes that the write which deletes the documents of files must store.
func unlisted(from Storage, names []string) []documents.Note {
	if t, ok := from.(*onNodes); ok {
		return t.nodes.Unlist(names)
	}
	return nil
}

// place puts files in place once their documents are written. What fails is done again later.
func (l *Library) place(ctx context.Context, at Storage, names []string) {
	t, ok := at.(*onNodes)
	if !ok {
		return
	}
	if err := t.nodes.Place(context.WithoutCancel(ctx), names); err != nil {
		l.failed(err)
	}
	l.forgetVariants(names...)
}

// Complete waits until all files are on this machine that are in the storage of its disk. Only a node of a cluster may
// lack some.
func (l *Library) Complete(ctx context.Context) error {
	if t, ok := l.local.(*onNodes); ok {
		return t.nodes.Complete(ctx)
	}
	return nil
}

// Fetch waits until the files with these names are on this machine, as far as they are in the storage of its disk. Only
// a node of a cluster may lack some.
func (l *Library) Fetch(ctx context.Context, names []string) error {
	if t, ok := l.local.(*onNodes); ok {
		return t.nodes.Place(ctx, names)
	}
	return nil
}

// Change calls change, which replaces or removes files, once no backup reads them.
func (l *Library) Change(ctx context.Context, names []string, change func() error) error {
	done, err := l.waitUnpinned(ctx)
	if err != nil {
		return err
	}
	defer done()
	err = change()
	l.forgetVariants(names...)
	return err
}
