// Package docview converts documents of a project to data that pages can show. The data of one page
// is called a picture. There are pictures of a team of agents, of sessions with their waves of
// agents, and of a build. A picture is short, and its form does not depend on the program that
// wrote the document.
//
// Other programs and language models write the documents, so a document may be invalid. Its picture
// then contains the parts that can be read, with unknown status words unchanged, and a list of
// problems with the other parts.
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
	maxDocument = 8 << 20         // maximum length of a document that is shown, in bytes
	maxPicture  = 3 << 19         // maximum length of a picture as JSON, in bytes
	maxProblems = 50              // maximum number of problems listed
	settleTime  = time.Second     // a file that changed within this time may still be incomplete
	opRead      = host.Op("look") // name of the operation in all calls of host.Host
)

// limits says how much of a document a picture shows.
type limits struct {
	items int // maximum number of items of a list
	text  int // maximum length of a text, in characters
}

// fitToMax calls paint with smaller and smaller limits, until the JSON of the picture is not longer
// than maxPicture. If even the smallest limits are not enough, it returns the last picture.
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

// cut shortens a text to at most l.text characters.
func (l limits) cut(text string) string {
	return truncate.Chars(text, l.text)
}

// cutAll returns the first l.items elements of texts, or all if there are fewer. It shortens each
// to at most l.text characters.
func (l limits) cutAll(texts []string) []string {
	list := []string{}
	for _, text := range texts[:min(len(texts), l.items)] {
		list = append(list, l.cut(text))
	}
	return list
}

// last returns the last n items of a list, or all if it has fewer. The result is never nil.
func last[T any](list []T, n int) []T {
	if list == nil {
		return []T{}
	}
	return list[max(0, len(list)-n):]
}

// document is a JSON document as it was at the last successful read.
type document struct {
	value   jsontree.Value
	exists  bool   // the file exists, even if it cannot be read
	problem string // why the last read failed; empty if it succeeded
}

// set stores the result of reading the document. If the file is missing, set deletes the old value.
// If the read failed, set keeps the old value and stores the reason in the field problem.
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

// ReadDocument reads a document that another program may be writing at the same time. It returns
// nil if the file does not exist.
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

// why returns the text of an error from reading a document, without the document's path.
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

// problemsOf describes the findings with the severity Invalid, at most maxProblems of them.
// Findings are violations of the document's format. It leaves out other findings, because gaffer
// understands those parts of the document.
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

// parseTime parses a time in any of the formats that package timestamp accepts. It returns the zero
// time if the text is invalid, or if JSON cannot represent the time.
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

// first returns the first usable member of the object v as text. It tries the given names in their
// order. It skips members that are missing, null, empty, an object or a list. It returns "" if
// there is no usable member.
func first(v jsontree.Value, names ...string) string {
	for _, name := range names {
		if m := v.Get(name); !m.Absent() && m.Kind() != jsontree.Object && m.Kind() != jsontree.Array && m.String() != "" {
			return m.String()
		}
	}
	return ""
}

// texts returns the items of a JSON list as strings. It accepts a single string as a list of one
// item. It leaves out empty strings.
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
