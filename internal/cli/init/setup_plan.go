package setup

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"gaffer/internal/byhand/agentsettings"
	"gaffer/internal/cli/env"
	"gaffer/internal/config"
	"gaffer/internal/exit"
	"gaffer/internal/project"
	"gaffer/internal/text/display"
	"gaffer/internal/text/suggest"
	"gaffer/statefile"
	"gaffer/statefile/host"
)

// setupPlan holds the settings files to edit and what they should contain.
type setupPlan struct {
	env      *env.Env
	opts     *options
	state    string // path of gaffer's state folder
	home     string
	root     string // path of the project's root; empty if the user's own settings are edited
	programs []agentsettings.Program
	wish     agentsettings.Integration
	files    []agentsettings.File
	notes    []string // notes for the user, to be printed with the result
}

// newSetupPlan determines which agent programs to set up, whether to edit the settings of the
// project or of the user, and which settings files the programs have.
func newSetupPlan(e *env.Env, o *options, args []string) (*setupPlan, error) {
	s := &setupPlan{env: e, opts: o, home: e.Getenv("HOME")}
	if s.home == "" {
		return nil, errors.New("HOME does not say where your settings are")
	}
	var err error
	if s.programs, err = s.choose(args); err != nil {
		return nil, err
	}
	if s.state, err = e.StateDir(); err != nil {
		return nil, err
	}
	p, err := e.Project()
	if err != nil {
		return nil, err
	}
	c, err := e.Config()
	if err != nil {
		return nil, err
	}
	if s.ofProject(p) {
		s.root = p.Root
	}
	if err := s.makeWish(c); err != nil {
		return nil, err
	}
	return s, s.listFiles()
}

// ofProject reports whether to edit the project's settings, and not the user's. The flags --user
// and --project decide. Without them, it returns true in a project whose root is not the home
// directory.
func (s *setupPlan) ofProject(p project.Project) bool {
	if s.opts.user || s.opts.project.given {
		return !s.opts.user
	}
	home, err := filepath.EvalSymlinks(s.home)
	return p.From != "current folder" && (err != nil || p.Root != home)
}

// choose returns the agent programs to set up. If args names one, choose returns only this one. If
// args is empty or names "all", choose returns all that are installed; with --undo, it also returns
// those that are not installed.
func (s *setupPlan) choose(args []string) ([]agentsettings.Program, error) {
	word := "all"
	if len(args) > 0 {
		word = args[0]
	}
	if p := agentsettings.Program(word); slices.Contains(agentsettings.Programs(), p) {
		return []agentsettings.Program{p}, nil
	}
	if word != "all" {
		err := exit.Usage(fmt.Errorf("%q: want claude, codex or all", word))
		if near := suggest.Nearest(word, []string{"claude", "codex", "all"}); near != "" {
			return nil, exit.WithHint(err, fmt.Sprintf("did you mean %q?", near))
		}
		return nil, exit.WithHint(err, "another folder is named by --project=DIR")
	}
	var found []agentsettings.Program
	for _, p := range agentsettings.Programs() {
		if s.opts.undo || inPath(s.env.Getenv("PATH"), string(p)) != "" {
			found = append(found, p)
		}
	}
	if len(found) == 0 {
		return nil, exit.WithHint(exit.NotFound(errors.New("neither claude nor codex is in PATH")),
			"name the one to set up all the same: 'gaffer init claude'")
	}
	return found, nil
}

// inPath returns the path of the program with this name, or "" if it is not installed. It searches
// the folders in path, the value of the environment variable PATH, in order. It skips relative
// folders.
func inPath(path, name string) string {
	for _, dir := range filepath.SplitList(path) {
		if !filepath.IsAbs(dir) {
			continue
		}
		file := filepath.Join(dir, name)
		if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return file
		}
	}
	return ""
}

func (s *setupPlan) makeWish(c *config.Config) error {
	program, err := s.program()
	if err != nil {
		return err
	}
	s.wish = agentsettings.Integration{
		Argv: []string{program}, Shell: display.ShellLine([]string{program}), Answer: c.Duration("hooks.answer_within"), LocalState: localState(c, s.root),
	}
	if s.opts.statusLine {
		s.wish.Status = agentsettings.StatusLineReplace
	}
	return nil
}

