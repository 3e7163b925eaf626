package plan

import (
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"gaffer/statefile"

	"gaffer/statefile/lazyregexp"
)

var (
	// promptID matches a text that is the id of a prompt, for example 001, 001-02 or gh-12.
	promptID = lazyregexp.New(`^(\d{3}(?:-\d{2})?|gh-\d+)$`)
	// namedPrompt matches the name of a prompt file without its extension, if the name begins with
	// an id. For example, it matches 001-setup.
	namedPrompt = lazyregexp.New(`^(\d{3}(?:-\d{2})?|gh-\d+)(?:-(.*))?$`)
)

func promptText(text string) draft {
	d := draft{Plan: Plan{Name: firstLine(strings.TrimSpace(text)), Source: SourceRunPrompt, OnFailure: Continue}}
	d.add(Task{ID: "prompt", Name: d.Name, Prompt: text, QuestionRules: QuestionRules{Questions: Ask}}, taskPositions{})
	return d
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}

func (l *loader) readPromptFile(arg string) (draft, error) {
	if _, err := l.host.Stat(readStep, under(l.opts.Dir, arg)); err != nil {
		return draft{}, err
	}
	d := draft{Plan: Plan{Name: defaultName(arg), Source: SourceRunPrompt, SourceFile: arg, OnFailure: Continue}}
	l.addFiles(&d, []string{arg})
	return d, nil
}

// readPromptFolder returns a plan that has one task for each Markdown file in a folder. It leaves
// out README.md, hidden files, and files that are plans. The tasks do not depend on each other.
func (l *loader) readPromptFolder(arg string) (draft, error) {
	entries, err := l.host.ReadDir(readStep, under(l.opts.Dir, arg))
	if err != nil {
		return draft{}, err
	}
	d := draft{Plan: Plan{Name: filepath.Base(under(l.opts.Dir, arg)), Source: SourceOrchestrate, SourceFile: arg, OnFailure: Continue}}
	var files []string
	for _, e := range entries {
		if name := e.Name(); strings.HasSuffix(name, ".md") && !e.IsDir() && name[0] != '.' && !strings.EqualFold(name, "readme.md") {
			files = append(files, filepath.Join(arg, name))
		}
	}
	// Leave out files that are plans. A plan names other prompts. So an agent that got a plan as
	// its prompt would do the work of these other prompts.
	files = slices.DeleteFunc(files, func(file string) bool {
		data, err := l.readFile(file)
		isPlan := err == nil && isOrchestrator(data)
		if isPlan {
			l.warnings = append(l.warnings, Problem{File: file, Text: "is a plan of its own and is left out here; name the file to use it"})
		}
		return isPlan
	})
	if len(files) == 0 {
		l.report(position{}, "found no prompts in the folder, want files such as 001-name.md")
		return d, nil
	}
	l.addFiles(&d, files)
	return d, nil
}

// readList returns a plan from arg, which is a list of ids and file names of prompts, separated by
// commas. The plan has one task for each of them. The tasks do not depend on each other.
func (l *loader) readList(arg string) draft {
	items := splitList(arg)
	d := draft{Plan: Plan{Name: strings.Join(items, ","), Source: SourceOrchestrate, OnFailure: Continue}}
	if len(items) == 1 {
		d.Source = SourceRunPrompt
	}
	var files []string
	for _, item := range items {
		if file, ok := l.listedFile(item); ok {
			files = append(files, file)
		}
	}
	l.addFiles(&d, files)
	return d
}

func splitList(arg string) []string {
	var items []string
	for item := range strings.SplitSeq(arg, ",") {
		if item = strings.TrimSpace(item); item != "" {
			items = append(items, item)
		}
	}
	return items
}

func (l *loader) listedFile(item string) (string, bool) {
	if promptID().MatchString(item) {
		return l.promptByID(item, position{}, "")
	}
	if _, err := l.host.Stat(readStep, under(l.opts.Dir, item)); err == nil {
		return item, true
	}
	l.report(position{}, "%q is no prompt's file, and no id such as 001 or 001-02", item)
	if near, ok := l.notFoundError(item).(*NameError); ok { //nolint:errorlint // notFoundError always returns this type
		l.problems[len(l.problems)-1].Suggestion = near.Meant
	}
	return "", false
}

