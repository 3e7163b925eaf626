package session_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"gaffer/session"
	"gaffer/statefile"
	"gaffer/statefile/host"
	"gaffer/statefile/host/hosttest"
	"gaffer/statefile/jsontree"
)

const recordedID = "20260201-143022-0000000f"

// threeTrue returns the state of a session with three agents in two waves.
func threeTrue() *session.Status {
	one, two := 1, 2
	return &session.Status{
		Source: "orchestrate", SourceFile: "plan.yaml", StartedAt: session.Time{Time: start().now}, Status: session.Running,
		Agents: []session.Agent{
			{ID: "001", Name: "schema", PromptPath: "p/1.md", Status: session.Queued, Wave: &one, Model: "claude"},
			{ID: "002", Name: "writer", Status: session.Queued, Wave: &one, Model: "codex"},
			{ID: "003", Name: "table", Status: session.Queued, Wave: &two, Model: "claude"},
		},
		Waves: []session.Wave{{Wave: 1, Agents: []string{"001", "002"}}, {Wave: 2, Agents: []string{"003"}}},
	}
}

func run(is *session.Status, agent, pid int, at time.Time) {
	a := &is.Agents[agent]
	a.Status, a.PID, a.StartedAt = session.Running, &pid, session.Time{Time: at}
}

func done(is *session.Status, agent int, at time.Time) {
	a, seconds, exit := &is.Agents[agent], 5.0, 0
	a.Status, a.PID, a.CompletedAt, a.DurationSeconds, a.ExitCode = session.Complete, nil, session.Time{Time: at}, &seconds, &exit
}

// recording is a Recording and the state that it writes.
type recording struct {
	*session.Recording
	t  *testing.T
	s  *session.Store
	is *session.Status
}

func record(t *testing.T, s *session.Store) recording {
	r, err := s.Recording(recordedID)
	must(t, err)
	t.Cleanup(r.Close)
	return recording{r, t, s, threeTrue()}
}

func (r recording) write(changed ...int) {
	r.t.Helper()
	must(r.t, r.Write(r.t.Context(), r.contents(changed...)))
}

func (r recording) contents(changed ...int) func() (session.Contents, error) {
	return func() (session.Contents, error) { return session.Contents{Status: r.is, Changed: changed}, nil }
}

func (r recording) valid() {
	r.t.Helper()
	for f := range r.s.Validate() {
		r.t.Error(f)
	}
}

func TestARecordedSessionIsTheSameDocumentAsACreatedOne(t *testing.T) {
	s := newStore(t, start())
	r := record(t, s)
	r.write()
	agents, err := session.AgentsOf(r.is.Agents...)
	must(t, err)
	id, err := s.Create(t.Context(), session.Draft{Source: "orchestrate", SourceFile: "plan.yaml", Agents: agents})
	must(t, err)
	created := strings.ReplaceAll(string(document(t, s, id)), id, recordedID)
	if diff := cmp.Diff(created, string(document(t, s, recordedID))); diff != "" {
		t.Error(diff)
	}
	r.valid()
}

func TestARecordingWritesOnlyWhatHasChanged(t *testing.T) {
	s := newStore(t, start())
	r := record(t, s)
	r.write()
	before := document(t, s, recordedID)
	run(r.is, 0, 77, start().now)
	r.write(0)
	after := document(t, s, recordedID)
	want := []string{
		`"status": "running",`, `"started_at": "2026-02-01T14:30:22Z",`, `"pid": 77,`,
		`"queued": 2,`, `"running": 1,`, `"status": "running",`,
	}
	if diff := cmp.Diff(want, changed(t, before, after)); diff != "" {
		t.Error(diff)
	}
	r.valid()
}

func TestAWriteThatChangesNothingLeavesTheFileAlone(t *testing.T) {
	s := newStore(t, start())
	r := record(t, s)
	r.write()
	path := statusPath(t, s)
	before, err := os.Stat(path)
	must(t, err)
	r.write(0, 1, 2)
	after, err := os.Stat(path)
	must(t, err)
	if !os.SameFile(before, after) {
		t.Error("it was written again")
	}
}

