package plan

import (
	"cmp"
	"path/filepath"
	"slices"
	"strings"

	"gaffer/statefile/host"
)

// Limits for the search for prompt files in a folder.
const (
	maxFolders = 2_000
	maxEntries = 100_000
)

// promptIndex holds the paths of the prompt files below a folder.
type promptIndex struct {
	files map[string][]string // paths of the prompt files, by the id at the start of the file's name, for example 001
	names []string            // names of all prompt files, without their folders
	full  bool                // the search ended at a limit, so the index is incomplete
}

func newPromptIndex(h host.Host, root string) *promptIndex {
	x := &promptIndex{files: map[string][]string{}}
	folders, entries := []string{root}, 0
	for at := 0; at < len(folders); at++ {
		list, err := h.ReadDir(readStep, folders[at])
		if err != nil {
			continue // the folder does not exist or cannot be read: search the other folders
		}
		if entries += len(list); entries > maxEntries || len(folders) > maxFolders {
			x.full = true
			return x
		}
		for _, e := range list {
			path := filepath.Join(folders[at], e.Name())
			switch {
			case strings.HasPrefix(e.Name(), ".") || e.Name() == "node_modules":
			case e.IsDir():
				folders = append(folders, path)
			case strings.HasSuffix(e.Name(), ".md"):
				x.add(path)
			}
		}
	}
	return x
}

func (x *promptIndex) add(path string) {
	x.names = append(x.names, filepath.Base(path))
	if m := namedPrompt().FindStringSubmatch(defaultName(path)); m != nil {
		x.files[m[1]] = append(x.files[m[1]], path)
	}
}

// findPrompts reads the prompts of the tasks in a Markdown plan of the format [Orchestrator]. The
// parameter dir is the plan's folder. If a task names a prompt file that exists in dir, findPrompts
// reads that file. Otherwise it reads the file that promptByID finds for the id of the task.
func (l *loader) findPrompts(d *draft, dir string) {
	if len(d.Tasks) > maxTasks {
		return // draft.check has already reported that there are too many tasks
	}
	for i := range d.Tasks {
		t, at := &d.Tasks[i], d.positions[i].prompt
		if t.PromptFile != "" {
			if _, err := l.host.Stat(readStep, under(dir, t.PromptFile)); err == nil {
				l.readPrompt(t, at, []string{dir})
				continue
			}
		}
		file, ok := l.promptByID(t.ID, at, dir)
		if t.PromptFile = file; ok {
			l.readPrompt(t, at, []string{l.opts.Dir})
		}
	}
}

// promptByID returns the path of the prompt file whose name starts with the given id. The parameter
// dir is the plan's folder, or "". promptByID looks in dir first, and then in the folder
// l.opts.PromptsDir and its subfolders. If several files have the id, it returns the least deeply
// nested one, and adds a warning. If no file has the id, it reports a problem.
func (l *loader) promptByID(id string, at position, dir string) (string, bool) {
	if l.ids == nil {
		l.ids = newPromptIndex(l.host, l.opts.PromptsDir)
		if l.ids.full {
			l.warn(position{}, "%s has more folders and files than are looked through for prompts", l.displayPath(l.opts.PromptsDir))
		}
	}
	files := l.ids.files[id]
	if beside := l.planFolderPrompts(dir)[id]; len(beside) > 0 {
		files = beside
	}
	if len(files) == 0 {
		l.report(at, "no prompt has the id %s: found no file %s-….md %s", id, id, l.searchedFolders(dir))
		l.suggest(id, sortedKeys(l.ids.files))
		return "", false
	}
	files = slices.Clone(files)
	slices.SortStableFunc(files, func(a, b string) int {
		return cmp.Or(cmp.Compare(strings.Count(a, "/"), strings.Count(b, "/")), cmp.Compare(a, b))
	})
	if len(files) > 1 {
		l.warn(at, "the id %s belongs to %d files; %s is used", id, len(files), l.displayPath(files[0]))
	}
	return l.displayPath(files[0]), true
}

// planFolderPrompts returns the paths of the prompts in the plan's folder by their ids. It ignores
// subfolders.
func (l *loader) planFolderPrompts(dir string) map[string][]string {
	if dir == "" || dir == l.opts.PromptsDir {
		return nil
	}
	if l.planFolder == nil {
		x := &promptIndex{files: map[string][]string{}}
		list, _ := l.host.ReadDir(readStep, dir) // ignore the error: a folder that cannot be read has no prompts
		for _, e := range list {
			if strings.HasSuffix(e.Name(), ".md") && !e.IsDir() {
				x.add(filepath.Join(dir, e.Name()))
			}
		}
		l.planFolder = x
	}
	return l.planFolder.files
}

func (l *loader) searchedFolders(dir string) string {
	below := "below " + l.displayPath(l.opts.PromptsDir)
	if dir != "" && dir != l.opts.PromptsDir {
		return "beside the plan or " + below
	}
	return below
}