// addFiles adds a task for each prompt file. The id of the task is the id at the start of the
// file's name. If another file has the same id, the id of the task is the whole name of the file,
// without its extension.
func (l *loader) addFiles(d *draft, files []string) {
	count := map[string]int{}
	for _, file := range files {
		count[idOf(file)]++
	}
	for _, file := range files {
		id, name := idOf(file), defaultName(file)
		if count[id] > 1 {
			id = defaultName(file)
		}
		t := Task{ID: id, Name: name, PromptFile: file, QuestionRules: QuestionRules{Questions: Ask}}
		if m := namedPrompt().FindStringSubmatch(name); m != nil && m[2] != "" {
			t.Name = m[2]
		}
		d.add(t, taskPositions{})
	}
	d.check(&l.reporter, "prompt")
	l.readPrompts(d, l.opts.Dir)
}

func idOf(file string) string {
	name := defaultName(file)
	if m := namedPrompt().FindStringSubmatch(name); m != nil {
		return m[1]
	}
	return name
}

// readPrompts reads the prompts of the tasks that name a prompt file. It looks for the file in each
// of the folders dirs, and reads the first that it finds.
func (l *loader) readPrompts(d *draft, dirs ...string) {
	if len(d.Tasks) > maxTasks {
		return // draft.check has already reported that there are too many tasks
	}
	for i := range d.Tasks {
		t := &d.Tasks[i]
		if t.PromptFile == "" || t.Prompt != "" {
			continue
		}
		l.readPrompt(t, d.positions[i].prompt, dirs)
	}
}

func (l *loader) readPrompt(t *Task, at position, dirs []string) {
	var data []byte
	err := fs.ErrNotExist
	path := ""
	for _, dir := range dirs {
		path = under(dir, t.PromptFile)
		if data, err = statefile.ReadBytes(l.host, path); !errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	l.loaded += len(data)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		l.report(at, "the prompt's file %q does not exist", t.PromptFile)
		l.suggestFile(t.PromptFile, dirs)
	case err != nil:
		l.report(at, "the prompt's file %q cannot be read: %s", t.PromptFile, withoutPath(err))
	case len(data) > maxPrompt:
		l.report(at, "the prompt's file %q has %d KiB, want %d at most", t.PromptFile, len(data)>>10, maxPrompt>>10)
	case strings.TrimSpace(string(data)) == "":
		l.report(at, "the prompt's file %q is empty", t.PromptFile)
	case l.loaded > maxPrompts:
		l.report(at, "the prompts have more than %d MiB together", maxPrompts>>20)
	default:
		t.Prompt, t.PromptFile = string(data), l.displayPath(path)
	}
}

// withoutPath returns the text of an error without the path of the file. The caller adds that text
// to a message that already contains the path.
func withoutPath(err error) string {
	if e, ok := errors.AsType[*statefile.FormError](err); ok {
		return e.Problem
	}
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err.Error()
	}
	return err.Error()
}

func (l *loader) suggestFile(name string, dirs []string) {
	for _, dir := range dirs {
		entries, err := l.host.ReadDir(readStep, filepath.Dir(under(dir, name)))
		if err != nil {
			continue
		}
		names := make([]string, len(entries))
		for i, e := range entries {
			names[i] = e.Name()
		}
		if near := l.near(filepath.Base(name), names); near != "" {
			l.problems[len(l.problems)-1].Suggestion = filepath.ToSlash(filepath.Join(filepath.Dir(name), near))
			return
		}
	}
}

// displayPath returns a path as it is shown in messages. A path below l.opts.Dir, which is usually
// the working directory, becomes relative to it.
func (l *loader) displayPath(path string) string {
	rel, err := filepath.Rel(l.opts.Dir, path)
	if err != nil || rel == ".." || strings.HasPrefix(rel, "../") {
		return path
	}
	return filepath.ToSlash(rel)
}
