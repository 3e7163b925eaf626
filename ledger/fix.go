package ledger

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"gaffer/statefile"
	"gaffer/statefile/jsontree"
)

// Outcome is the result of fixing a file.
type Outcome string

// The outcomes.
const (
	Unchanged Outcome = "unchanged" // no field was missing
	Fixed     Outcome = "fixed"
	Refused   Outcome = "refused" // the file cannot be repaired and was not changed
)

// Fix describes what was done with one file.
type Fix struct {
	Path    string   `json:"path"`
	Outcome Outcome  `json:"outcome"`
	Set     []string `json:"set,omitempty"`    // the fields that were added or derived
	Backup  string   `json:"backup,omitempty"` // path of the copy of the old file
	Why     string   `json:"why,omitempty"`    // why the repair was refused
}

// Fix brings every record of the ledger to the full form, as far as the missing
// fields can be derived. It calls each for every record. It skips files that are not
// records.
func (s *Store) Fix(ctx context.Context, each func(Fix) error) error {
	for _, records := range s.folders() {
		if err := s.fixAll(ctx, records, each); err != nil {
			return err
		}
	}
	return nil
}

// FixPath fixes the records of one kind in a folder, or one record.
func (s *Store) FixPath(ctx context.Context, kind Kind, path string, each func(Fix) error) error {
	files, err := s.at(kind, path)
	if err != nil {
		return err
	}
	return s.fixAll(ctx, files, each)
}

func (s *Store) fixAll(ctx context.Context, records folder, each func(Fix) error) error {
	for f, err := range records.files() {
		if err := cmp.Or(err, ctx.Err()); err != nil {
			return err
		}
		fix, err := s.fix(ctx, f)
		if err != nil {
			return fmt.Errorf("fix: %w", err)
		}
		if fix.Outcome == "" {
			continue
		}
		if err := each(fix); err != nil {
			return err
		}
	}
	return nil
}

// fix repairs one file. The backup is durable before the file is replaced. A crash
// therefore leaves the old or the new record, and the old content is kept.
func (s *Store) fix(ctx context.Context, f file) (Fix, error) {
	unlock, err := s.lock(ctx, f.dir)
	if err != nil {
		return Fix{}, err
	}
	defer unlock()
	path := f.path()
	data, err := statefile.ReadBytes(s.host, path)
	if err != nil {
		return Fix{Path: path, Outcome: Refused, Why: unreadableText(err)}, nil
	}
	doc, err := jsontree.Parse(data)
	if err != nil {
		return Fix{Path: path, Outcome: Refused, Why: "not JSON: " + err.Error()}, nil
	}
	if f.isForeign(doc.Value()) {
		return Fix{}, nil
	}
	fix, fixed := f.repaired(doc, s.partnerOf(f, doc.Value()), s.resultFile(f.bead))
	if fix.Outcome != Fixed {
		return fix, nil
	}
	// Other errors of noLink occur again in replace, which reports them.
	if link, ok := errors.AsType[*statefile.FormError](s.noLink(path)); ok {
		return Fix{Path: path, Outcome: Refused, Why: link.Problem}, nil
	}
	old := &document{path: path, data: data}
	if fix.Backup, err = s.backup(old); err != nil {
		return Fix{}, err
	}
	return fix, s.replace(old, fixed)
}

// repaired decides what to do with a record and returns its repaired form. It refuses
// the record unless the repaired form is valid.
func (f file) repaired(doc *jsontree.Doc, partner jsontree.Value, resultFile string) (Fix, []byte) {
	fix := Fix{Path: f.path(), Outcome: Unchanged}
	if doc.Root().Kind() == jsontree.Object {
		r := repair{root: doc.Root(), partner: partner}
		if f.kind == RunKind {
			r.run(resultFile)
		} else {
			r.result(f.attempt > 0)
		}
		fix.Set = r.changed
	}
	c := newCheck(f.kind, fix.Path, false)
	c.record(doc.Value())
	switch {
	case doc.Err() != nil:
		return Fix{Path: fix.Path, Outcome: Refused, Why: doc.Err().Error()}, nil
	case hasInvalid(c.found):
		return Fix{Path: fix.Path, Outcome: Refused, Why: reasons(c)}, nil
	case fix.Set != nil:
		fix.Outcome = Fixed
	}
	return fix, doc.Bytes()
}

// partnerOf returns the record of the other kind for the same attempt, from the
// neighbouring folder. If there is none, or if that record is invalid, the returned
// value is missing.
func (s *Store) partnerOf(f file, v jsontree.Value) jsontree.Value {
	attempt, ok := intOf(v.Get("attempt"))
	if !ok || filepath.Base(f.dir) != f.kind.folder() {
		return jsontree.Value{}
	}
	kind := f.kind.other()
	dir := filepath.Join(filepath.Dir(f.dir), kind.folder())
	for _, name := range []string{f.bead + extension, keptName(f.bead, int(attempt))} {
		parsed, _ := parseName(name)
		r := read(s.host, file{kind, dir, parsed})
		n, ok := intOf(r.value.Get("attempt"))
		if r.name != "" || !ok || n != attempt || r.value.Get("bead").Text() != v.Get("bead").Text() {
			continue
		}
		c := newCheck(kind, "", false)
		if c.record(r.value); !hasInvalid(c.found) {
			return r.value
		}
	}
	return jsontree.Value{}
}

// backup copies a record to <name>.bak, or to the next free name. It never overwrites a
// backup. If a backup has identical content, it uses that one.
func (s *Store) backup(old *document) (string, error) {
	for n := 1; ; n++ {
		name := old.path + ".bak"
		if n > 1 {
			name = fmt.Sprintf("%s-%d", name, n)
		}
		err := s.keep(old.path, name, old.data)
		if err == nil {
			return name, s.sameBytes(name, old)
		}
		if !errors.Is(err, fs.ErrExist) {
			return "", err
		}
	}
}

// String describes the fix for the user.
func (f Fix) String() string {
	switch f.Outcome {
	case Fixed:
		return fmt.Sprintf("%s: set %s; it was kept as %s", f.Path, strings.Join(f.Set, ", "), filepath.Base(f.Backup))
	case Refused:
		return fmt.Sprintf("%s: cannot be repaired: %s", f.Path, f.Why)
	}
	return f.Path + ": nothing to fix"
}
