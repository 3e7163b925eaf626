package plan

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"gaffer/statefile/host"
)

// detect finds out how a plan is written: a folder or file by what is in it,
// anything else by how it looks.
func (l *loader) detect(arg string) (Format, error) {
	if l.opts.Format != "" {
		return l.opts.Format, l.known(l.opts.Format)
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
		return l.folderFormat(arg)
	case err == nil:
		return l.fileFormat(arg)
	case !errors.Is(err, fs.ErrNotExist) && !strings.ContainsAny(arg, " ,"):
		return "", err
	}
	return l.wordFormat(arg)
}

const readStep host.Op = "read plan"

func (l *loader) known(f Format) error {
	if slices.Contains(Formats(), f) {
		return nil
	}
	words := make([]string, len(Formats()))
	for i, f := range Formats() {
		words[i] = string(f)
	}
	return &NameError{Arg: string(f), Problem: "is no format, want " + orList(words), Meant: l.near(string(f), words)}
}

func (l *loader) folderFormat(arg string) (Format, error) {
	entries, err := l.host.ReadDir(readStep, under(l.opts.Dir, arg))
	if err != nil {
		return "", err
	}
	if slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return phaseFile().MatchString(e.Name()) }) {
		return Phase, nil
	}
	return Folder, nil
}

func (l *loader) fileFormat(arg string) (Format, error) {
	switch strings.ToLower(filepath.Ext(arg)) {
	case ".yaml", ".yml", ".json":
		return l.yamlFormat(arg)
	case ".md", ".markdown":
		return l.markdownFormat(arg)
	case ".jsonl":
		return Beads, nil
	}
	return PromptFile, nil
}

// yamlFormat keeps what it has read: a large plan takes long to parse, and who saves
// it at this moment shall not have the format of one and the tasks of the other.
func (l *loader) yamlFormat(arg string) (Format, error) {
	data, err := l.bytes(arg)
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
}

func (l *loader) markdownFormat(arg string) (Format, error) {
	if phaseFile().MatchString(filepath.Base(arg)) {
		return Phase, nil
	}
	data, err := l.bytes(arg)
	if err != nil {
		return "", err
	}
	if isOrchestrator(data) {
		return Orchestrator, nil
	}
	return PromptFile, nil
}

// wordFormat is for what is neither a file nor a folder.
func (l *loader) wordFormat(arg string) (Format, error) {
	if items := splitList(arg); len(items) > 1 && !slices.ContainsFunc(items, hasSpace) {
		return List, nil
	}
	switch {
	case promptID().MatchString(arg):
		return List, nil
	case hasSpace(arg) && !l.looksLikeFile(arg):
		return PromptText, nil
	}
	return "", l.notThere(arg)
}

func hasSpace(s string) bool { return strings.ContainsAny(strings.TrimSpace(s), " \t") }

// looksLikeFile: a text may end in a file's name, but then it has more words,
// and what stands before the last slash is no folder.
func (l *loader) looksLikeFile(arg string) bool {
	ext := strings.ToLower(filepath.Ext(arg))
	if !slices.Contains([]string{".yaml", ".yml", ".md", ".json", ".jsonl"}, ext) {
		return false
	}
	return len(strings.Fields(arg)) < 3 || l.inFolder(arg)
}

// inFolder tells whether the folder is there that a path leads into. Words that
// begin with a slash are commands of some agents, and no paths.
func (l *loader) inFolder(path string) bool {
	folder := filepath.Dir(path)
	if folder == "." || folder == "/" {
		return false
	}
	info, err := l.host.Stat(readStep, under(l.opts.Dir, folder))
	return err == nil && info.IsDir()
}

func (l *loader) notThere(arg string) error {
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

// NameError is something that names no plan.
type NameError struct {
	Arg, Problem string
	Meant        string // what was likely meant
	missing      bool
}

func (e *NameError) Error() string { return fmt.Sprintf("%.80q %s", e.Arg, e.Problem) }

// NotFound marks what could be there and is not.
func (e *NameError) NotFound() bool { return e.missing }

// Usage marks what can never be right.
func (e *NameError) Usage() bool { return !e.missing }

// Hint names what was likely meant.
func (e *NameError) Hint() string {
	if e.Meant != "" {
		return fmt.Sprintf("did you mean %q?", e.Meant)
	}
	return ""
}
