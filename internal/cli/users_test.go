package cli

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"gaffer/internal/testenv"
)

const usersPages = "../../docs/users"

// TestEveryCommandOfAPageForUsersDoesWhatThePageSays runs the pages for users of
// other programs. testdata/users/PAGE.txtar has the files of a project as that
// program leaves them, and:
//
//	setup.sh   runs before anything else, if it is there; $EXAMPLES is the
//	           folder of examples
//	inline     for each `gaffer …` in the text or a table of the page, one line
//	           "SPAN => COMMAND": what is run for it, in a project of its own
//
// The commands of fenced blocks, the lines "$ COMMAND", run in order in one
// project. The lines below a command must be in its output, in this order, apart
// from times, ids and widths of columns. A line "…" stands for any others; other
// lines in the output are no mistake. A command fails only where the page shows
// its error, "gaffer: …".
//
// Comments in the page that no reader sees:
//
//	<!-- run: COMMAND -->       happens here without being shown
//	<!-- not run: REASON -->    the next block cannot run
//
// A fenced block that begins with "# FILE" is that file. The "sh" blocks of a page
// are one script: they share variables and functions. Its server listens on a free
// port instead of 4871.
func TestEveryCommandOfAPageForUsersDoesWhatThePageSays(t *testing.T) {
	testenv.Integration(t)
	binary := testenv.Program(t)
	pages, err := filepath.Glob(filepath.Join(usersPages, "*.md"))
	if err != nil || len(pages) == 0 {
		t.Fatalf("%d pages, %v", len(pages), err)
	}
	for _, path := range pages {
		page, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		name := strings.TrimSuffix(filepath.Base(path), ".md")
		fixture, err := txtar.ParseFile(filepath.Join("testdata", "users", name+".txtar"))
		if err != nil {
			t.Fatal(err)
		}
		t.Run(name+"/blocks", func(t *testing.T) {
			t.Parallel()
			runBlocks(t, newUserProject(t, binary, fixture), string(page))
		})
		t.Run(name+"/inline", func(t *testing.T) {
			t.Parallel()
			runInline(t, newUserProject(t, binary, fixture), string(page))
		})
	}
}

// userProject is a project as a user of another program has it.
type userProject struct {
	dir    string
	env    []string
	inline map[string]string // the command for each span
}

func newUserProject(t *testing.T, binary string, fixture *txtar.Archive) userProject {
	t.Helper()
	top := t.TempDir()
	examples, err := filepath.Abs("../../examples")
	if err != nil {
		t.Fatal(err)
	}
	p := userProject{dir: filepath.Join(top, "demo"), inline: map[string]string{}}
	home, mark := filepath.Join(top, "home"), "GAFFER_TEST_PROJECT="+top
	p.env = []string{
		"HOME=" + home, "XDG_STATE_HOME=" + filepath.Join(home, "state"), mark, "TERM=dumb", "NO_COLOR=1", "LANG=C.UTF-8", "EXAMPLES=" + examples,
		"PATH=" + filepath.Dir(binary) + string(os.PathListSeparator) + os.Getenv("PATH"),
		"GIT_CONFIG_GLOBAL=/dev/null", "GIT_AUTHOR_NAME=n", "GIT_AUTHOR_EMAIL=n@example.com", "GIT_COMMITTER_NAME=n", "GIT_COMMITTER_EMAIL=n@example.com",
	}
	t.Cleanup(func() {
		testenv.Wait(t, "the end of all processes of the page", func() error {
			left := having([]byte(mark))
			for _, pid := range left {
				_ = syscall.Kill(pid, syscall.SIGKILL) // or it has ended by itself
			}
			if len(left) > 0 {
				return fmt.Errorf("processes %v are there", left)
			}
			return nil
		})
	})
	if err := os.MkdirAll(home, 0o755); err != nil {
		t.Fatal(err)
	}
	setup := false
	for _, f := range fixture.Files {
		if f.Name == "inline" {
			for line := range strings.Lines(string(f.Data)) {
				span, command, ok := strings.Cut(strings.TrimSpace(line), " => ")
				if !ok {
					t.Fatalf("inline: %q is not SPAN => COMMAND", line)
				}
				p.inline[span] = command
			}
			continue
		}
		setup = setup || f.Name == "setup.sh"
		p.write(t, f.Name, f.Data)
	}
	if setup {
		if out, err := p.shell("sh ./setup.sh && rm setup.sh"); err != nil {
			t.Fatalf("setup: %v\n%s", err, out)
		}
	}
	return p
}

func (p userProject) write(t *testing.T, name string, data []byte) {
	t.Helper()
	path := filepath.Join(p.dir, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, data, 0o644)); err != nil {
		t.Fatal(err)
	}
}

