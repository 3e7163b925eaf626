package team

import (
	"errors"
	"fmt"
	"io/fs"
	"time"

	"gaffer/statefile"
	"gaffer/statefile/host"
	"gaffer/statefile/jsontree"
)

// ValidateDocument returns every violation of the protocol in one document. data is the document's
// content. ValidateDocument does not read the file at path, but only names it in the findings.
func ValidateDocument(d Document, path string, data []byte) []statefile.Finding {
	doc, err := jsontree.Parse(data)
	if err != nil {
		return []statefile.Finding{unreadable(path, &statefile.CorruptError{Path: path, Syntax: syntaxErrorOf(err)})}
	}
	return append(statefile.CheckPortable(path, doc), validateValue(d, path, doc.Value(), time.Time{})...)
}

func syntaxErrorOf(err error) *jsontree.SyntaxError {
	syntax := &jsontree.SyntaxError{Problem: err.Error()}
	errors.As(err, &syntax)
	return syntax
}

// validateValue returns every violation of the protocol in v, the content of a document. The
// parameter written is the modification time of the document's file, or zero if it is unknown. If
// it is known, validateValue also reports times in the document that are more than clockSkew later
// than written.
func validateValue(d Document, path string, v jsontree.Value, written time.Time) []statefile.Finding {
	c := &checker{path: path, written: written}
	c.check(v, rules(d), "")
	switch d {
	case OrchestratorDoc:
		c.checkOrder(v, "")
	case GroupStatusDoc:
		for id, group := range v.Members() {
			c.checkOrder(group, id)
			if own, ok := group.Get("group_id").Str(); ok && own != id {
				c.add(statefile.Irregular, join(id, "group_id"), "group-id-differs", "%s, but the group is called %s", shorten(own), shorten(id))
			}
		}
	}
	return c.found
}

// Validate checks the documents in the folder root. It returns violations of the protocol in each
// document, and contradictions between the documents. It changes nothing. If root does not exist,
// it returns an error that wraps fs.ErrNotExist.
func Validate(h host.Host, root string) ([]statefile.Finding, error) {
	s := Open(root, Options{Host: h})
	if _, err := s.opts.Host.Stat(opLook, root); err != nil {
		return nil, err
	}
	f := &folder{store: s, values: map[Document]jsontree.Value{}}
	for _, d := range Documents() {
		f.read(d)
	}
	f.checkMissing()
	f.checkSessions()
	f.checkTimes()
	f.checkGroups()
	f.checkMessages()
	f.checkCopies()
	f.checkChange()
	return f.found, nil
}

// folder holds the content of all documents in a team's folder, and collects the findings while
// they are validated.
type folder struct {
	store  *Store
	values map[Document]jsontree.Value // content of each document that is JSON
	absent []Document
	found  []statefile.Finding
}

func (f *folder) add(d Document, severity statefile.Severity, at, name, format string, args ...any) {
	c := checker{path: f.store.path(d)}
	c.add(severity, at, name, format, args...)
	f.found = append(f.found, c.found...)
}

func (f *folder) read(d Document) {
	path := f.store.path(d)
	doc, err := f.store.files[d].Load()
	switch {
	case errors.Is(err, fs.ErrNotExist):
		f.absent = append(f.absent, d)
	case err != nil:
		f.found = append(f.found, unreadable(path, err))
	default:
		f.values[d] = doc.Value()
		f.found = append(f.found, statefile.CheckPortable(path, doc)...)
		f.found = append(f.found, validateValue(d, path, doc.Value(), f.written(path))...)
	}
}

// unreadable returns the finding for a document that could not be read. err is the reason: the file
// is not JSON, it is not a regular file, or reading it failed.
func unreadable(path string, err error) statefile.Finding {
	f := statefile.Finding{Path: path, Name: "unreadable", Severity: statefile.Invalid, Text: err.Error()}
	var corrupt *statefile.CorruptError
	var form *statefile.FormError
	switch {
	case errors.As(err, &corrupt):
		f.Name, f.Text = "corrupt", "not JSON: "+corrupt.Syntax.Error()
	case errors.As(err, &form):
		f.Name, f.Text = "not-a-document", form.Problem
	}
	return f
}

func (f *folder) checkMissing() {
	if len(f.absent) == len(Documents()) {
		return
	}
	for _, d := range f.absent {
		f.add(d, statefile.Irregular, "", "file-missing", "the session has no such document")
	}
}

// checkSessions adds a finding if the state files belong to different sessions. The protocol
// defines no session id for group_status.json, but some programs write one.
func (f *folder) checkSessions() {
	first := ""
	for _, d := range []Document{PMStateDoc, OrchestratorDoc, GroupStatusDoc} {
		id, ok := f.values[d].Get("session_id").Str()
		switch {
		case !ok:
		case first == "":
			first = id
		case id != first:
			f.add(d, statefile.Invalid, "session_id", "session-id-differs", "%s, but another state file says %s", shorten(id), shorten(first))
		}
	}
}

// groupIDs returns the ids of the groups of tasks in the plan and in group_status.json.
func (f *folder) groupIDs() map[string]bool {
	var st state
	jsontree.Decode(f.values[PMStateDoc], &st.pm)
	jsontree.Decode(f.values[GroupStatusDoc], &st.groups)
	ids := map[string]bool{}
	for _, g := range allGroups(st.pm, st.groups) {
		ids[g.ID] = true
	}
	return ids
}

// checkGroups adds findings for references to groups that do not exist. It adds none if the session
// has no groups yet.
func (f *folder) checkGroups() {
	ids := f.groupIDs()
	refer := func(d Document, at, id string) {
		if len(ids) > 0 && id != "" && !ids[id] {
			f.add(d, statefile.Irregular, at, "unknown-group", "there is no group %s", shorten(id))
		}
	}
	var pm PMState
	jsontree.Decode(f.values[PMStateDoc], &pm)
	for i, p := range pm.ExecutionPhases {
		for _, id := range p.GroupIDs {
			refer(PMStateDoc, fmt.Sprintf("execution_phases[%d]", i), id)
		}
	}
	for i, g := range pm.TaskGroups {
		for _, id := range g.DependsOn {
			refer(PMStateDoc, fmt.Sprintf("task_groups[%d].depends_on", i), id)
		}
	}
	for _, c := range channels {
		for i, m := range f.values[c.doc].Get("messages").Items() {
			refer(c.doc, fmt.Sprintf("messages[%d].group_id", i), m.Get("group_id").Text())
		}
	}
}

// checkMessages adds a finding for each message that has the same id as an earlier one. Such ids
// are a problem when one of the messages is acknowledged: if both are in the same document, both
// are marked as read; if not, the receiver must be named.
func (f *folder) checkMessages() {
	seen := map[string]bool{}
	for _, c := range channels {
		for i, m := range f.values[c.doc].Get("messages").Items() {
			id := m.Get("id").Text()
			if id != "" && seen[id] {
				f.add(c.doc, statefile.Irregular, fmt.Sprintf("messages[%d].id", i), "duplicate-id", "another message is called %s too", shorten(id))
			}
			seen[id] = true
		}
	}
}

// checkChange adds a finding if archiving or creating a session was interrupted. The file with the
// plan of this change then still exists.
func (f *folder) checkChange() {
	path := f.store.changePath()
	if begun, err := f.store.exists(path); err == nil && begun {
		f.found = append(f.found, statefile.Finding{
			Path: path, Name: "unfinished-change", Severity: statefile.Irregular,
			Text: "archiving or starting a session was interrupted; the next command that reads or writes it completes that",
		})
	}
}