func TestARecordingReopensAnEndedSession(t *testing.T) {
	s := newStore(t, start())
	r := record(t, s)
	for i := range r.is.Agents {
		run(r.is, i, 7, start().now)
		done(r.is, i, start().now)
	}
	r.is.Status, r.is.CompletedAt = session.Complete, session.Time{Time: start().now}
	r.write()
	r.valid()
	again := threeTrue()
	again.Agents[0] = r.is.Agents[0]
	*r.is = *again
	r.write(1, 2)
	r.valid()
	got := load(t, s, recordedID)
	if got.Status != session.Running || !got.CompletedAt.IsZero() || got.Waves[1].Status != session.Pending || got.Agents[2].ExitCode != nil {
		t.Errorf("%+v", got)
	}
}

func TestOtherProgramsAdditionsStayAndTheirChangesAreReverted(t *testing.T) {
	s := newStore(t, start())
	r := record(t, s)
	r.write()
	must(t, s.Update(t.Context(), recordedID, func(root *jsontree.Node) error {
		root.Set("dashboard", map[string]string{"theme": "dark"})
		root.Set("status", "cancelled")
		for i, agent := range root.Child("agents").Items() {
			agent.Set("cost", 1.50*float64(i))
			agent.Set("status", "complete")
		}
		root.Child("agents").Remove(1)
		root.Child("agents").Append(map[string]string{"id": "extra", "status": "running", "started_at": "2026-02-01T14:30:22Z"})
		root.Child("waves").Remove(0)
		root.Set("summary", "gone")
		return nil
	}))
	run(r.is, 0, 77, start().now)
	r.write(0)
	r.valid()
	run(r.is, 1, 78, start().now)
	r.write(1)
	r.valid()
	text, got := string(document(t, s, recordedID)), load(t, s, recordedID)
	for _, want := range []string{`"theme": "dark"`, `"cost": 3`, `"id": "extra"`} {
		if !strings.Contains(text, want) {
			t.Errorf("%s is gone:\n%s", want, text)
		}
	}
	states := map[string]session.State{}
	for _, a := range got.Agents {
		states[a.ID] = a.Status
	}
	want := map[string]session.State{"001": session.Running, "002": session.Running, "003": session.Queued, "extra": session.Running}
	if diff := cmp.Diff(want, states); diff != "" || got.Status != session.Running || got.Summary.Running != 3 || len(got.Waves) != 2 {
		t.Errorf("%s %+v", diff, got)
	}
}

func TestOtherProgramsAgentsStayAndCountInTheirWave(t *testing.T) {
	s := newStore(t, start())
	r := record(t, s)
	r.write()
	others := func(change func(agents, members *jsontree.Node)) {
		must(t, s.Update(t.Context(), recordedID, func(root *jsontree.Node) error {
			for _, wave := range root.Child("waves").Items() {
				change(root.Child("agents"), wave.Child("agents"))
				break
			}
			return nil
		}))
	}
	wave := func(want session.State, members ...string) {
		t.Helper()
		r.valid()
		if got := load(t, s, recordedID).Waves[0]; got.Status != want || !cmp.Equal(got.Agents, members) {
			t.Errorf("%+v, want %s and %s", got, want, members)
		}
	}
	others(func(agents, members *jsontree.Node) {
		agents.Append(map[string]string{"id": "900", "status": "running", "started_at": "2026-02-01T14:30:22Z"})
		members.Remove(0)
		members.Append("900")
	})
	r.write()
	wave(session.Running, "001", "002", "900")
	for i := range 2 {
		run(r.is, i, 7, start().now)
		done(r.is, i, start().now)
	}
	r.write(0, 1)
	wave(session.Running, "001", "002", "900")
	others(func(agents, _ *jsontree.Node) {
		for _, agent := range agents.Items() {
			agent.Set("status", "complete")
		}
	})
	r.write()
	wave(session.Complete, "001", "002", "900")
}