// program returns the command with which other programs can start this executable: "gaffer" if a
// shell finds the executable by that name, and otherwise the executable's absolute path. In the
// second case, the file must be called gaffer; if not, program returns an error.
func (s *setupPlan) program() (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	if found := inPath(s.env.Getenv("PATH"), "gaffer"); found != "" && sameFile(found, self) {
		return "gaffer", nil
	}
	if filepath.Base(self) != "gaffer" {
		return "", exit.WithHint(exit.Usage(fmt.Errorf("this program is %s, by which its entries would not be known again", self)),
			"call it gaffer, or put it into PATH by that name")
	}
	if s.root != "" && !s.opts.undo {
		s.notes = append(s.notes, fmt.Sprintf("the settings name %s, because PATH has no gaffer or another: that path is of this machine alone", self))
	}
	return self, nil
}

func sameFile(a, b string) bool {
	x, err := os.Stat(a)
	if err != nil {
		return false
	}
	y, err := os.Stat(b)
	return err == nil && os.SameFile(x, y)
}

// localState returns lines for .gitignore. They match the files below root that are of use only on
// this machine, such as logs and locks.
func localState(c *config.Config, root string) (lines []string) {
	for _, of := range []struct {
		key   string
		below []string
	}{
		{"paths.session", []string{""}},
		{"paths.workflow", []string{"state.json", "build-events/", ".*.flock"}},
		{"paths.team", []string{""}},
		{"paths.ledger", []string{"runs/", "results/"}},
	} {
		rel, err := filepath.Rel(root, c.Path(of.key))
		if root == "" || err != nil || !filepath.IsLocal(rel) || rel == "." || strings.ContainsAny(rel, "\n\r*?[\\!#") {
			continue
		}
		for _, name := range of.below {
			lines = append(lines, "/"+filepath.ToSlash(rel)+"/"+name)
		}
	}
	return lines
}

// listFiles sets s.files to the settings files of the programs, each with its intended content. If
// the project's settings are edited, it also adds .gitignore to s.files. With --undo, it leaves out
// .gitignore as long as the lines there are needed; see [setupPlan.stillUsed].
func (s *setupPlan) listFiles() error {
	claude, codex := s.env.Getenv("CLAUDE_CONFIG_DIR"), s.env.Getenv("CODEX_HOME")
	if s.root == "" {
		s.files = s.wish.UserFiles(s.home, claude, codex, s.programs)
		return nil
	}
	if err := s.yieldStatusLine(claude, codex); err != nil {
		return err
	}
	s.files = s.wish.ProjectFiles(s.root, s.programs)
	if used, err := s.stillUsed(); err != nil || used {
		return err
	}
	s.files = append(s.files, s.wish.IgnoreFile(s.root))
	return nil
}

// yieldStatusLine removes gaffer's status line from the planned project settings if the user's own
// settings have another status line. The project's status line would hide the user's.
func (s *setupPlan) yieldStatusLine(claude, codex string) error {
	if s.opts.statusLine || s.opts.undo || !slices.Contains(s.programs, agentsettings.Claude) {
		return nil
	}
	own := s.wish.UserFiles(s.home, claude, codex, []agentsettings.Program{agentsettings.Claude})[0]
	data, err := statefile.ReadBytes(host.OS(), own.Path)
	if err != nil {
		return nil //nolint:nilerr // a user without settings has no status line
	}
	c, err := agentsettings.Plan(own.Format, data, nil, own.Entries)
	if err == nil && slices.Contains(c.Kept, "status line") {
		s.wish.Status = agentsettings.StatusLineLeave
		s.notes = append(s.notes, fmt.Sprintf("your status line in %s stays; --statusline puts gaffer's into the project, where it hides yours", own.Path))
	}
	return nil
}

// stillUsed reports whether gaffer's lines in .gitignore are needed after this undo. That is so if
// the project's settings of another agent program, which the undo does not change, contain gaffer.
// Without --undo, stillUsed returns false.
func (s *setupPlan) stillUsed() (bool, error) {
	if !s.opts.undo || len(s.programs) == len(agentsettings.Programs()) {
		return false, nil
	}
	var others []agentsettings.Program
	for _, p := range agentsettings.Programs() {
		if !slices.Contains(s.programs, p) {
			others = append(others, p)
		}
	}
	edits, err := s.editor().PlanUndo(s.wish.ProjectFiles(s.root, others))
	return slices.ContainsFunc(edits, agentsettings.Edit.Changes), err
}
