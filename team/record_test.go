package team

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"gaffer/statefile"
	"gaffer/statefile/host"
	"gaffer/statefile/jsontree"
)

// seedContents returns the contents of the example documents in the protocol's specification, the
// seed.
func seedContents(t testing.TB) Contents {
	t.Helper()
	var p Contents
	for d, into := range map[Document]any{PMStateDoc: &p.PM, GroupStatusDoc: &p.Groups, OrchestratorDoc: &p.Orchestrator} {
		jsontree.Decode(parse(t, seed(t, d)), into)
	}
	for _, c := range channels {
		for _, item := range parse(t, seed(t, c.doc)).Get("messages").Items() {
			p.Messages = append(p.Messages, c.message(item))
		}
	}
	return p
}

func parse(t testing.TB, data []byte) jsontree.Value {
	t.Helper()
	doc, err := jsontree.Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	return doc.Value()
}

func record(t *testing.T, s *Store, p Contents) {
	t.Helper()
	if err := s.Record(ctx, p); err != nil {
		t.Fatal(err)
	}
}

// file is the text of a document and its file information.
type file struct {
	info os.FileInfo
	text string
}

func files(t *testing.T, root string) map[Document]file {
	t.Helper()
	all := map[Document]file{}
	for _, d := range Documents() {
		info, err := os.Stat(filepath.Join(root, d.Path()))
		if err != nil {
			t.Fatal(err)
		}
		all[d] = file{info, string(readFile(t, filepath.Join(root, d.Path())))}
	}
	return all
}

// sameFiles checks that no document was written again, not even with the same content.
func sameFiles(t *testing.T, before, after map[Document]file) {
	t.Helper()
	for d, was := range before {
		is := after[d]
		if !os.SameFile(was.info, is.info) || !was.info.ModTime().Equal(is.info.ModTime()) {
			t.Errorf("%s was written", d)
		}
		if diff := cmp.Diff(was.text, is.text); diff != "" {
			t.Errorf("%s changed:\n%s", d, diff)
		}
	}
}

func TestRecordingWhatTheDocumentsSayAlreadyWritesNothing(t *testing.T) {
	root := seedFolder(t)
	before := files(t, root)
	record(t, openAt(t, root, noon), seedContents(t))
	sameFiles(t, before, files(t, root))
}

func TestRecordCreatesMissingDocuments(t *testing.T) {
	p := seedContents(t)
	wanted, err := p.documents()
	if err != nil {
		t.Fatal(err)
	}
	for _, missing := range append(Documents(), "all") {
		root := filepath.Join(t.TempDir(), "project", "coordination")
		s := openAt(t, root, noon)
		if missing != "all" {
			record(t, s, p)
			if err := os.Remove(s.path(missing)); err != nil {
				t.Fatal(err)
			}
		}
		record(t, s, p)
		for d, v := range wanted {
			want, err := newDocument(v)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), string(readFile(t, s.path(d)))); diff != "" {
				t.Errorf("without %s, %s:\n%s", missing, d, diff)
			}
		}
		for _, f := range validate(t, root) {
			t.Error(f)
		}
		before := files(t, root)
		record(t, openAt(t, root, noon.Add(time.Hour)), p)
		sameFiles(t, before, files(t, root))
	}
}

func TestASessionBeforeItsPlanValidatesWithItsNulls(t *testing.T) {
	s := openAt(t, filepath.Join(t.TempDir(), "coordination"), noon)
	record(t, s, Contents{
		PM: PMState{SessionID: "v4_x", OriginalRequirements: "r", Iteration: 1, LastUpdate: At(noon)},
		Orchestrator: OrchestratorState{
			SessionID: "v4_x", CurrentPhase: PMPlanning, Status: SessionRunning, StartTime: At(noon), LastUpdate: At(noon),
		},
	})
	for _, f := range validate(t, s.Root()) {
		t.Error(f)
	}
	if text := string(readFile(t, s.path(PMStateDoc))); !strings.Contains(text, `"mode": null`) || !strings.Contains(text, `"iteration": 1`) {
		t.Error(text)
	}
	if text := string(readFile(t, s.path(OrchestratorDoc))); !strings.Contains(text, `"end_time": null`) {
		t.Error(text)
	}
}

