package demo_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	_ "gaffer/internal/cli" // go test runs this test again after a change of the program
	"gaffer/internal/testkit/testenv"
)

// demo is a running demo: a process of the gaffer program.
type demo struct {
	t      *testing.T
	cmd    *exec.Cmd
	ended  chan struct{}
	err    error
	temp   string // the folder that contains the demo's folder
	folder string
	out    *os.File
}

func start(t *testing.T, args ...string) *demo {
	t.Helper()
	program := testenv.Program(t)
	d := &demo{t: t, temp: t.TempDir(), ended: make(chan struct{})}
	var err error
	if d.out, err = os.Create(filepath.Join(t.TempDir(), "out")); err != nil {
		t.Fatal(err)
	}
	d.cmd = exec.Command(program, append([]string{"demo", "--no-browser"}, args...)...)
	d.cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "TMPDIR=" + d.temp, "GAFFER_SERVER=http://192.0.2.1:1", "GAFFER_DB=/nowhere/at/all.db"}
	d.cmd.Stdout, d.cmd.Stderr = d.out, d.out
	if err := d.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { defer close(d.ended); d.err = d.cmd.Wait() }()
	t.Cleanup(func() {
		_ = d.cmd.Process.Kill() // ignore the error: the process may have ended
		<-d.ended
		for _, pid := range d.processes() {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	})
	return d
}

func (d *demo) said() string {
	text, _ := os.ReadFile(d.out.Name())
	return string(text)
}

// until calls poll repeatedly until it returns ok = true. It fails the test if the demo ends before
// that.
func (d *demo) until(what string, poll func() (seen any, ok bool)) {
	d.t.Helper()
	testenv.Wait(d.t, what, func() error {
		seen, ok := poll()
		if ok {
			return nil
		}
		select {
		case <-d.ended:
			if what != gone {
				d.t.Fatalf("it ended before there was %s: %v\n%s", what, d.err, d.said())
			}
		default:
		}
		return fmt.Errorf("%v\nit said:\n%s", seen, d.said())
	})
}

// shows waits until the output of a gaffer command on the demo contains text this many times.
func (d *demo) shows(command, text string, times int) {
	d.t.Helper()
	d.until(fmt.Sprintf("%q in gaffer %s", text, command), func() (any, bool) {
		out := d.gaffer(command)
		return out, strings.Count(out, text) >= times
	})
}

// writes waits until a JSON document of the demo contains this field.
func (d *demo) writes(file, field string) {
	d.t.Helper()
	d.until(field+" in "+file, func() (any, bool) {
		doc := d.document(file)
		return doc, doc[field] != nil
	})
}

const gone = "end of all processes"

// begins waits until agents are running.
func (d *demo) begins() {
	d.t.Helper()
	d.until("folder", func() (any, bool) {
		found, _ := filepath.Glob(filepath.Join(d.temp, "gaffer-demo-*", "env"))
		if len(found) > 0 {
			d.folder = filepath.Dir(found[0])
		}
		return "no folder", len(found) > 0
	})
	d.until("workers and agents", func() (any, bool) {
		commands := strings.Join(d.commands(), "\n")
		return commands, strings.Count(commands, " worker --server ") == 4 && strings.Contains(commands, " fake-agent ") &&
			strings.Contains(commands, " team -f ") && strings.Contains(commands, " build ")
	})
}

// processes returns the ids of the demo's processes, without the id of the demo itself.
func (d *demo) processes() (pids []int) {
	files, _ := filepath.Glob("/proc/[0-9]*/environ") // the only error is an invalid pattern
	for _, file := range files {
		env, _ := os.ReadFile(file)
		line, _ := os.ReadFile(filepath.Join(filepath.Dir(file), "cmdline"))
		marked := d.folder != "" && bytes.Contains(append([]byte{0}, env...), []byte("\x00GAFFER_DEMO="+d.folder+"\x00"))
		keeper := bytes.Contains(line, []byte("\x00demo-keeper\x00"+d.temp))
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file))); err == nil && (marked || keeper) {
			pids = append(pids, pid)
		}
	}
	return pids
}

