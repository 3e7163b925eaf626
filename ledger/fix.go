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

// Outcome says what [Store.Fix] did with a file.
type Outcome string

// The outcomes of [Store.Fix] for a file.
const (
	Unchanged Outcome = "unchanged" // nothing to repair
	Fixed     Outcome = "fixed"
	Refused   Outcome = "refused" // the file cannot be repaired and was not changed
)

// Fix describes what was done with one file.
type Fix struct {
	Path    string   `json:"path"`
	Outcome Outcome  `json:"outcome"`
	Set     []string `json:"set,omitempty"`    // names of the fields that were added or corrected
	Backup  string   `json:"backup,omitempty"` // path of the copy of the old file; empty if the file was not changed
	Why     string   `json:"why,omitempty"`    // why the file was refused; empty if it was not refused
}

// Fix repairs every record of the ledger. It adds missing fields whose values can be derived from
// other data, so that the record has the full form. If a run record lacks the end of its attempt,
// but the attempt has a result record, Fix copies the end from there. Fix calls visit for every
// record, and skips files that are not records. It stops at the first error that visit returns.
func (s *Store) Fix(ctx context.Context, visit func(Fix) error) error {
	for _, records := range s.folders() {
		if err := s.fixAll(ctx, records, visit); err != nil {
			return err
		}
	}
	return nil
}

// FixPath fixes the records of one kind at path, which is a folder or a single record. It calls
// visit for every record.
func (s *Store) FixPath(ctx context.Context, kind Kind, path string, visit func(Fix) error) error {
	files, err := s.at(kind, path)
	if err != nil {
		return err
	}
	return s.fixAll(ctx, files, visit)
}

func (s *Store) fixAll(ctx context.Context, records folder, visit func(Fix) error) error {
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
		if err := visit(fix); err != nil {
			return err
		}
	}
	return nil
}

// fix repairs one file. It returns the zero Fix if the file holds the results of checks instead of
// a record. Before fix replaces the file, it makes a backup and syncs it to disk. So after a crash
// the file contains the old or the new record, and the old content still exists.
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
	if f.isCheckResult(doc.Value()) {
		return Fix{}, nil
	}
	fix, fixed := f.repaired(doc, s.partnerOf(f, doc.Value()), s.resultFile(f.bead))
	if fix.Outcome != Fixed {
		return fix, nil
	}
	// If the file is a symbolic link, do not repair it. Ignore other errors of checkRegular:
	// replace calls it again and returns them.
	if link, ok := errors.AsType[*statefile.FormError](s.checkRegular(path)); ok {
		return Fix{Path: path, Outcome: Refused, Why: link.Problem}, nil
	}
	old := &document{path: path, data: data}
	if fix.Backup, err = s.backup(old); err != nil {
		return Fix{}, err
	}
	return fix, s.replace(old, fixed)
}

// repaired repairs the record doc of the file f. It returns what was repaired, and the text of the
// repaired record. If the record would still be invalid, the outcome is Refused and the text is
// nil.
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

// partnerOf returns the other record of the same attempt, from the folder of the other kind: the
// result of a run, or the run of a result. v is the record in the file f. partnerOf returns the
// zero Value if the other record is missing or invalid, or if f is not in a folder of a ledger.
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

// backup gives the file of a record a second name: <name>.bak or, if that file exists, <name>.bak-2
// and so on. It returns the path of this backup. It never overwrites an existing backup, but uses
// one that already has the same content. It returns an error if the record was changed since it was
// read.
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

// String says what was done with the file, for the user.
func (f Fix) String() string {
	switch f.Outcome {
	case Fixed:
		return fmt.Sprintf("%s: set %s; it was kept as %s", f.Path, strings.Join(f.Set, ", "), filepath.Base(f.Backup))
	case Refused:
		return fmt.Sprintf("%s: cannot be repaired: %s", f.Path, f.Why)
	}
	return f.Path + ": nothing to fix"
}
