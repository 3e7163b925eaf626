package plan

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"gaffer/statefile/host"
	"gaffer/statefile/lazyregexp"
)

// detect returns the format of the plan that arg names. If the user has chosen a format, detect
// returns that format. If arg is the path of a folder or a file, the format depends on its name and
// content. Otherwise, arg may be a prompt or a list of ids, and the format depends on its text.
func (l *loader) detect(arg string) (Format, error) {
	if l.opts.Format != "" {
		return l.opts.Format, l.checkFormat(l.opts.Format)
	}
	if strings.TrimSpace(arg) == "" {
		return "", &NameError{Arg: arg, Problem: "is empty, want a plan's file, a folder, ids or a prompt"}
	}
	if strings.ContainsAny(arg, "\n\x00") {
		return PromptText, nil
	}
	info, err := l.host.Stat(readStep, under(l.opts.Dir, arg))
	switch {
	case err == nil && info.IsDir():
		entries, err := l.host.ReadDir(readStep, under(l.opts.Dir, arg))
		if slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return phaseFile().MatchString(e.Name()) }) {
			return Phase, err
		}
		return Folder, err
	case err == nil:
		return l.fileFormat(arg)
	case !errors.Is(err, fs.ErrNotExist) && !strings.ContainsAny(arg, " ,"):
		return "", err
	}
	items := splitList(arg)
	switch {
	case len(items) > 1 && !slices.ContainsFunc(items, hasSpace), promptID().MatchString(arg):
		return List, nil
	case hasSpace(arg) && !l.looksLikeFile(arg):
		return PromptText, nil
	}
	return "", l.notFoundError(arg)
}

// fileFormat returns the format of the file arg. It stores the parsed tree of a YAML or JSON file
// in l.parsed, so that the file is read and parsed only once. Parsing a large plan is slow. Also,
// the file could change between two reads, and then the format would not match the tasks.
func (l *loader) fileFormat(arg string) (Format, error) {
	switch strings.ToLower(filepath.Ext(arg)) {
	case ".jsonl":
		return Beads, nil
	case ".yaml", ".yml", ".json":
		data, err := l.readFile(arg)
		if err != nil {
			return "", err
		}
		l.file = arg
		root := l.tree(data)
		l.parsed = &parsed{root}
		if root.get("workflows") != nil && root.get("tasks") == nil {
			return WorkflowFile, nil
		}
		return Gaffer, nil
	case ".md", ".markdown":
		if phaseFile().MatchString(filepath.Base(arg)) {
			return Phase, nil
		}
		data, err := l.readFile(arg)
		if err != nil {
			return "", err
		}
		if isOrchestrator(data) {
			return Orchestrator, nil
		}
	}
	return PromptFile, nil
}

// planKey matches a line that begins with the key tasks or workflows. A file with such a line is
// probably a plan.
var planKey = lazyregexp.New(`(?m)^["{]?\s*"?(tasks|workflows)"?\s*:`)

// IsPlan reports whether a file with this name and content is probably a plan, and not a prompt or
// some other file.
func IsPlan(name string, data []byte) bool {
	switch strings.ToLower(filepath.Ext(name)) {
	case ".yaml", ".yml", ".json":
		return planKey().Match(data)
	case ".md", ".markdown":
		return phaseFile().MatchString(filepath.Base(name)) || isOrchestrator(data)
	}
	return false
}

const readStep host.Op = "read plan"

func (l *loader) checkFormat(f Format) error {
	if slices.Contains(Formats(), f) {
		return nil
	}
	words := make([]string, len(Formats()))
	for i, f := range Formats() {
		words[i] = string(f)
	}
	return &NameError{Arg: string(f), Problem: "is no format, want " + orList(words), Meant: l.near(string(f), words)}
}

func hasSpace(s string) bool { return strings.ContainsAny(strings.TrimSpace(s), " \t") }

// looksLikeFile reports whether arg, which contains spaces, is probably the name of a file and not
// a prompt. For that, arg must have the extension of a plan file, such as .yaml. In addition, arg
// must have fewer than three words, or begin with the path of an existing folder. The folder "/"
// does not count, because a prompt may begin with a command of an agent, such as /review.
func (l *loader) looksLikeFile(arg string) bool {
	ext := strings.ToLower(filepath.Ext(arg))
	if !slices.Contains([]string{".yaml", ".yml", ".md", ".json", ".jsonl"}, ext) {
		return false
	}
	if len(strings.Fields(arg)) < 3 {
		return true
	}
	folder := filepath.Dir(arg)
	if folder == "." || folder == "/" {
		return false
	}
	info, err := l.host.Stat(readStep, under(l.opts.Dir, folder))
	return err == nil && info.IsDir()
}

func (l *loader) notFoundError(arg string) error {
	e := &NameError{Arg: arg, Problem: "is no file, folder or id, and a prompt has more than one word", missing: true}
	if hasSpace(arg) {
		e.Problem = "looks like a file and is not there; if it is a prompt, say --format prompt"
	}
	if entries, err := l.host.ReadDir(readStep, filepath.Dir(under(l.opts.Dir, arg))); err == nil {
		names := make([]string, len(entries))
		for i, entry := range entries {
			names[i] = entry.Name()
		}
		if near := l.near(filepath.Base(arg), names); near != "" {
			e.Meant = filepath.Join(filepath.Dir(arg), near)
		}
	}
	return e
}

// NameError reports that an argument of a command does not name a plan.
type NameError struct {
	Arg, Problem string
	Meant        string // the name that the user probably meant; empty if unknown
	missing      bool
}

func (e *NameError) Error() string { return fmt.Sprintf("%.80q %s", e.Arg, e.Problem) }

// NotFound reports whether the argument would be valid if a file with that name existed.
func (e *NameError) NotFound() bool { return e.missing }

// Usage is the opposite of NotFound: it reports whether the argument would be wrong even if a file
// with that name existed.
func (e *NameError) Usage() bool { return !e.missing }

// Hint suggests the name that the user probably meant. It returns "" if that name is unknown.
func (e *NameError) Hint() string {
	if e.Meant != "" {
		return fmt.Sprintf("did you mean %q?", e.Meant)
	}
	return ""
}
