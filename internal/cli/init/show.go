package setup

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"gaffer/internal/byhand/agentsettings"
	"gaffer/internal/text/display"
)

// report is the result of the command, in the form that --json prints.
type report struct {
	Scope    string                  `json:"scope"` // project or user
	Root     string                  `json:"root,omitempty"`
	Programs []agentsettings.Program `json:"programs"`
	Undo     bool                    `json:"undo"`
	Written  bool                    `json:"written"`
	Files    []file                  `json:"files"`
	Next     []string                `json:"next"` // notes: what the user still has to do or should know
}

type file struct {
	Path    string                `json:"path"`
	Program agentsettings.Program `json:"program,omitempty"`
	Action  string                `json:"action"` // create, change, remove or none
	// Kept names those settings of gaffer that it leaves out of the file, because the file already
	// has another program's value for them.
	Kept []string `json:"kept"`
	Diff string   `json:"diff"`
}

func (r report) changes() bool {
	return slices.ContainsFunc(r.Files, func(f file) bool { return f.Action != "none" })
}

func (s *setupPlan) report(edits []agentsettings.Edit) report {
	r := report{Scope: "user", Root: s.root, Programs: s.programs, Undo: s.opts.undo, Files: []file{}, Next: slices.Clone(s.notes)}
	if s.root != "" {
		r.Scope = "project"
	}
	for _, e := range edits {
		r.Files = append(r.Files, file{
			Path: e.File.Path, Program: e.File.Program, Action: action(e), Kept: append([]string{}, e.Kept...), Diff: s.diff(e, false),
		})
		r.Next = append(r.Next, remarks(e)...)
	}
	if r.changes() && !s.opts.undo {
		r.Next = append(r.Next, s.next(edits)...)
	}
	if r.Next == nil {
		r.Next = []string{}
	}
	return r
}

func action(e agentsettings.Edit) string {
	switch {
	case !e.Changes():
		return "none"
	case e.Remove:
		return "remove"
	case !e.Existed:
		return "create"
	}
	return "change"
}

// remarks returns notes for the user about one edited settings file.
func remarks(e agentsettings.Edit) (list []string) {
	if e.NonStandard != "" && e.File.Strict {
		list = append(list, fmt.Sprintf("%s: %s on %s, for which %s ignores the whole file, as it has done before: remove it",
			e.File.Path, positionText(e.NonStandard), positionLine(e.NonStandard), e.File.Program.Title()))
	}
	for _, name := range e.Kept {
		hint := ""
		if name == "status line" {
			hint = "; --statusline replaces it"
		}
		list = append(list, fmt.Sprintf("%s: the %s that is there is not gaffer's and stays%s", e.File.Path, name, hint))
	}
	return list
}

// positionLine and positionText return the two parts of a text such as "line 3: a comment":
// positionLine returns "line 3", and positionText returns "a comment".
func positionLine(loose string) string { at, _, _ := strings.Cut(loose, ": "); return at }
func positionText(loose string) string { _, kind, _ := strings.Cut(loose, ": "); return kind }

// next returns notes about what the user still has to do, such as restarting agents.
func (s *setupPlan) next(edits []agentsettings.Edit) (list []string) {
	changed := func(name string) bool {
		return slices.ContainsFunc(edits, func(e agentsettings.Edit) bool { return e.Changes() && filepath.Base(e.File.Path) == name })
	}
	if changed("hooks.json") {
		list = append(list, "Codex asks you once to review the hooks, when you next start it; until then, and in 'codex exec', it does not run them")
	}
	if s.root != "" && (changed("hooks.json") || changed("config.toml")) {
		list = append(list, "Codex reads a project's .codex only if it trusts the folder, which it asks you when you start it there")
	}
	if changed(".mcp.json") {
		list = append(list, "Claude Code asks each user once whether it may start the server in .mcp.json")
	}
	return append(list, "running sessions do not use it yet: restart them")
}

// diff returns the change of a file in the format of 'diff -u'.
func (s *setupPlan) diff(e agentsettings.Edit, color bool) string {
	if !e.Changes() {
		return ""
	}
	old, made := e.File.Path, e.File.Path
	if !e.Existed {
		old = "/dev/null"
	}
	if e.Remove {
		made = "/dev/null"
	}
	paint := func(style display.Style, text string) string {
		text = display.PrintableLines(strings.TrimSuffix(strings.ReplaceAll(text, "\r\n", "\n"), "\r"))
		if !color {
			return text + "\n"
		}
		return s.env.Paint(s.env.Out, style, text) + "\n"
	}
	var b strings.Builder
	b.WriteString(paint(display.Bold, "--- "+old) + paint(display.Bold, "+++ "+made))
	after := e.New
	if e.Remove {
		after = nil
	}
	for _, l := range agentsettings.Diff(e.Old, after) {
		switch l.Mark {
		case '@':
			b.WriteString(paint(display.Faint, l.Text))
		case '+':
			b.WriteString(paint(display.Green, "+"+l.Text))
		case '-':
			b.WriteString(paint(display.Red, "-"+l.Text))
		default:
			b.WriteString(paint("", " "+l.Text))
		}
	}
	return b.String()
}

func (s *setupPlan) showDiffs(edits []agentsettings.Edit) error {
	for _, e := range edits {
		if err := s.env.Printf("%s", s.diff(e, true)); err != nil {
			return err
		}
	}
	return nil
}

// printReport prints the result as text for the user.
func (s *setupPlan) printReport(r report) error {
	done := map[string]string{"create": "made", "change": "changed", "remove": "removed"}
	switch {
	case !r.changes() && r.Undo:
		s.env.Talk("nothing of gaffer's is in %s settings", s.whose())
	case !r.changes():
		s.env.Talk("nothing to do: it is all in %s settings", s.whose())
	case !r.Written:
		s.env.Talk("nothing was written")
	}
	for _, f := range r.Files {
		if r.Written && f.Action != "none" {
			s.env.Talk("%s %s", done[f.Action], display.Printable(f.Path))
		}
	}
	for _, text := range r.Next {
		s.env.Talk("note: %s", display.Printable(text))
	}
	if r.Written && !r.Undo {
		s.env.Talk("'gaffer init --undo' takes it out again")
	}
	return nil
}

func (s *setupPlan) whose() string {
	if s.root == "" {
		return "your"
	}
	return "the project's"
}