func TestAMissingOrDamagedDocumentIsRewrittenAndItsBytesAreKept(t *testing.T) {
	path := func(s *session.Store) string { return filepath.Join(s.Root(), "sessions", recordedID, "status.json") }
	overwrite := func(text string) func(*session.Store) error {
		return func(s *session.Store) error { return os.WriteFile(path(s), []byte(text), 0o666) }
	}
	for name, c := range map[string]struct {
		damage func(*session.Store) error
		kept   string // expected content of the saved copy
	}{
		"deleted":           {func(s *session.Store) error { return os.Remove(path(s)) }, ""},
		"with its folder":   {func(s *session.Store) error { return os.RemoveAll(filepath.Dir(path(s))) }, ""},
		"with all sessions": {func(s *session.Store) error { return os.RemoveAll(s.Root()) }, ""},
		"truncated":         {func(s *session.Store) error { return os.Truncate(path(s), 40) }, "{\n  \"schema_version\": \"1.0\",\n  \"session_"},
		"emptied":           {func(s *session.Store) error { return os.Truncate(path(s), 0) }, ""},
		"an empty object":   {overwrite("{}"), ""},
		"another form":      {overwrite("[1, 2]\n"), "[1, 2]"},
		"no list of agents": {overwrite(`{"agents": {"001": {}}}`), `{"agents": {"001": {}}}`},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStore(t, start())
			r := record(t, s)
			r.write()
			run(r.is, 0, 5, start().now)
			r.write(0)
			want := document(t, s, recordedID)
			if r.Disturbed() {
				t.Error("it is said to be disturbed before it is")
			}
			must(t, c.damage(s))
			if !r.Disturbed() {
				t.Error("the damage is not noticed")
			}
			r.write()
			if diff := cmp.Diff(compact(t, want), compact(t, document(t, s, recordedID))); diff != "" {
				t.Error(diff)
			}
			r.valid()
			if got := keptAside(t, path(s)); got != c.kept {
				t.Errorf("kept aside: %q, want %q", got, c.kept)
			}
		})
	}
}

func TestAChangeRightAfterAWriteIsNoticed(t *testing.T) {
	for _, at := range []host.Op{"show session folder", "release lock folder"} {
		t.Run(string(at), func(t *testing.T) {
			h := &stepped{Host: host.OS()}
			s := session.New(filepath.Join(t.TempDir(), "status"), session.Options{Host: h})
			r := record(t, s)
			h.after = func(op host.Op) {
				if op == at {
					plant(t, s, recordedID, []byte(`{"status": "cancelled", "agents": []}`))
				}
			}
			r.write()
			run(r.is, 0, 77, start().now)
			if at != "show session folder" {
				r.write(0)
			}
			h.after = nil
			if !r.Disturbed() {
				t.Error("the write of another program was not noticed")
			}
			r.write()
			if r.Disturbed() {
				t.Error("it is said to be disturbed when it is right again")
			}
			r.valid()
		})
	}
}

func TestAChangeOfADocumentBehindALinkIsNoticed(t *testing.T) {
	s := newStore(t, start())
	r := record(t, s)
	r.write()
	path, target := statusPath(t, s), filepath.Join(t.TempDir(), "real.json")
	must(t, errors.Join(os.Rename(path, target), os.Symlink(target, path)))
	r.write()
	if r.Disturbed() {
		t.Error("it is said to be disturbed before it is")
	}
	must(t, os.WriteFile(target, []byte("{}"), 0o666))
	if !r.Disturbed() {
		t.Error("the change is not noticed")
	}
}

func TestSecurityARecordingFollowsOnlyALinkToItsOwnDocument(t *testing.T) {
	for name, theirs := range map[string]string{
		"a text":             "export PATH=/usr/bin\n",
		"settings":           `{"permissions": {"allow": []}}`,
		"an empty object":    "{}",
		"another session":    `{"session_id": "20260101-000000-00000000", "status": "running", "agents": []}`,
		"a list":             "[1]",
		"a file that is not": "",
	} {
		t.Run(name, func(t *testing.T) {
			s := newStore(t, start())
			r := record(t, s)
			r.write()
			path, target := statusPath(t, s), filepath.Join(t.TempDir(), "theirs")
			must(t, errors.Join(os.Remove(path), os.Symlink(target, path)))
			if theirs != "" {
				must(t, os.WriteFile(target, []byte(theirs), 0o600))
			}
			if err := r.Write(t.Context(), r.contents()); err == nil {
				t.Error("nothing is said about the link")
			}
			data, err := os.ReadFile(target)
			if string(data) != theirs || (theirs == "") != errors.Is(err, fs.ErrNotExist) {
				t.Errorf("the user's file is %q, %v", data, err)
			}
			if others, _ := os.ReadDir(filepath.Dir(target)); theirs != "" && len(others) > 2 { // the folder should contain only the file and its lock
				t.Errorf("beside the user's file are %v", others)
			}
		})
	}
}