// next returns the contents of the seed's session at a later time.
func next(t testing.TB) Contents {
	p := seedContents(t)
	p.PM.Iteration, p.PM.LastUpdate = 13, At(noon)
	p.PM.AllTasks[3].Status, p.PM.TaskGroups[2].Status = WorkComplete, WorkComplete
	p.PM.ExecutionPhases[1].Status, p.PM.EstimatedRemaining = WorkComplete, nil
	p.Groups[0].Iterations.Developer++
	p.Groups[0].TestResults.UnitTests.Total++
	p.Groups = append(p.Groups, Group{ID: "C", Status: DevWorking, CurrentAgent: Developer, LastUpdate: At(noon)})
	p.Orchestrator.ActiveAgents = List[ActiveAgent]{{Developer, "C", At(noon)}}
	p.Orchestrator.DecisionsLog = append(p.Orchestrator.DecisionsLog, LogEntry{16, "spawn_developer_group_C", "so", At(noon)})
	p.Messages[0].Subject = "Again"
	p.Messages = append(p.Messages, Message{"msg_new", "C", Developer, QAExpert, At(noon), "S", &Handoff{Status: "READY_FOR_QA"}, false})
	return p
}

// wrecks lists ways to make a document unusable. Each returns how the copy that gaffer must keep
// begins, or "" if gaffer keeps no copy.
var wrecks = map[string]func(path string) (kept string, err error){
	"not JSON": func(path string) (string, error) { return "hello", os.WriteFile(path, []byte("hello"), 0o644) },
	"empty":    func(path string) (string, error) { return "", os.WriteFile(path, nil, 0o644) },
	"binary": func(path string) (string, error) {
		return "\x00\xff\x00", os.WriteFile(path, []byte("\x00\xff\x00"), 0o644)
	},
	"truncated": func(path string) (string, error) {
		return `{"session_id": "v4_2`, os.WriteFile(path, []byte(`{"session_id": "v4_2`), 0o644)
	},
	"too deep": func(path string) (string, error) {
		return "[[[", os.WriteFile(path, []byte(strings.Repeat("[", 5000)), 0o644)
	},
	"an array": func(path string) (string, error) { return "[1]", os.WriteFile(path, []byte("[1]"), 0o644) },
	"null":     func(path string) (string, error) { return "null", os.WriteFile(path, []byte("null"), 0o644) },
	"huge": func(path string) (string, error) {
		return "", errors.Join(os.WriteFile(path, nil, 0o644), os.Truncate(path, 65<<20))
	},
	"a folder":    func(path string) (string, error) { return "", os.MkdirAll(filepath.Join(path, "inside"), 0o755) },
	"a pipe":      func(path string) (string, error) { return "", syscall.Mkfifo(path, 0o644) },
	"a dead link": func(path string) (string, error) { return "", os.Symlink("nowhere", path) },
	"a circle":    func(path string) (string, error) { return "", os.Symlink(filepath.Base(path), path) },
}

func TestAnUnreadableDocumentIsMovedAsideAndReplaced(t *testing.T) {
	p := seedContents(t)
	for name, wreck := range wrecks {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := filepath.Join(t.TempDir(), "coordination")
			var notices []statefile.Notice
			s := Open(root, Options{Notice: func(n statefile.Notice) { notices = append(notices, n) }})
			record(t, s, p)
			before := files(t, root)
			for _, d := range Documents() {
				notices = nil
				if err := os.Remove(s.path(d)); err != nil {
					t.Fatal(err)
				}
				text, err := wreck(s.path(d))
				if err != nil {
					t.Fatal(err)
				}
				age(t, s.path(d))
				record(t, s, p)
				if got := string(readFile(t, s.path(d))); got != before[d].text {
					t.Errorf("%s: %s", d, got)
				}
				checkKept(t, s.path(d), text, notices)
			}
			for _, f := range validate(t, root) {
				t.Error(f)
			}
		})
	}
}

// age sets an old modification time, so that statefile does not take the file for one that is being
// written.
func age(t *testing.T, path string) {
	t.Helper()
	if info, err := os.Lstat(path); err != nil || !info.Mode().IsRegular() {
		return
	}
	old := time.Now().Add(-time.Hour)
	if err := os.Chtimes(path, old, old); err != nil {
		t.Fatal(err)
	}
}

func checkKept(t *testing.T, path, text string, notices []statefile.Notice) {
	t.Helper()
	kept, err := filepath.Glob(path + ".corrupt-*")
	if err != nil || len(kept) != 1 || len(notices) != 1 {
		t.Fatalf("kept %v, notices %v (%v)", kept, notices, err)
	}
	if n := notices[0]; n.Kind != statefile.CorruptKept || !strings.Contains(n.Text, kept[0]) {
		t.Error(n)
	}
	if text != "" && !strings.HasPrefix(string(readFile(t, kept[0])), text) {
		t.Errorf("%s has not what was there", kept[0])
	}
}

func TestALinkIsNotFollowed(t *testing.T) {
	root := seedFolder(t)
	s := openAt(t, root, noon)
	mine := filepath.Join(t.TempDir(), "mine.json")
	if err := os.WriteFile(mine, []byte(`{"mine": true}`), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Remove(s.path(PMStateDoc)), os.Symlink(mine, s.path(PMStateDoc))); err != nil {
		t.Fatal(err)
	}
	record(t, s, seedContents(t))
	if got := string(readFile(t, mine)); got != `{"mine": true}` {
		t.Errorf("the user's file is now %s", got)
	}
	if got := resume(t, s).PM.Iteration; got != 12 {
		t.Error(got)
	}
}

