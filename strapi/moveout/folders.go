package moveout

import (
	"crypto/sha256"
	"encoding/hex"
	"path"
	"regexp"
	"strconv"

	"lectern/contenttypes"
	"lectern/jsontree"
	"lectern/store"
	"lectern/strapi/archive"
)

const folderUID = "plugin::upload.folder"

// A folderTree makes the folders of Strapi's media library that the paths of files name, such as /1/4. Lectern keeps
// the paths of moved files, but no folders, so a folder is named after its number.
type folderTree map[string]*folder // by path

type folder struct {
	id       uint64
	children float64 // how many folders are in it
	files    float64 // how many files are in it
}

// folderPath is what the path of a file in a folder looks like: the numbers of the folders that lead to it.
var folderPath = regexp.MustCompile(`^(/[1-9][0-9]{0,8})+$`)

// inFolder writes the folder of a file, unless it was written, and the link that puts the file there.
func (e *exporter) inFolder(t *contenttypes.ContentType, r store.Record) error {
	at, err := textOf(t, r, "folderPath")
	if err != nil || !folderPath.MatchString(at) {
		return err
	}
	f, err := e.folder(at)
	if err != nil {
		return err
	}
	f.files++
	return e.w.WriteLink(archive.Link{
		Kind: "relation.basic", Relation: contenttypes.ManyToOne.String(),
		Left:  archive.End{Type: t.UID, Field: "folder", ID: r.ID()},
		Right: archive.End{Type: folderUID, Field: "files", ID: f.id, Pos: f.files},
	})
}

// folder returns the folder at a path. It writes those folders of the path that were not written before.
func (e *exporter) folder(at string) (*folder, error) {
	if f := e.folders[at]; f != nil || at == "/" {
		return f, nil
	}
	parent, err := e.folder(path.Dir(at))
	if err != nil {
		return nil, err
	}
	f := &folder{id: uint64(len(e.folders) + 1)}
	e.folders[at] = f
	number := path.Base(at)
	name := sha256.Sum256([]byte(at))
	err = e.w.WriteEntity(archive.Entity{Type: folderUID, ID: f.id, Data: jsontree.ObjectOf(
		"documentId", "f"+hex.EncodeToString(name[:])[:23], "name", number, "pathId", jsontree.Number(number), "path",
		at,
		"createdAt", e.now, "updatedAt", e.now, "publishedAt", e.now, "locale", nil,
	)})
	if err != nil || parent == nil {
		return f, err
	}
	parent.children++
	return f, e.w.WriteLink(archive.Link{
		Kind: "relation.circular", Relation: contenttypes.ManyToOne.String(),
		Left:  archive.End{Type: folderUID, Field: "parent", ID: f.id},
		Right: archive.End{Type: folderUID, Field: "children", ID: parent.id, Pos: parent.children},
	})
}

// pathOf returns the folderPath that Strapi requires of every file: / for one in no folder.
func pathOf(raw []byte) []byte {
	if at, err := strconv.Unquote(string(raw)); err == nil && folderPath.MatchString(at) {
		return raw
	}
	return []byte(`"/"`)
}