func TestSecurityARecordingWritesToNoLinkedFolderOfAnotherSession(t *testing.T) {
	for name, theirs := range map[string]string{"a text": "theirs\n", "another document": `{"version": 1}`, "nothing": ""} {
		t.Run(name, func(t *testing.T) {
			s := newStore(t, start())
			r := record(t, s)
			r.write()
			folder, target := filepath.Dir(statusPath(t, s)), t.TempDir()
			must(t, errors.Join(os.RemoveAll(folder), os.Symlink(target, folder)))
			if theirs != "" {
				must(t, os.WriteFile(filepath.Join(target, "status.json"), []byte(theirs), 0o600))
			}
			if err := r.Write(t.Context(), r.contents()); err == nil {
				t.Error("nothing is said about the link")
			}
			entries, err := os.ReadDir(target)
			must(t, err)
			data, _ := os.ReadFile(filepath.Join(target, "status.json")) // ignore the error: the file may be missing
			if string(data) != theirs || len(entries) > 1 {
				t.Errorf("in the user's folder are %v, and its document is %q", entries, data)
			}
		})
	}
	t.Run("its own", func(t *testing.T) {
		s := newStore(t, start())
		r := record(t, s)
		r.write()
		folder, target := filepath.Dir(statusPath(t, s)), filepath.Join(t.TempDir(), "moved")
		must(t, errors.Join(os.Rename(folder, target), os.Symlink(target, folder)))
		run(r.is, 0, 5, start().now)
		r.write(0)
		r.valid()
	})
}

func keptAside(t *testing.T, path string) string {
	names, err := filepath.Glob(path + ".corrupt-*")
	must(t, err)
	all := ""
	for _, name := range names {
		data, err := os.ReadFile(name)
		must(t, err)
		all += string(data)
	}
	return all
}

func TestASessionIsRecordedIntoAFolderThatHasLogsAlready(t *testing.T) {
	s := newStore(t, start())
	log, err := s.LogPath(recordedID, "001")
	must(t, err)
	must(t, os.MkdirAll(filepath.Dir(log), 0o777))
	must(t, os.WriteFile(log, []byte("out"), 0o666))
	r := record(t, s)
	r.write()
	r.valid()
	if data, err := os.ReadFile(log); err != nil || string(data) != "out" {
		t.Errorf("the log is %q, %v", data, err)
	}
	if active, err := s.Active(); err != nil || active != recordedID {
		t.Errorf("active is %q, %v", active, err)
	}
}

func TestARecordedSessionIsTheActiveOneUnlessALaterOneIs(t *testing.T) {
	s := newStore(t, start())
	r := record(t, s)
	r.write()
	later, err := s.Recording("20260202-000000-00000000")
	must(t, err)
	must(t, later.Write(t.Context(), r.contents()))
	again := record(t, s)
	must(t, os.Remove(statusPath(t, s)))
	again.write()
	if active, err := s.Active(); err != nil || active != "20260202-000000-00000000" {
		t.Errorf("active is %q, %v", active, err)
	}
}

