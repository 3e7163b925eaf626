package notify

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"gaffer/internal/testkit/testenv"
)

func sh(script string, args ...string) *Command {
	return &Command{Argv: append([]string{"sh", "-c", script, "sh"}, args...)}
}

func TestACommandIsGivenTheNoteAndTheFacts(t *testing.T) {
	dir := t.TempDir()
	n := Notification{ID: "abc", Kind: Waiting, Time: noon, Title: "api asks", Text: "Which?\nrun web", Run: "r", Task: "api", Question: "q", Next: "gaffer answer r/api"}
	c := sh(`cat > "$1/stdin"; env | grep ^GAFFER_NOTE_ | sort > "$1/env"`, dir)
	if err := c.Send(t.Context(), n); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "stdin"))
	var got Notification
	if err != nil || json.Unmarshal(text, &got) != nil || got.Question != "q" || !strings.HasSuffix(string(text), "}\n") {
		t.Errorf("%s, %v", text, err)
	}
	env, err := os.ReadFile(filepath.Join(dir, "env"))
	for _, want := range []string{"ID=abc", "KIND=waiting", "TITLE=api asks", "TEXT=Which?", "RUN=r", "TASK=api", "QUESTION=q", "NEXT=gaffer answer r/api", "TIME=2026-03-01T12:00:00Z"} {
		if err != nil || !strings.Contains(string(env), "GAFFER_NOTE_"+want+"\n") {
			t.Errorf("no %s in %s, %v", want, env, err)
		}
	}
}

func TestACommandThatReadsNothingIsNoMistake(t *testing.T) {
	if err := sh("exit 0").Send(t.Context(), Notification{Notes: make([]Notification, 20_000)}); err != nil {
		t.Error(err)
	}
}

func TestACommandThatFailsIsNotTriedAgainAndItsWordsAreKept(t *testing.T) {
	err := sh("echo no route >&2; yes | head -c 1000000; exit 3").Send(t.Context(), Notification{})
	var again *TemporaryError
	if err == nil || errors.As(err, &again) || !strings.Contains(err.Error(), "exit status 3: no route y y") || len(err.Error()) > 1000 {
		t.Errorf("%v", err)
	}
	if err := (&Command{Argv: []string{"/nowhere/at all"}}).Send(t.Context(), Notification{}); err == nil {
		t.Error("a program that is not there succeeds")
	}
}

func TestACommandThatHangsIsKilledWithAllOfIt(t *testing.T) {
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := make(chan error, 1)
	go func() {
		done <- sh(`sleep 600 & echo $! > "$1/pid"; mv "$1/pid" "$1/child"; wait`, dir).Send(ctx, Notification{})
	}()
	child := pidIn(t, filepath.Join(dir, "child"))
	cancel()
	if err := <-done; err == nil {
		t.Error("a command that was killed succeeds")
	}
	testenv.Wait(t, fmt.Sprintf("the end of process %d", child), func() error {
		if state := stateOf(child); alive(state) {
			return fmt.Errorf("its state is %s", state)
		}
		return nil
	})
}

func TestProcessesThatACommandLeavesBehindAreNotWaitedFor(t *testing.T) {
	dir := t.TempDir()
	err := sh(`sleep 600 & echo $! > "$1/pid"; mv "$1/pid" "$1/child"`, dir).Send(t.Context(), Notification{})
	child := pidIn(t, filepath.Join(dir, "child"))
	if state := stateOf(child); err != nil || !alive(state) {
		t.Errorf("%v; the process that was left behind is %q", err, state)
	}
	_ = syscall.Kill(child, syscall.SIGKILL) // a process that this test started, and that is still running
}

func pidIn(t *testing.T, file string) int {
	t.Helper()
	var text []byte
	testenv.Wait(t, file, func() (err error) { text, err = os.ReadFile(file); return err })
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	return pid
}

// stateOf returns the state of a process as ps shows it, or "" if there is no such process.
func stateOf(pid int) string {
	out, _ := exec.Command("ps", "-o", "stat=", "-p", strconv.Itoa(pid)).Output()
	return strings.TrimSpace(string(out))
}

// alive reports whether a process with this state of ps is running. A zombie is not.
func alive(state string) bool { return state != "" && !strings.HasPrefix(state, "Z") }

func TestNotificationsAreShownWithNotifySend(t *testing.T) {
	dir := t.TempDir()
	script := "#!/bin/sh\nfor a; do printf '%s\\n' \"$a\"; done > " + dir + "/args\n"
	if err := os.WriteFile(filepath.Join(dir, "notify-send"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	d, err := FindDesktop("linux", display, exec.LookPath, "here")
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Send(t.Context(), Notification{Kind: Waiting, Title: "--api asks", Text: "<b>&\nrun web"}); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(dir, "args"))
	if want := "--app-name=gaffer\n--urgency=critical\n--\ngaffer: --api asks\n&lt;b&gt;&amp;\nrun web\n"; err != nil || string(got) != want {
		t.Errorf("%s, %v", got, err)
	}
}

func display(name string) string { return map[string]string{"DISPLAY": ":0"}[name] }

func TestWhereThereIsAScreen(t *testing.T) {
	nothing := func(string) string { return "" }
	ssh := func(name string) string { return map[string]string{"SSH_CONNECTION": "a b"}[name] }
	wayland := func(name string) string { return map[string]string{"WAYLAND_DISPLAY": "w"}[name] }
	find := func(name string) (string, error) { return "/bin/" + name, nil }
	missing := func(string) (string, error) { return "", exec.ErrNotFound }
	for name, c := range map[string]struct {
		goos   string
		getenv func(string) string
		find   func(string) (string, error)
		want   string
	}{
		"Linux with X":           {"linux", display, find, "/bin/notify-send"},
		"Linux with Wayland":     {"linux", wayland, find, "/bin/notify-send"},
		"Linux without a screen": {"linux", nothing, find, ""},
		"Linux without program":  {"linux", display, missing, ""},
		"macOS":                  {"darwin", nothing, find, "/bin/osascript"},
		"macOS over ssh":         {"darwin", ssh, find, ""},
	} {
		d, err := FindDesktop(c.goos, c.getenv, c.find, "here")
		if (err == nil) != (c.want != "") || err == nil && d.Where() != c.want {
			t.Errorf("%s: %v, %v", name, d, err)
		}
	}
	d, err := FindDesktop("darwin", nothing, find, "here")
	if err != nil {
		t.Fatal(err)
	}
	argv := d.argv(Notification{Title: `x" & do shell script "id`, Text: "-t"})
	if strings.Contains(strings.Join(argv[:len(argv)-2], " "), "id") || argv[len(argv)-1] != "-t" || !strings.HasPrefix(argv[len(argv)-2], "gaffer: x") {
		t.Errorf("%q", argv)
	}
}
