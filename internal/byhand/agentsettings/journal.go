package agentsettings

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"gaffer/statefile"
	"gaffer/statefile/host"
	"gaffer/statefile/jsontree"
)

// record is the journal's entry for one change of a file. It contains what is needed to undo the
// change exactly, if the file has not changed since then. It contains no other text of the file,
// because the file may include secrets.
type record struct {
	After   string   `json:"after"` // SHA-256 of the file's content after the change
	Created bool     `json:"created,omitempty"`
	Folders []string `json:"folders,omitempty"` // parent folders that gaffer has created, innermost first
	Splices []Splice `json:"splices,omitempty"`
	// Replaced holds the values that other programs had written and that gaffer's entries have
	// replaced. Its keys are the paths of these values in the file, joined with dots.
	Replaced map[string][]byte `json:"replaced,omitempty"`
}

// journal stores the records of all settings files in one JSON file. Before gaffer edits a settings
// file, it adds a new record for that file. After the edit, it deletes the file's older records. An
// undo deletes all records of the file.
type journal struct {
	doc  *statefile.File
	host host.Host
	dir  string
}

func openJournal(h host.Host, dir string) journal {
	return journal{statefile.New(filepath.Join(dir, "journal.json"), statefile.Options{Host: h, Empty: []byte("{}")}), h, dir}
}

// read returns the records of a settings file, the oldest first.
func (j journal) read(file string) ([]record, error) {
	doc, err := j.doc.Load()
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	list := doc.Value().Get("files").Get(file)
	if list.Absent() {
		return nil, nil
	}
	var records []record
	if err := json.Unmarshal(list.Raw(), &records); err != nil {
		return nil, &statefile.FormError{Path: j.doc.Path(), Problem: "what it says of " + file + " cannot be read: " + err.Error()}
	}
	return records, nil
}

// folders returns those parent folders of a settings file that gaffer has created, for this file or
// for another one. The innermost folder comes first.
func (j journal) folders(file string) (folders []string, err error) {
	doc, err := j.doc.Load()
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	for name := range doc.Value().Get("files").Members() {
		records, err := j.read(name)
		if err != nil {
			return nil, err
		}
		for _, r := range records {
			for _, folder := range r.Folders {
				if strings.HasPrefix(file, folder+string(filepath.Separator)) && !slices.Contains(folders, folder) {
					folders = append(folders, folder)
				}
			}
		}
	}
	slices.SortFunc(folders, func(a, b string) int { return len(b) - len(a) })
	return folders, nil
}

// write replaces the records of a settings file. An empty list deletes them.
func (j journal) write(ctx context.Context, file string, records []record) error {
	if err := statefile.MkdirAll(j.host, j.dir); err != nil {
		return err
	}
	return j.doc.Update(ctx, func(doc *jsontree.Doc) error {
		files := doc.Root().Object("files")
		if len(records) == 0 {
			files.Delete(file)
		} else {
			files.Set(file, records)
		}
		return nil
	})
}

// recordOf returns the record of the change that has given the file the content data. It returns
// false if there is no such record.
func recordOf(records []record, data []byte) (record, bool) {
	sum := hashOf(data)
	for _, r := range records {
		if r.After == sum {
			return r, true
		}
	}
	return record{}, false
}

// replacedBy returns the values that other programs had written and that the latest change of a
// file has replaced. It returns nil if the change has replaced none.
func replacedBy(records []record) map[string][]byte {
	if len(records) == 0 {
		return nil
	}
	return records[len(records)-1].Replaced
}

func hashOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
