package localservers

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"gaffer/statefile/host"
)

func put(t *testing.T, state string, s Server) func() error {
	t.Helper()
	remove, err := Register(state, s)
	if err != nil {
		t.Fatal(err)
	}
	return remove
}

// leave writes the file of a server as another process would, and returns its path.
func leave(t *testing.T, state, name string, s Server) string {
	t.Helper()
	data, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(folder(state), name)
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestAServerIsFoundWhileItRuns(t *testing.T) {
	state := filepath.Join(t.TempDir(), "state")
	if list, err := List(state); err != nil || len(list) != 0 {
		t.Fatalf("%v, %v", list, err)
	}
	remove := put(t, state, Server{URL: "http://127.0.0.1:1", Run: "r", Token: "secret"})
	list, err := List(state)
	if err != nil || len(list) != 1 || list[0].Run != "r" || list[0].Token != "secret" || list[0].Process.PID != os.Getpid() {
		t.Errorf("%+v, %v", list, err)
	}
	files, _ := filepath.Glob(filepath.Join(folder(state), "*"))
	for _, file := range append(files, folder(state)) {
		if info, err := os.Stat(file); err != nil || info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s: %v, %v", file, info.Mode(), err)
		}
	}
	for range 2 {
		if err := remove(); err != nil {
			t.Error(err)
		}
	}
	if list, err := List(state); err != nil || len(list) != 0 {
		t.Errorf("after its end: %v, %v", list, err)
	}
}

func TestTheFileOfAKilledServerIsIgnored(t *testing.T) {
	state := t.TempDir()
	cmd := exec.Command("sleep", "60")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	is, err := host.Identify(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	file := leave(t, state, "1.json", Server{Process: is, URL: "http://127.0.0.1:1"})
	if list, err := List(state); err != nil || len(list) != 1 {
		t.Errorf("while it runs: %v, %v", list, err)
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	if list, err := List(state); err != nil || len(list) != 0 {
		t.Errorf("after it was killed: %v, %v", list, err)
	}
	if _, err := os.Stat(file); !os.IsNotExist(err) {
		t.Errorf("its note is still there: %v", err)
	}
}

func TestAnotherProcessWithTheSamePIDIsNoServer(t *testing.T) {
	state := t.TempDir()
	is := host.OS().Self()
	is.Start++
	leave(t, state, "1.json", Server{Process: is, URL: "http://127.0.0.1:1"})
	if list, err := List(state); err != nil || len(list) != 0 {
		t.Errorf("%v, %v", list, err)
	}
}

func TestFilesThatAreNoRegistrationsAreIgnored(t *testing.T) {
	state := t.TempDir()
	self := host.OS().Self()
	for name, url := range map[string]string{
		"a.json": "http://evil.example", "b.json": "http://127.0.0.1.evil.example", "c.json": "ftp://127.0.0.1",
		"d.json": "http://127.0.0.1@evil.example", "e.json": "", "f.txt": "http://127.0.0.1:1",
	} {
		leave(t, state, name, Server{Process: self, URL: url})
	}
	elsewhere := self
	elsewhere.Host = "another"
	kept := leave(t, state, "g.json", Server{Process: elsewhere, URL: "http://127.0.0.1:1"})
	if err := os.WriteFile(filepath.Join(folder(state), "h.json"), []byte(`{"process":`), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(folder(state), "i.json"), 0o700); err != nil {
		t.Fatal(err)
	}
	if list, err := List(state); err != nil || len(list) != 0 {
		t.Errorf("%+v, %v", list, err)
	}
	if _, err := os.Stat(kept); err != nil {
		t.Errorf("the note of another machine: %v", err)
	}
}