func TestTheStartTimeDecidesWhichSessionIsLater(t *testing.T) {
	for name, c := range map[string]struct {
		id, document string
		stays        bool
	}{
		"of another kind of name, earlier": {"my-session", `{"started_at": "2020-01-01T00:00:00Z", "agents": []}`, false},
		"of another kind of name, later":   {"0-my-session", `{"started_at": "2026-02-01T14:30:23Z", "agents": []}`, true},
		"named by local time":              {"20260201-163000-abc12345", `{"started_at": "2026-02-01T16:30:00+02:00", "agents": []}`, false},
		"in the same second, a later name": {"20260201-143022-ffffffff", `{"started_at": "2026-02-01T14:30:22.5Z", "agents": []}`, true},
		"in the same second, an earlier":   {"20260201-143022-00000000", `{"started_at": "2026-02-01T14:30:22.5Z", "agents": []}`, false},
		"that does not say when":           {"z", `{"started_at": "soon", "agents": []}`, false},
		"that cannot be read":              {"z", `["started_at"`, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStore(t, start())
			plant(t, s, c.id, []byte(c.document))
			must(t, os.Symlink("sessions/"+c.id, filepath.Join(s.Root(), "active-session")))
			record(t, s).write()
			want := recordedID
			if c.stays {
				want = c.id
			}
			if active, err := s.Active(); err != nil || active != want {
				t.Errorf("active is %q, %v", active, err)
			}
		})
	}
}

func TestALinkThatLeadsThroughAFileIsNoActiveSession(t *testing.T) {
	s := newStore(t, start())
	must(t, os.MkdirAll(filepath.Join(s.Root(), "sessions"), 0o777))
	must(t, os.WriteFile(filepath.Join(s.Root(), "sessions", "notes"), nil, 0o666))
	must(t, os.Symlink("sessions/notes", filepath.Join(s.Root(), "active-session")))
	_, err := s.Active()
	if none := (*session.ActiveError)(nil); !errors.As(err, &none) {
		t.Errorf("%v", err)
	}
	record(t, s).write()
	if active, err := s.Active(); err != nil || active != recordedID {
		t.Errorf("active is %q, %v", active, err)
	}
}

func TestTheContentsAreComputedWhileTheDocumentIsLocked(t *testing.T) {
	s := newStore(t, start())
	r := record(t, s)
	r.write()
	asked := false
	must(t, r.Write(t.Context(), func() (session.Contents, error) {
		asked = true
		_, err := os.Stat(statusPath(t, s) + ".lock")
		return session.Contents{Status: r.is}, err
	}))
	broken := errors.New("the contents are not known")
	if err := r.Write(t.Context(), func() (session.Contents, error) { return session.Contents{}, broken }); !asked || !errors.Is(err, broken) {
		t.Errorf("asked: %v, %v", asked, err)
	}
}

func TestARecordingReportsAWriteErrorAndContinuesLater(t *testing.T) {
	s := session.New(filepath.Join(t.TempDir(), "status"), session.Options{LockTimeout: 50 * time.Millisecond})
	r := record(t, s)
	r.write()
	lock := statusPath(t, s) + ".lock"
	must(t, os.Mkdir(lock, 0o777))
	run(r.is, 0, 5, start().now)
	var held *statefile.LockError
	if err := r.Write(t.Context(), r.contents(0)); !errors.As(err, &held) {
		t.Errorf("with the lock held: %v", err)
	}
	must(t, os.Remove(lock))
	r.write(0)
	if got := load(t, s, recordedID); got.Summary.Running != 1 {
		t.Errorf("%+v", got.Summary)
	}
}

func TestAnInvalidIDIsNotRecorded(t *testing.T) {
	_, err := newStore(t, start()).Recording("../x")
	if bad := (*statefile.NameError)(nil); !errors.As(err, &bad) {
		t.Errorf("%v", err)
	}
}