// shell returns what a command prints, both streams as they come.
func (p userProject) shell(command string) (string, error) {
	cmd := exec.Command("bash", "-c", command)
	cmd.Dir, cmd.Env = p.dir, p.env
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func runBlocks(t *testing.T, p userProject, page string) {
	ran := 0
	for _, step := range stepsOf(page) {
		if step.file != "" {
			p.write(t, step.file, []byte(step.text))
			continue
		}
		out, err := p.shell(strings.ReplaceAll(step.command, "127.0.0.1:4871", "127.0.0.1:"+freePort(t)))
		shows := slices.ContainsFunc(step.output, func(line string) bool { return strings.HasPrefix(line, "gaffer: ") })
		if (err != nil) != shows {
			t.Errorf("line %d: %s: %v, and the page shows an error: %v\n%s", step.line, step.command, err, shows, out)
		}
		if missing, ok := firstMissing(step.output, out, p.dir); ok {
			t.Errorf("line %d: %s: the output has no line %q where the page has it:\n%s", step.line, step.command, missing, out)
		}
		ran++
	}
	if ran == 0 {
		t.Error("the page has no command")
	}
}

var inlineCommand = regexp.MustCompile("`(gaffer [^`]+)`")

func runInline(t *testing.T, p userProject, page string) {
	seen := map[string]bool{}
	fenced := false
	for line := range strings.Lines(page) {
		if strings.HasPrefix(line, "```") {
			fenced = !fenced
		}
		for _, m := range inlineCommand.FindAllStringSubmatch(line, -1) {
			span := m[1]
			if fenced || seen[span] {
				continue
			}
			seen[span] = true
			command, ok := p.inline[span]
			if !ok {
				t.Errorf("testdata/users: no line for `%s`", span)
				continue
			}
			if out, err := p.shell(command); err != nil {
				t.Errorf("`%s`: %s: %v\n%s", span, command, err, out)
			}
		}
	}
	for span := range p.inline {
		if !seen[span] {
			t.Errorf("testdata/users: the page has no `%s`", span)
		}
	}
}

// pageStep is a command of a page with what it prints, or a file.
type pageStep struct {
	line       int
	command    string
	output     []string
	file, text string
}

var hiddenStep = regexp.MustCompile(`^<!-- (run|not run): (.*) -->$`)

func stepsOf(page string) (steps []pageStep) {
	var block *pageStep // the command or file that lines belong to
	fenced, skip, opened, inScript := false, false, false, false
	script := pageStep{command: "set -eu\n"}
	for i, line := range strings.Split(page, "\n") {
		hidden := hiddenStep.FindStringSubmatch(line)
		switch {
		case line == "```sh" && !fenced:
			inScript, script.line = true, i+1
			continue
		case inScript && line == "```":
			inScript = false
			continue
		case inScript:
			script.command += line + "\n"
			continue
		case strings.HasPrefix(line, "```"):
			if fenced = !fenced; !fenced {
				skip = false
			}
			block, opened = nil, fenced
			continue
		case !fenced && hidden != nil && hidden[1] == "run":
			steps = append(steps, pageStep{line: i + 1, command: hidden[2]})
		case !fenced && hidden != nil:
			skip = true
		case !fenced || skip:
		case opened && strings.HasPrefix(line, "# "):
			steps = append(steps, pageStep{line: i + 1, file: strings.TrimPrefix(line, "# ")})
			block = &steps[len(steps)-1]
		case strings.HasPrefix(line, "$ "):
			steps = append(steps, pageStep{line: i + 1, command: strings.TrimPrefix(line, "$ ")})
			block = &steps[len(steps)-1]
		case block == nil:
			steps = append(steps, pageStep{line: i + 1, command: fmt.Sprintf("echo 'line %d is neither a command nor its output'; false", i+1)})
		case block.file != "":
			block.text += line + "\n"
		default:
			block.output = append(block.output, line)
		}
		opened = false
	}
	if script.line > 0 {
		steps = append(steps, script)
	}
	return steps
}

// firstMissing returns the first line that a page shows and that the output has
// not after those before it.
func firstMissing(shown []string, out, dir string) (string, bool) {
	lines := strings.Split(out, "\n")
	for _, want := range shown {
		if want == "…" {
			continue
		}
		at := slices.IndexFunc(lines, func(line string) bool { return regular(line, dir) == regular(want, dir) })
		if at < 0 {
			return want, true
		}
		lines = lines[at+1:]
	}
	return "", false
}

// varying is what differs from run to run, and what stands for it.
var varying = []struct {
	form *regexp.Regexp
	as   string
}{
	{regexp.MustCompile(`\d{8}-\d{6}-[0-9a-f]{8}`), "RUN"},
	{regexp.MustCompile(`v4_\d{8}_\d{6}`), "TEAM"},
	{regexp.MustCompile(`inbox-\d+-[0-9a-f]+`), "INBOX"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\dT[\d:.]+Z`), "TIME"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\d`), "DATE"},
	{regexp.MustCompile(`\b(\d+h \d+m|\d+m \d+s|\d+s)\b`), "TOOK"},
	{regexp.MustCompile(`[\d.]+k? tokens(, <?\$[\d.]+)?`), "TOKENS"},
	{regexp.MustCompile(`[ \t]+`), " "},
}

func regular(line, dir string) string {
	line = strings.ReplaceAll(line, dir, "/src/demo")
	for _, v := range varying {
		line = v.form.ReplaceAllString(line, v.as)
	}
	return strings.TrimSpace(line)
}
