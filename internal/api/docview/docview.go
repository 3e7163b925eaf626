// Package docview prepares the documents that a project's tools write for display: the
// board of a team, sessions with their waves, and a build. A picture is the data that a
// page shows of a document: flat, short, and independent of the program that wrote the
// document.
//
// Other programs and language models write the documents, so any of them may be
// invalid. There is always a picture: it has the valid parts, status words that are not
// known unchanged, and a list of problems for the parts that cannot be read.
package docview

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"
	"time"

	"gaffer/internal/text/truncate"
	"gaffer/statefile"
	"gaffer/statefile/host"
	"gaffer/statefile/jsontree"
	"gaffer/statefile/timestamp"
)

const (
	maxDocument = 8 << 20         // bytes of a document that is shown
	maxPicture  = 3 << 19         // bytes of a picture
	maxProblems = 50              // maximum number of problems listed
	settleTime  = time.Second     // a file that was changed more recently may still be incomplete
	opRead      = host.Op("look") // read a document
)

// limits is how much of a document is shown.
type limits struct {
	items int // maximum length of a list; the latest items are shown
	text  int // maximum length of a text, in characters
}

// fitToMax returns the most detailed picture that is not larger than maxPicture.
func fitToMax[T any](paint func(limits) T) T {
	var picture T
	for _, l := range []limits{{200, 2000}, {100, 500}, {50, 100}, {20, 40}} {
		picture = paint(l)
		if data, err := json.Marshal(picture); err == nil && len(data) <= maxPicture {
			break
		}
	}
	return picture
}

// cut shortens a text.
func (l limits) cut(text string) string {
	return truncate.Chars(text, l.text)
}

// cutAll shortens a list of texts, and each of them.
func (l limits) cutAll(texts []string) []string {
	list := []string{}
	for _, text := range texts[:min(len(texts), l.items)] {
		list = append(list, l.cut(text))
	}
	return list
}

// last returns the last items of a list.
func last[T any](list []T, most int) []T {
	if list == nil {
		return []T{}
	}
	return list[max(0, len(list)-most):]
}

// document is the last version of a document that could be read.
type document struct {
	value   jsontree.Value
	exists  bool   // the document's file exists, even if it cannot be read
	problem string // why the document cannot be read now
}

// set updates the document from the result of a read. If the new contents cannot be
// read, it keeps the old value and records the problem.
func (d *document) set(data []byte, err error) {
	if err == nil && data == nil || missing(err) {
		*d = document{}
		return
	}
	d.exists, d.problem = true, ""
	if err == nil && len(data) > maxDocument {
		err = &statefile.FormError{Problem: fmt.Sprintf("has %d bytes, more than the %d MiB that are shown", len(data), maxDocument>>20)}
	}
	var doc *jsontree.Doc
	if err == nil {
		doc, err = jsontree.Parse(data)
	}
	if err != nil {
		d.problem = why(err)
		return
	}
	d.value = doc.Value()
}

// ReadDocument reads a document that another program may be writing. It returns nil if the file
// is missing.
func ReadDocument(h host.Host, path string) (data []byte, err error) {
	doc, err := statefile.New(path, statefile.Options{Host: h}).Load()
	if missing(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return doc.Bytes(), nil
}

func missing(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

// why describes what is wrong with a document, without its path.
func why(err error) string {
	if e, ok := errors.AsType[*statefile.CorruptError](err); ok {
		return "not JSON: " + e.Syntax.Error()
	}
	if e, ok := errors.AsType[*statefile.FormError](err); ok {
		return e.Problem
	}
	if e, ok := errors.AsType[*jsontree.SyntaxError](err); ok {
		return "not JSON: " + e.Error()
	}
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return "cannot be read: " + e.Err.Error()
	}
	return "cannot be read: " + err.Error()
}

// problemsOf lists the invalid parts of a document. It leaves out parts that are only
// irregular, because they could be read.
func problemsOf(document string, found []statefile.Finding) []string {
	var list []string
	for _, f := range found {
		if f.Severity != statefile.Invalid {
			continue
		}
		where := document
		if f.At != "" {
			where += ": " + f.At
		}
		if list = append(list, where+": "+f.Text); len(list) == maxProblems {
			break
		}
	}
	return list
}

// parseTime parses a time in any of the formats that programs write. It returns the zero
// time for an invalid time, or one that JSON cannot represent.
func parseTime(text string) time.Time {
	t, err := timestamp.Parse(strings.TrimSpace(text), time.Local)
	if err != nil {
		return time.Time{}
	}
	return representable(t)
}

func representable(t time.Time) time.Time {
	if t = t.UTC(); t.Year() < 1 || t.Year() > 9999 {
		return time.Time{}
	}
	return t
}

// first returns the first of the named members that is a non-empty text or number.
func first(v jsontree.Value, names ...string) string {
	for _, name := range names {
		if m := v.Get(name); !m.Absent() && m.Kind() != jsontree.Object && m.Kind() != jsontree.Array && m.String() != "" {
			return m.String()
		}
	}
	return ""
}

// texts reads a list of strings. It also accepts a single string, and items of other
// types.
func texts(v jsontree.Value) []string {
	list := []string{}
	if text, ok := v.Str(); ok && text != "" {
		return append(list, text)
	}
	for _, item := range v.Items() {
		if text := item.String(); !item.Absent() && text != "" {
			list = append(list, text)
		}
	}
	return list
}