func TestACrashOfARecordingLeavesACompleteDocument(t *testing.T) {
	write := func(s *session.Store, is *session.Status, changed ...int) error {
		r, err := s.Recording(recordedID)
		if err != nil {
			return err
		}
		return r.Write(context.Background(), func() (session.Contents, error) { return session.Contents{Status: is, Changed: changed}, nil })
	}
	crashes := hosttest.Crashes{
		Prepare: func(h host.Host) error { return createOn(t, h) },
		Do: func(h host.Host) error {
			s, is := crashStore(h), threeTrue()
			if err := write(s, is); err != nil {
				return err
			}
			run(is, 0, 5, start().now)
			return write(s, is, 0)
		},
		Check: func(t *testing.T, h host.Host, finished bool) {
			s := crashStore(h)
			if n := wholeSessions(t, s); finished && n != 2 {
				t.Errorf("%d sessions are there", n)
			}
			got, err := s.Load(recordedID)
			if finished && (err != nil || got.Summary.Running != 1) {
				t.Errorf("what was acknowledged is gone: %+v, %v", got.Summary, err)
			}
			is := threeTrue()
			run(is, 0, 5, start().now)
			run(is, 1, 6, start().now)
			must(t, write(s, is, 1))
			got, err = s.Load(recordedID)
			if err != nil || got.Summary.Running != 2 {
				t.Errorf("after the crash: %+v, %v", got.Summary, err)
			}
			if active, err := s.Active(); err != nil {
				t.Errorf("active is %q, %v", active, err)
			}
			wholeSessions(t, s)
		},
	}.Run(t)
	t.Logf("%d crashes", crashes)
}

func TestAThousandRecordedAgentsAreWrittenOneByOne(t *testing.T) {
	s := newStore(t, start())
	r := record(t, s)
	first := r.is.Agents[0]
	r.is.Agents, r.is.Waves = nil, []session.Wave{{Wave: 1}}
	for i := range 1000 {
		a := first
		a.ID = fmt.Sprintf("%04d", i)
		r.is.Agents = append(r.is.Agents, a)
		r.is.Waves[0].Agents = append(r.is.Waves[0].Agents, a.ID)
	}
	r.write()
	for i := 0; i < 1000; i += 50 {
		run(r.is, i, i+1, start().now)
		r.write(i)
	}
	r.valid()
	if got := load(t, s, recordedID); got.Summary.Running != 20 || got.Summary.Total != 1000 {
		t.Errorf("%+v", got.Summary)
	}
}

func statusPath(t *testing.T, s *session.Store) string {
	t.Helper()
	dir, err := s.Dir(recordedID)
	must(t, err)
	path := filepath.Join(dir, "status.json")
	if _, err := os.Lstat(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return path
}

// stepped is the real machine, with a callback before and after each rename and removal
// of a file.
type stepped struct {
	host.Host
	before, after func(op host.Op)
}

func (s *stepped) Rename(op host.Op, from, to string) error {
	return s.step(op, func() error { return s.Host.Rename(op, from, to) })
}

func (s *stepped) Remove(op host.Op, name string) error {
	return s.step(op, func() error { return s.Host.Remove(op, name) })
}

func (s *stepped) step(op host.Op, do func() error) error {
	if s.before != nil {
		s.before(op)
	}
	err := do()
	if s.after != nil {
		s.after(op)
	}
	return err
}

// syncless is a machine on which the sync of a folder fails until the test allows it.
type syncless struct {
	host.Host
	fails bool
}

func (h *syncless) SyncDir(op host.Op, name string) error {
	if h.fails && filepath.Base(name) == recordedID {
		return syscall.EMFILE
	}
	return h.Host.SyncDir(op, name)
}

func TestFaultADocumentWhoseFolderCouldNotBeSyncedIsNotTakenForARequestOfAnotherProgram(t *testing.T) {
	machine := &syncless{Host: host.OS()}
	r := record(t, session.New(t.TempDir(), session.Options{Host: machine, Now: start().Now}))
	write := func() error { return r.Write(t.Context(), r.contents(0, 1, 2)) }
	r.DetectCancel = true
	must(t, write())
	r.is.Status, r.is.Agents[0].Status = session.Cancelled, session.Cancelled // a user cancels the run
	machine.fails = true
	if err := write(); err == nil {
		t.Error("the folder was synced")
	} else if got, _ := r.s.Load(recordedID); got.Status != session.Cancelled {
		t.Errorf("the document is not in place: it says %s, %v", got.Status, err)
	}
	machine.fails = false
	r.is.Status, r.is.Agents[0].Status = session.Running, session.Queued // the user retries the run
	must(t, write())
	if got, err := r.s.Load(recordedID); err != nil || got.Status != session.Running {
		t.Errorf("the document says %+v, %v", got, err)
	}
}
