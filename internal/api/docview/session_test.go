package docview_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"gaffer/internal/api/docview"
	"gaffer/statefile/host"
)

// age sets a file's modification time to one hour ago.
func age(t *testing.T, path string) {
	t.Helper()
	long := time.Now().Add(-time.Hour)
	if err := os.Chtimes(path, long, long); err != nil {
		t.Fatal(err)
	}
}

func TestEveryWildSessionIsListedAndShown(t *testing.T) {
	root := t.TempDir()
	all := wild(t, "session")
	for name, text := range all {
		put(t, filepath.Join(root, "sessions", name, "status.json"), text)
	}
	shelf := docview.NewSessionReader(host.OS(), root)
	list := shelf.List()
	if len(list) != len(all) {
		t.Errorf("%d of %d are listed", len(list), len(all))
	}
	for _, e := range list {
		p, err := shelf.Session(e.ID)
		shown(t, e.ID, p)
		agents := 0
		for _, w := range p.Session.Waves {
			agents += len(w.Agents)
		}
		if err != nil || e.Problem != "" || e.Version != p.Session.Version || agents != e.Counts.Total {
			t.Errorf("%s: %v %q, %d agents of %d", e.ID, err, e.Problem, agents, e.Counts.Total)
		}
	}
}

func TestASessionIsShownAsItsAgentsSay(t *testing.T) {
	root := t.TempDir()
	dir := filepath.Join(root, "sessions", "20260201-143022-abc")
	put(t, filepath.Join(dir, "status.json"), `{"session_id": "x", "source": "orchestrate", "started_at": "2026-02-01T14:30:22.123456+00:00", "completed_at": null, "status": "running",
		"agents": [
			{"id": "001", "name": "a", "status": "complete", "started_at": "2026-02-01T14:30:22Z", "completed_at": "2026-02-01T14:31:22Z", "pid": 77, "log_file": "elsewhere/001.log"},
			{"id": "002", "name": "b", "status": "running", "pid": 78},
			{"id": "003", "status": "failed", "error": "exit 1", "duration_seconds": 12.5},
			{"id": "004", "status": "awaiting-user", "wave": 2},
			{"id": "005"}],
		"summary": {"total": 99},
		"waves": [{"wave": 1, "status": "pending", "agents": ["001", "003", "nobody"]}, {"wave": 2, "status": "pending", "agents": ["002"]}]}`)
	put(t, filepath.Join(dir, "001.log"), "hello\n")
	p, err := docview.NewSessionReader(host.OS(), root).Session("20260201-143022-abc")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, w := range p.Session.Waves {
		for _, a := range w.Agents {
			took := -1.0
			if a.Seconds != nil {
				took = *a.Seconds
			}
			got = append(got, fmt.Sprintf("%d %s: %s %s %v %d %s%s", w.Number, w.Status, a.ID, a.Status, took, a.PID, a.Error, a.Log))
		}
	}
	want := []string{
		"0 pending: 005 queued -1 0 ", "1 complete: 001 complete 60 0 elsewhere/001.log", "1 complete: 003 failed 12.5 0 exit 1",
		"2 running: 002 running -1 78 ", "2 running: 004 awaiting-user -1 0 ",
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%q\nwant %q", got, want)
	}
	c := p.Session.Counts
	if c.Total != 5 || c.Complete != 1 || c.Running != 1 || c.Failed != 1 || c.Queued != 1 || len(p.Problems) == 0 {
		t.Errorf("%+v %v", c, p.Problems)
	}
}

func TestSessionsAreListedNewestFirstAndNoMoreThanFit(t *testing.T) {
	root := t.TempDir()
	for i := range 230 {
		put(t, filepath.Join(root, "sessions", fmt.Sprintf("s%03d", i), "status.json"), fmt.Sprintf(`{"started_at": "2026-02-01T%02d:%02d:00Z"}`, i/60, i%60))
	}
	put(t, filepath.Join(root, "sessions", ".hidden", "status.json"), `{}`)
	put(t, filepath.Join(root, "sessions", "-dash", "status.json"), `{}`)
	put(t, filepath.Join(root, "sessions", "file"), `{}`)
	if err := os.MkdirAll(filepath.Join(root, "sessions", "empty"), 0o755); err != nil {
		t.Fatal(err)
	}
	shelf := docview.NewSessionReader(host.OS(), root)
	list := shelf.List()
	if len(list) != 200 || list[0].ID != "s229" || list[199].ID != "s030" {
		t.Errorf("%d: %v", len(list), list[0])
	}
	if err := os.RemoveAll(filepath.Join(root, "sessions", "s229")); err != nil {
		t.Fatal(err)
	}
	if list := shelf.List(); list[0].ID != "s228" {
		t.Errorf("first is %s", list[0].ID)
	}
}

