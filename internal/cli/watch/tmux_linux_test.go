package watch

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"gaffer/internal/testkit/testenv"
)

var update = flag.Bool("update", false, "rewrite the golden files; read the diff")

// tmuxTerminal is 'gaffer watch' in a separate tmux server.
type tmuxTerminal struct {
	*testProject
	socket string
}

// watch starts 'gaffer watch' in a terminal with this number of columns and rows.
func (p *testProject) watch(width, height int, more []string, args ...string) tmuxTerminal {
	p.t.Helper()
	term := tmuxTerminal{p, filepath.Join(p.dir, "tmux")}
	command := append([]string{"new-session", "-d", "-x", fmt.Sprint(width), "-y", fmt.Sprint(height), p.binary, "watch"}, args...)
	cmd := exec.Command("tmux", append([]string{"-S", term.socket, "-f", os.DevNull}, command...)...)
	cmd.Dir, cmd.Env = filepath.Join(p.dir, "web"), append(p.env("state"), more...)
	if out, err := cmd.CombinedOutput(); err != nil {
		p.t.Fatalf("tmux: %v: %s", err, out)
	}
	return term
}

func (s tmuxTerminal) tmux(args ...string) string {
	s.t.Helper()
	out, err := exec.Command("tmux", append([]string{"-S", s.socket}, args...)...).CombinedOutput()
	if err != nil {
		s.t.Fatalf("tmux %v: %v: %s", args, err, out)
	}
	return string(out)
}

func (s tmuxTerminal) capture() string { return s.tmux("capture-pane", "-p") }

// press types keys, given by their tmux names. After Escape, the caller must wait for its effect:
// if another key follows at once, both are read as one key sequence.
func (s tmuxTerminal) press(keys ...string) {
	s.t.Helper()
	s.tmux(append([]string{"send-keys"}, keys...)...)
}

func (s tmuxTerminal) sees(texts ...string) {
	s.t.Helper()
	s.until(fmt.Sprintf("%q on the screen", texts), func() (string, bool) {
		screen := s.capture()
		return screen, !slices.ContainsFunc(texts, func(text string) bool { return !strings.Contains(screen, text) })
	})
}

func (s tmuxTerminal) resize(width, height int) {
	s.t.Helper()
	s.tmux("resize-window", "-x", fmt.Sprint(width), "-y", fmt.Sprint(height))
}

// gone waits until 'gaffer watch' has ended.
func (s tmuxTerminal) gone() {
	s.t.Helper()
	s.until("the end of the session", func() (string, bool) {
		if exec.Command("tmux", "-S", s.socket, "has-session").Run() != nil {
			return "", true
		}
		screen, _ := exec.Command("tmux", "-S", s.socket, "capture-pane", "-p").Output() // ignore the error: the process may have ended
		return string(screen), false
	})
}

// A capture contains times, ids and addresses that differ each time. They are replaced
// so that everything keeps its position on the screen:
//
//   - A duration such as 42s, 2m 34s or 1h 05m becomes "#s". In a column, which has a
//     fixed width and is padded on the left, the blanks before it make up for the
//     difference; the words seen, output and ago are part of it. In a row of facts,
//     where " ·" or " ago," follows, there are no such blanks.
//   - A run's id keeps its length, also the end of an id in a question's name: its
//     digits become 0.
//   - A worker with several tasks shows any of them: that becomes TASK of RUN.
//   - The port of 127.0.0.1 becomes 00000, a time of day 00:00, a version 0.0.0.
var (
	span     = `(?:\d+h \d\dm|\d+m \d\ds|\d+[smh])`
	inColumn = regexp.MustCompile(`(  +)((?:seen |output |heartbeat )?)` + span + `((?: ago)?)`)
	inRow    = regexp.MustCompile(`  ` + span + `( ·| ago,)`)
	holds    = regexp.MustCompile(`(  )\S+ of (?:release 1\.4|nightly) *(  \d(?:/\d)? slots)`)
	inText   = regexp.MustCompile(`([ (])` + span + `\b`)
	runID    = regexp.MustCompile(`\b\d{8}-\d{6}-[0-9a-f]{1,8}`)
	question = regexp.MustCompile(`\b[0-9a-f]{8}/`)
	hex      = regexp.MustCompile(`[0-9a-f]`)
	port     = regexp.MustCompile(`127\.0\.0\.1:\d+ *`)
	clock    = regexp.MustCompile(`\b\d\d:\d\d\b`)
	version  = regexp.MustCompile(`(?m)( )\d+\.\d+\.\d+(?:-\w+)?( |$)`)
)

func normal(screen string) string {
	screen = port.ReplaceAllString(screen, "127.0.0.1:00000  ")
	screen = runID.ReplaceAllStringFunc(screen, func(id string) string { return hex.ReplaceAllString(id, "0") })
	screen = question.ReplaceAllString(screen, "00000000/")
	screen = clock.ReplaceAllString(screen, "00:00")
	screen = version.ReplaceAllString(screen, "${1}0.0.0${2}")
	screen = inRow.ReplaceAllString(screen, "  #s$1")
	screen = inColumn.ReplaceAllStringFunc(screen, func(found string) string {
		part := inColumn.FindStringSubmatch(found)
		text := part[2] + "#s" + part[3]
		return strings.Repeat(" ", max(len(found)-len(text), 2)) + text
	})
	screen = holds.ReplaceAllString(screen, "${1}TASK of RUN${2}")
	return inText.ReplaceAllString(screen, "${1}#s")
}

// shows waits until the screen equals the golden file called name. With -update it waits until the
// screen contains the texts and has settled, and writes the golden file.
func (s tmuxTerminal) shows(name string, texts ...string) {
	s.t.Helper()
	path := filepath.Join("testdata", name+".golden")
	if *update {
		s.sees(texts...)
		if err := os.WriteFile(path, []byte(s.settled()), 0o644); err != nil {
			s.t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		s.t.Fatalf("%v; go test ./internal/cli/watch -update writes it", err)
	}
	testenv.Wait(s.t, "the screen of "+path, func() error {
		if diff := cmp.Diff(string(want), normal(s.capture())); diff != "" {
			return fmt.Errorf("(-want +got)\n%s", diff)
		}
		return nil
	})
}

// settled returns the screen once it has not changed for three seconds. It ignores changes of
// times.
func (s tmuxTerminal) settled() string {
	last, since := "", time.Now()
	for time.Since(since) < 3*time.Second {
		if now := normal(s.capture()); now != last {
			last, since = now, time.Now()
		}
		time.Sleep(50 * time.Millisecond)
	}
	return last
}

func TestTimesAndIDsAreReplacedByPlaceholders(t *testing.T) {
	for got, want := range map[string]string{
		"a  9s\nb 10s":                   "a  #s\nb #s",
		"x     9s  y":                    "x     #s  y",
		"x  1m 02s  y":                   "x      #s  y",
		"x   seen 3s ago  y":             "x   seen #s ago  y",
		"x  seen 10s ago  y":             "x   seen #s ago  y",
		"x  output 12s  $0.12":           "x   output #s  $0.12",
		"the oldest 12s   ●":             "the oldest #s   ●",
		"run 20261115-175751-760507bc":   "run 00000000-000000-00000000",
		"http://127.0.0.1:36467  ● live": "http://127.0.0.1:00000  ● live",
		"✗ failed  12s · 118 tokens":     "✗ failed  #s · 118 tokens",
		"until 15:00, 0.1.0-dev":         "until 00:00, 0.0.0",
		"1/6  1 complete":                "1/6  1 complete",
	} {
		if got := normal(got); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