func (d *demo) commands() (lines []string) {
	for _, pid := range d.processes() {
		line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		lines = append(lines, string(bytes.ReplaceAll(line, []byte{0}, []byte{' '})))
	}
	return lines
}

// leavesNothing checks that the demo has left no process and no folder behind.
func (d *demo) leavesNothing() {
	d.t.Helper()
	d.until(gone, func() (any, bool) { left := d.commands(); return left, len(d.processes()) == 0 })
	if _, err := os.Stat(d.folder); !errors.Is(err, fs.ErrNotExist) {
		d.t.Errorf("the folder is still there: %v", err)
	}
}

// gaffer runs a command on the demo, as a user does in another terminal.
func (d *demo) gaffer(line string) string {
	d.t.Helper()
	cmd := exec.Command("sh", "-c", ". "+d.folder+"/env && "+d.cmd.Path+" "+line)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + d.t.TempDir()}
	out, err := cmd.CombinedOutput()
	if err != nil {
		d.t.Logf("%s: %v\n%s", line, err, out)
	}
	return string(out)
}

func TestADemoHasSomethingOfEverythingAndLeavesNothing(t *testing.T) {
	testenv.Integration(t)
	d := start(t)
	d.begins()
	d.shows("workers", " online ", 4) // one of the four workers dies soon
	d.shows("ps", "Which payment provider", 1)
	d.shows("ps", "limited paused until", 1)
	d.writes("shop/.fctry/state.json", "buildRun")
	d.writes("shop/coordination/orchestrator_state.json", "current_phase")
	if ideas := d.gaffer("inbox list"); strings.Count(ideas, " pending ") != 3 {
		t.Errorf("the inbox:\n%s", ideas)
	}
	link := strings.TrimSpace(d.gaffer("open provider --print"))
	visits(t, link)
	if err := d.cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	select {
	case <-d.ended:
	case <-time.After(testenv.Patience):
		t.Fatalf("it goes on\n%s", d.said())
	}
	if d.err != nil {
		t.Errorf("%v\n%s", d.err, d.said())
	}
	if left := d.commands(); len(left) > 0 {
		t.Errorf("these outlive it: %q", left)
	}
	d.leavesNothing()
}

// document returns a JSON object from the demo's folder, or nil if it does not exist
// yet.
func (d *demo) document(name string) (object map[string]any) {
	data, err := os.ReadFile(filepath.Join(d.folder, name))
	if err != nil || json.Unmarshal(data, &object) != nil {
		return nil
	}
	return object
}

// visits requests a link like a browser does.
func visits(t *testing.T, link string) {
	t.Helper()
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	defer client.CloseIdleConnections()
	res, err := client.Get(link)
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	if place := res.Header.Get("Location"); res.StatusCode != http.StatusSeeOther || !strings.HasSuffix(place, "/tasks/provider") || len(res.Cookies()) != 1 {
		t.Errorf("%s: %d %v", link, res.StatusCode, res.Header)
	}
}

func TestNothingOutlivesADemoThatIsKilled(t *testing.T) {
	testenv.Integration(t)
	d := start(t)
	d.begins()
	if err := d.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-d.ended
	d.leavesNothing()
}

func TestADemoEndsByItselfAndMayKeepItsFolder(t *testing.T) {
	testenv.Integration(t)
	d := start(t, "--for", "8s", "--keep")
	select { // wait for the demo to end or for some time; how far it gets depends on the machine
	case <-d.ended:
	case <-time.After(testenv.Patience):
		t.Fatalf("it goes on\n%s", d.said())
	}
	found, _ := filepath.Glob(filepath.Join(d.temp, "gaffer-demo-*"))
	if len(found) != 1 {
		t.Fatalf("its folders are %q\n%s", found, d.said())
	}
	d.folder = found[0]
	if d.err != nil || !strings.Contains(d.said(), "the folder of the demo is "+d.folder) {
		t.Errorf("%v\n%s", d.err, d.said())
	}
	if left := d.commands(); len(left) > 0 {
		t.Errorf("these outlive it: %q", left)
	}
	if _, err := os.Stat(filepath.Join(d.folder, "shop", "checkout.yaml")); err != nil {
		t.Error(err)
	}
}