func TestASessionThatIsBeingWrittenStaysAsItWas(t *testing.T) {
	root := t.TempDir()
	file := filepath.Join(root, "sessions", "s", "status.json")
	shelf := docview.NewSessionReader(host.OS(), root)
	put(t, file, `{"sta`)
	if list := shelf.List(); len(list) != 0 {
		t.Errorf("%+v", list)
	}
	put(t, file, `{"status": "running", "agents": [{"id": "1"}]}`)
	before := shelf.List()
	put(t, file, `{"status": "comp`)
	if list := shelf.List(); len(list) != 1 || list[0].Version != before[0].Version || list[0].Problem != "" {
		t.Errorf("%+v", list)
	}
	age(t, file)
	if list := shelf.List(); len(list) != 1 || list[0].Status != "running" || !strings.Contains(list[0].Problem, "not JSON") {
		t.Errorf("%+v", list)
	}
	put(t, file, `{"status": "complete"}`)
	if list := shelf.List(); len(list) != 1 || list[0].Status != "complete" || list[0].Problem != "" {
		t.Errorf("%+v", list)
	}
}

func TestOnlyAPlainFileInTheSessionsFolderIsALog(t *testing.T) {
	root := t.TempDir()
	dir := filepath.Join(root, "sessions", "s")
	secret := filepath.Join(root, "secret.log")
	put(t, secret, "the secret\n")
	put(t, filepath.Join(root, "sessions", "elsewhere.log"), "the secret\n")
	put(t, filepath.Join(dir, "status.json"), `{"agents": [{"id": "named", "log_file": "x/sessions/s/agent-1.log"}, {"id": "up", "log_file": "../elsewhere.log"}, {"id": "out", "log_file": "/etc/passwd"}]}`)
	put(t, filepath.Join(dir, "plain.log"), "one\ntwo\nthree\n")
	put(t, filepath.Join(dir, "agent-1.log"), "by its name\n")
	for name, target := range map[string]string{"link.log": secret, "relative.log": "../elsewhere.log", "loop.log": "loop.log"} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(root, filepath.Join(root, "sessions", "linked")); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe.log"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "folder.log"), 0o755); err != nil {
		t.Fatal(err)
	}
	shelf := docview.NewSessionReader(host.OS(), root)
	for ask, want := range map[[2]string]string{
		{"s", "plain"}: "one\ntwo\nthree\n", {"s", "named"}: "by its name\n",
	} {
		if got, err := shelf.Log(ask[0], ask[1], 1000); err != nil || string(got.Text) != want {
			t.Errorf("%v: %q, %v", ask, got.Text, err)
		}
	}
	for tail, want := range map[int64]docview.LogTail{
		14: {Text: []byte("one\ntwo\nthree\n"), From: 0, To: 14},
		13: {Text: []byte("two\nthree\n"), From: 4, To: 14},
		10: {Text: []byte("two\nthree\n"), From: 4, To: 14}, // from the start of a line
		8:  {Text: []byte("three\n"), From: 8, To: 14},
		6:  {Text: []byte("three\n"), From: 8, To: 14},
		3:  {Text: []byte("ee\n"), From: 11, To: 14}, // a part of the last line
		0:  {Text: []byte{}, From: 14, To: 14},
	} {
		if got, err := shelf.Log("s", "plain", tail); err != nil || string(got.Text) != string(want.Text) || got.From != want.From || got.To != want.To {
			t.Errorf("the last %d bytes: %+v %v", tail, got, err)
		}
	}
	for _, ask := range [][2]string{
		{"s", "link"},
		{"s", "relative"},
		{"s", "loop"},
		{"s", "pipe"},
		{"s", "folder"},
		{"s", "none"},
		{"s", "up"},
		{"s", "out"},
		{"s", "../elsewhere"},
		{"s", ".."},
		{"..", "secret"},
		{"linked", "secret"},
		{"none", "plain"},
		{"", "plain"},
		{"s", ""},
		{"s/../s", "plain"},
		{"s", "status.json"},
	} {
		got, err := shelf.Log(ask[0], ask[1], 1000)
		if none, ok := errors.AsType[interface {
			error
			NotFound() bool
		}](err); !ok || !none.NotFound() || len(got.Text) > 0 {
			t.Errorf("%v: %q, %v", ask, got.Text, err)
		}
	}
}