func TestALinkedMessagesFolderIsNotFollowed(t *testing.T) {
	for _, theirs := range []string{`{"messages": [], "mine": 1}`, `[1]`} {
		root, mine := seedFolder(t), t.TempDir()
		folder := filepath.Join(root, messagesFolder)
		elsewhere := filepath.Join(mine, filepath.Base(DevToQADoc.Path()))
		err := errors.Join(os.RemoveAll(folder), os.Symlink(mine, folder), os.WriteFile(elsewhere, []byte(theirs), 0o644))
		if err != nil {
			t.Fatal(err)
		}
		var notices []statefile.Notice
		s := Open(root, Options{Notice: func(n statefile.Notice) { notices = append(notices, n) }})
		record(t, s, seedContents(t))
		if got := string(readFile(t, elsewhere)); got != theirs {
			t.Errorf("the user's file is now %s", got)
		}
		checkKept(t, folder, "", notices)
		if all, err := s.Messages(ctx, Filter{}); err != nil || len(all) != 3 {
			t.Errorf("%d messages, %v", len(all), err)
		}
	}
}

func TestMessagesThatAreNoListAreMovedAside(t *testing.T) {
	root := seedFolder(t)
	var notices []statefile.Notice
	s := Open(root, Options{Notice: func(n statefile.Notice) { notices = append(notices, n) }})
	const theirs = `{"messages": {"m1": {"id": "other"}}}`
	put(t, root, TechLeadToDevDoc, []byte(theirs))
	record(t, s, seedContents(t))
	checkKept(t, s.path(TechLeadToDevDoc), theirs, notices)
}

func TestAFileInPlaceOfTheMessagesFolderIsMovedAside(t *testing.T) {
	for name, wreck := range wrecks {
		if name == "a folder" {
			continue
		}
		root := seedFolder(t)
		folder := filepath.Join(root, messagesFolder)
		if err := os.RemoveAll(folder); err != nil {
			t.Fatal(err)
		}
		if _, err := wreck(folder); err != nil {
			t.Fatal(err)
		}
		var notices []statefile.Notice
		s := Open(root, Options{Notice: func(n statefile.Notice) { notices = append(notices, n) }})
		if err := s.Record(ctx, seedContents(t)); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		checkKept(t, folder, "", notices)
		for _, f := range validate(t, root) {
			t.Error(name, f)
		}
	}
}

func TestAnotherSessionIsNotChanged(t *testing.T) {
	root := seedFolder(t)
	if err := os.Remove(filepath.Join(root, GroupStatusDoc.Path())); err != nil {
		t.Fatal(err)
	}
	put(t, root, GroupStatusDoc, []byte("{half"))
	age(t, filepath.Join(root, GroupStatusDoc.Path()))
	before := files(t, root)
	p := next(t)
	p.PM.SessionID, p.Orchestrator.SessionID = "v4_mine", "v4_mine"
	err := openAt(t, root, noon).Record(ctx, p)
	var other *OtherSessionError
	if !errors.As(err, &other) || other.Found != "v4_20250106_100000" || !other.Conflict() || !strings.Contains(other.Hint(), "archive") {
		t.Fatal(err)
	}
	sameFiles(t, before, files(t, root))
	if kept, _ := filepath.Glob(filepath.Join(root, "*.corrupt-*")); len(kept) > 0 {
		t.Error(kept)
	}
}

func TestADocumentWithAnotherSessionIDIsReplaced(t *testing.T) {
	for _, d := range []Document{PMStateDoc, OrchestratorDoc} {
		root := seedFolder(t)
		var notices []statefile.Notice
		s := Open(root, Options{Notice: func(n statefile.Notice) { notices = append(notices, n) }})
		renamed := strings.Replace(string(seed(t, d)), "v4_20250106_100000", "v4_better", 1)
		put(t, root, d, []byte(renamed))
		record(t, s, seedContents(t))
		checkKept(t, s.path(d), renamed, notices)
		for _, f := range validate(t, root) {
			t.Error(f)
		}
	}
}

func TestInvalidContentsAreRefused(t *testing.T) {
	for want, spoil := range map[string]func(*Contents){
		"of session":  func(p *Contents) { p.Orchestrator.SessionID = "v4_other" },
		`session ""`:  func(p *Contents) { p.PM.SessionID, p.Orchestrator.SessionID = "", "" },
		"no id":       func(p *Contents) { p.Messages[0].ID = "" },
		"no messages": func(p *Contents) { p.Messages[0].To = PM },
	} {
		root := seedFolder(t)
		before := files(t, root)
		p := next(t)
		spoil(&p)
		if err := openAt(t, root, noon).Record(ctx, p); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
		sameFiles(t, before, files(t, root))
	}
}

