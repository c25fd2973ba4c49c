package answers

import (
	"encoding/json"
	"fmt"
)

// A File was uploaded before the first operation.
type File struct {
	ID         float64
	DocumentID string
	Fields     map[string]any
}

// An Attached is the value of a media attribute: the numbers of files, in order.
type Attached struct{ Files []int }

// fileSchema lists the attributes of files that queries use.
var fileSchema = &Schema{UID: "plugin::upload.file", Attributes: []*Attribute{
	{Name: "documentId", Type: "documentId", System: true}, {Name: "name", Type: "string", Required: true},
	{Name: "ext", Type: "string"}, {Name: "mime", Type: "string", Required: true}, {Name: "caption", Type: "string"},
}}

// fileNames are the names of the files. They contain words that queries search for.
var fileNames = []string{"alpha.txt", "Zed.txt", "Beta inn.txt", "12.txt"}

// files returns the files in a media attribute of a row.
func (w *World) files(r *Row, a *Attribute) []*File {
	var list []*File
	if v, ok := r.Fields[a.Name].(*Attached); ok {
		for _, n := range v.Files {
			list = append(list, w.Files[n])
		}
	}
	return list
}

func (f *File) value(name string) any {
	switch name {
	case "id":
		return f.ID
	case "documentId":
		return f.DocumentID
	}
	return f.Fields[name]
}

// shown returns a file as REST shows it when a query selects only its name.
func (f *File) shown() map[string]any {
	return map[string]any{"id": f.ID, "documentId": f.DocumentID, "name": f.Fields["name"]}
}

// attached returns the value of a media attribute in the body of a write.
func (w *World) attached(a *Attribute, v *Attached) any {
	list := []any{}
	for _, n := range v.Files {
		list = append(list, int64(w.Files[n].ID))
	}
	if !a.Multiple {
		return list[0]
	}
	return list
}

// upload uploads the files.
func (r *Run) upload() error {
	for _, name := range fileNames {
		status, data, err := r.server.Upload(name, []byte("The text of "+name+".\n"))
		if err != nil {
			return err
		}
		var made []struct {
			ID         float64
			DocumentID string
		}
		var fields []map[string]any
		if err := json.Unmarshal(data, &made); err != nil || len(made) != 1 {
			return fmt.Errorf("upload of %s: %d %s", name, status, data)
		}
		if err := json.Unmarshal(data, &fields); err != nil {
			return err
		}
		r.world.Files = append(r.world.Files, &File{made[0].ID, made[0].DocumentID, fields[0]})
	}
	return nil
}
