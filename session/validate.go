package session

import (
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"path/filepath"
	"slices"

	"gaffer/statefile"
	"gaffer/statefile/host"
	"gaffer/statefile/jsontree"
)

// Validate yields a finding for every violation of the protocol of status documents: first those in
// the documents of the sessions, then those of active-session, the link to the active session. If a
// session's document cannot be read, Validate yields a finding and continues with the next session.
func (s *Store) Validate() iter.Seq[statefile.Finding] {
	return func(yield func(statefile.Finding) bool) {
		names, err := s.folders()
		if err != nil {
			yield(unreadable(s.sessions(), err))
			return
		}
		for _, name := range names {
			for _, f := range CheckFile(s.opts.Host, s.status(name)) {
				if !yield(f) {
					return
				}
			}
		}
		for _, f := range s.checkActive() {
			if !yield(f) {
				return
			}
		}
	}
}

// CheckFile returns a finding for every violation of the protocol in the status document at path.
// It also returns a finding if the document's lock is stale. If h is nil, it uses the real machine.
func CheckFile(h host.Host, path string) []statefile.Finding {
	if h == nil {
		h = host.OS()
	}
	data, err := statefile.ReadBytes(h, path)
	if missing(err) {
		return []statefile.Finding{{
			Path: path, Name: "missing-status-file", Severity: statefile.Irregular,
			Text: "the session's folder has no status.json",
		}}
	}
	if err != nil {
		return []statefile.Finding{unreadable(path, err)}
	}
	doc, err := jsontree.Parse(data)
	if err != nil {
		return append(checkLock(h, path), unreadable(path, err))
	}
	return slices.Concat(
		statefile.CheckPortable(path, doc), Check(path, doc.Value()), checkFolder(path, doc.Value()), checkLock(h, path),
	)
}

// checkFolder returns a finding if the session id in a document is not the name of the document's
// folder. It returns none for a document outside a sessions folder, such as a copy.
func checkFolder(path string, v jsontree.Value) []statefile.Finding {
	dir := filepath.Dir(path)
	id, ok := v.Get("session_id").Str()
	if !ok || id == filepath.Base(dir) || filepath.Base(filepath.Dir(dir)) != sessionsName {
		return nil
	}
	return []statefile.Finding{{
		Path: path, At: "session_id", Name: "session-id-mismatch", Severity: statefile.Invalid,
		Text: fmt.Sprintf("%q where the folder's name, %q, should be", shorten(id), filepath.Base(dir)),
	}}
}

// unreadable returns the finding for a file that cannot be read as a document.
func unreadable(path string, err error) statefile.Finding {
	f := statefile.Finding{Path: path, Name: "unreadable", Severity: statefile.Invalid, Text: err.Error()}
	if syntax := (*jsontree.SyntaxError)(nil); errors.As(err, &syntax) {
		f.Name = "not-json"
		f.Text = "not JSON: " + syntax.Error()
	}
	if form := (*statefile.FormError)(nil); errors.As(err, &form) {
		f.Name, f.Text = "not-a-document", form.Problem
	}
	return f
}

func checkLock(h host.Host, path string) []statefile.Finding {
	lock := path + ".lock"
	holder, stale := statefile.StaleLock(h, lock)
	if !stale {
		return nil
	}
	return []statefile.Finding{{
		Path: lock, Name: "stale-lock", Severity: statefile.Irregular,
		Text: holder + " left it behind; the next update breaks it, other programs wait for it without end",
	}}
}

// checkActive returns the findings about active-session, the link to the active session.
func (s *Store) checkActive() []statefile.Finding {
	f := statefile.Finding{Path: s.active(), Severity: statefile.Irregular}
	target, err := s.activeTarget()
	if err != nil {
		return s.noTarget(f, err)
	}
	_, err = s.opts.Host.Stat(opReadActive, filepath.Join(s.active(), statusName))
	switch {
	case missing(err):
		f.Name = "dangling-active-session"
		f.Text = fmt.Sprintf("leads to %s, where no session is", target)
	case filepath.IsAbs(target):
		f.Name = "absolute-active-session"
		f.Text = fmt.Sprintf("leads to %s, which is lost when the project moves; should be relative", target)
	default:
		return nil
	}
	return []statefile.Finding{f}
}

// noTarget handles err, the error of reading the target of active-session, the link to the active
// session. If active-session does not exist, that is no violation, and noTarget returns no finding.
// Otherwise it returns one finding, for example that active-session is not a link. f is a finding
// that already has the path of active-session.
func (s *Store) noTarget(f statefile.Finding, err error) []statefile.Finding {
	if _, statErr := s.opts.Host.Lstat(opReadActive, s.active()); errors.Is(statErr, fs.ErrNotExist) {
		return nil
	}
	if notLink := (*ActiveError)(nil); errors.As(err, &notLink) {
		f.Name, f.Text = "active-session-not-a-link", notLink.Problem
		return []statefile.Finding{f}
	}
	return []statefile.Finding{unreadable(s.active(), err)}
}