func TestReadersAndSendersBesideARecordingSeeValidDocumentsAndLoseNothing(t *testing.T) {
	root := seedFolder(t)
	pictures := []Contents{seedContents(t), next(t)}
	const senders, each, rounds = 8, 4, 12
	stop := make(chan struct{})
	var writers, readers sync.WaitGroup
	writers.Go(func() {
		s := Open(root, Options{})
		for i := range rounds {
			if err := s.Record(ctx, pictures[i%2]); err != nil {
				t.Error(err)
			}
		}
	})
	for range senders {
		other := Open(root, Options{})
		writers.Go(func() {
			for range each {
				if _, err := other.Send(ctx, Draft{Group: "A", From: Developer, To: QAExpert, Subject: "S"}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for _, d := range Documents() {
		readers.Go(func() { readUntil(t, stop, d, filepath.Join(root, d.Path())) })
	}
	writers.Wait()
	close(stop)
	readers.Wait()
	s := Open(root, Options{})
	record(t, s, pictures[1])
	all, err := s.Messages(ctx, Filter{To: QAExpert})
	if err != nil || len(all) != senders*each+2 {
		t.Fatal(len(all), err)
	}
	for _, f := range validate(t, root) {
		if f.Severity == statefile.Invalid || f.Name == "duplicate-id" {
			t.Error(f)
		}
	}
}

// readUntil reads and checks a document repeatedly, without a lock, until stop is
// closed.
func readUntil(t *testing.T, stop <-chan struct{}, d Document, path string) {
	for {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Error(err)
			return
		}
		if found := ValidateDocument(d, path, data); len(found) > 0 {
			t.Error(found)
			return
		}
		select {
		case <-stop:
			return
		case <-time.After(time.Millisecond):
		}
	}
}

func TestAMessageThatWasReadStaysRead(t *testing.T) {
	s, p := Open(t.TempDir(), Options{}), seedContents(t)
	for i := range p.Messages {
		p.Messages[i].Read = false
	}
	record(t, s, p)
	read := p.Messages[0]
	if err := s.Acknowledge(ctx, read.ID, read.To); err != nil {
		t.Fatal(err)
	}
	record(t, s, p)
	unread, err := s.Messages(ctx, Filter{Unread: true})
	if err != nil || len(unread) != len(p.Messages)-1 {
		t.Errorf("%d of %d messages are unread, %v", len(unread), len(p.Messages), err)
	}
}

func TestAMessageThatWasSentDoesNotChangeWhenItsGroupsWorkGoesOn(t *testing.T) {
	s := Open(t.TempDir(), Options{})
	with := func(n int) Contents {
		p := seedContents(t)
		files, commits := []string{"a.go", "b.go"}[:n], []string{"abc1234 - a", "def5678 - b"}[:n]
		for i, m := range p.Messages {
			p.Messages[i].Read = n > 1
			switch body := m.Body.(type) {
			case *Handoff:
				body.Context.FilesModified, body.Context.Commits = files, commits
			case *TestReport:
				body.DeveloperContext.FilesModified = files
			}
		}
		return p
	}
	record(t, s, with(1))
	record(t, s, with(2))
	messages, err := s.Messages(ctx, Filter{})
	if err != nil || len(messages) != 3 {
		t.Fatalf("%d messages, %v", len(messages), err)
	}
	for _, m := range messages {
		if !m.Read {
			t.Errorf("%s is not marked as read", m.ID)
		}
		switch body := m.Body.(type) {
		case *Handoff:
			if c := body.Context; len(c.FilesModified) != 1 || len(c.Commits) != 1 {
				t.Errorf("the handoff has now %v and %v", c.FilesModified, c.Commits)
			}
		case *TestReport:
			if c := body.DeveloperContext; len(c.FilesModified) != 1 {
				t.Errorf("the report has now %v", c.FilesModified)
			}
		}
	}
}

func TestAListThatBecomesEmptyIsNeverNull(t *testing.T) {
	s, p := Open(t.TempDir(), Options{}), seedContents(t)
	record(t, s, p)
	p.Orchestrator.ActiveAgents, p.PM.PendingGroups, p.PM.ExecutionPhases = nil, nil, nil
	for i := range p.Groups {
		p.Groups[i].TechLeadFeedback = nil
	}
	record(t, s, p)
	found, err := Validate(host.OS(), s.Root())
	for _, f := range found {
		if f.Severity == statefile.Invalid && strings.Contains(f.Text, "null") {
			t.Errorf("%s: %s", f.At, f.Text)
		}
	}
	if err != nil {
		t.Error(err)
	}
}
