package workflow

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"gaffer/statefile"
	"gaffer/statefile/jsontree"
	"gaffer/statefile/timestamp"
)

// Validate lists all violations of the workflow protocol in state.json and inbox.json. A missing
// document has no violations, and a file that is not JSON is a violation. Validate returns an error
// only if a file cannot be read.
func (s *Store) Validate() ([]statefile.Finding, error) {
	var all []statefile.Finding
	for _, d := range []struct {
		file  *statefile.File
		check func(string, jsontree.Value) []statefile.Finding
	}{{s.state, CheckState}, {s.inbox.doc, s.inbox.check}} {
		doc, err := d.file.Load()
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			f, ok := unreadable(d.file.Path(), err)
			if !ok {
				return all, err
			}
			all = append(all, f)
		default:
			all = append(all, statefile.CheckPortable(d.file.Path(), doc)...)
			all = append(all, d.check(d.file.Path(), doc.Value())...)
		}
	}
	return all, nil
}

// unreadable converts err to a finding if err says that a file is not a valid document. It returns
// false for other errors.
func unreadable(path string, err error) (statefile.Finding, bool) {
	f := statefile.Finding{Path: path, Severity: statefile.Invalid}
	if corrupt, ok := errors.AsType[*statefile.CorruptError](err); ok {
		f.Name, f.At = "not-json", fmt.Sprintf("line %d, column %d", corrupt.Syntax.Line, corrupt.Syntax.Column)
		f.Text = corrupt.Syntax.Problem
		return f, true
	}
	if form, ok := errors.AsType[*statefile.FormError](err); ok {
		f.Name, f.Text = "not-a-document", form.Problem
		return f, true
	}
	return f, false
}

// inspection collects the findings about one document: violations of the workflow protocol.
type inspection struct {
	path  string
	found []statefile.Finding
}

func (in *inspection) irregular(name, at, format string, args ...any) {
	in.found = append(in.found, statefile.Finding{
		Path: in.path, At: at, Name: name, Severity: statefile.Irregular, Text: fmt.Sprintf(format, args...),
	})
}

func (in *inspection) invalid(name, at, format string, args ...any) {
	in.irregular(name, at, format, args...)
	in.found[len(in.found)-1].Severity = statefile.Invalid
}

// kind reports whether the root of the document is of the kind want, such as an object. If it is
// not, kind adds a finding. If the document is empty but of another kind, such as [] instead of {},
// the severity of the finding is only Irregular, because gaffer reads such a document as empty.
func (in *inspection) kind(name string, v jsontree.Value, want jsontree.Kind) bool {
	switch {
	case v.Kind() == want:
		return true
	case holdsNothing(v):
		in.irregular(name, "", "the document is %s; %s should be there", v, want)
	default:
		in.invalid(name, "", "the document is %s; %s should be there", v.Kind(), want)
	}
	return false
}

func (in *inspection) mismatches(list []jsontree.Mismatch, prefix string) {
	for _, m := range list {
		in.invalid("wrong-type", prefix+m.Path, "%s where %s should be", m.Found, m.Want)
	}
}

// time adds a finding if value is not a valid time, or if it has a time format that some programs
// cannot read. An empty value is allowed.
func (in *inspection) time(at, value string) {
	if value == "" || timestamp.Strict(value) {
		return
	}
	if _, err := timestamp.Parse(value, time.UTC); err != nil {
		in.invalid("bad-timestamp", at, "%v", err)
		return
	}
	in.irregular("legacy-timestamp", at, "%q should be written as 2026-02-12T15:23:45Z", shorten(value))
}

// describe returns the JSON text of v if it has one line and at most 40 bytes. Otherwise it returns
// the kind of v.
func describe(v jsontree.Value) string {
	if len(v.Raw()) <= 40 && !strings.ContainsRune(string(v.Raw()), '\n') {
		return string(v.Raw())
	}
	return v.Kind().String()
}
