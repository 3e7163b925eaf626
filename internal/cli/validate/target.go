package validate

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"gaffer/internal/exit"
	"gaffer/team"
	"gaffer/workflow"
)

// kind is a kind of documents that can be validated. Its value is the name of the kind's flag, such
// as "runs". The kinds ledgers and unknown have no flag.
type kind string

const (
	runs      kind = "runs"
	results   kind = "results"
	sessions  kind = "sessions"
	workflows kind = "workflow"
	teams     kind = "team"
	ledgers   kind = "ledger" // run and result records, and the references between them
	all       kind = "all"
	unknown   kind = ""
)

// kindMark is a flag on the command line that selects a kind of documents, such as --runs, together
// with the position of the flag.
type kindMark struct {
	kind kind
	at   int // number of paths before the flag
}

// target is what to validate: the documents of a kind at path or, if path is empty, the project's
// own documents of that kind. If the kind of a path is unknown, the function resolve infers it.
type target struct {
	kind kind
	path string
}

// assignKinds returns the targets for the paths and the flags on the command line. The parameter
// marks holds the flags, each of which selects a kind of documents:
//   - If there are no paths, and there is no flag or one of them is --all, the only target is
//     everything in the project.
//   - If all flags select the same kind, every path gets this kind.
//   - If the flags select several kinds, each path gets the kind of the last flag before it.
//   - A path without a flag, or whose flag is --all, gets the kind unknown.
//   - If a flag other than --all selects a kind that no path gets, the project's own documents of
//     this kind are a target too.
func assignKinds(marks []kindMark, paths []string) []target {
	kinds := kindsOf(marks)
	if len(paths) == 0 && (len(kinds) == 0 || slices.Contains(kinds, all)) {
		return []target{{kind: all}}
	}
	var targets []target
	named := map[kind]bool{}
	for i, path := range paths {
		k := flagBefore(marks, i)
		if len(kinds) == 1 {
			k = kinds[0]
		}
		if k == all {
			k = unknown
		}
		named[k] = true
		targets = append(targets, target{k, path})
	}
	for _, k := range kinds {
		if k != all && !named[k] {
			targets = append(targets, target{kind: k})
		}
	}
	return targets
}

func kindsOf(marks []kindMark) []kind {
	var kinds []kind
	for _, m := range marks {
		if !slices.Contains(kinds, m.kind) {
			kinds = append(kinds, m.kind)
		}
	}
	return kinds
}

// flagBefore returns the kind of the last flag before the i-th path. It returns unknown if no flag
// comes before the path.
func flagBefore(marks []kindMark, i int) kind {
	k := unknown
	for _, m := range marks {
		if m.at <= i {
			k = m.kind
		}
	}
	return k
}

// infer determines the kind of the documents at path. For a file, it uses the name of the file and
// of its folder. For a folder, it uses the name of the folder and of the files in it.
func infer(path string) (kind, error) {
	name, parent := filepath.Base(path), filepath.Base(filepath.Dir(path))
	info, err := os.Stat(path)
	if err != nil {
		return unknown, err
	}
	k := fileKind(name, parent)
	if info.IsDir() {
		k = folderKind(path, name)
	}
	if k == unknown {
		return unknown, exit.WithHint(exit.Usage(fmt.Errorf("%s: cannot tell what kind of document this is", path)),
			"say it with --runs, --results, --sessions, --workflow or --team")
	}
	return k, nil
}

func fileKind(name, parent string) kind {
	switch {
	case parent == string(runs) || parent == string(results):
		return kind(parent)
	case name == "status.json":
		return sessions
	case name == workflow.StateFile || name == workflow.InboxFile:
		return workflows
	}
	if _, ok := teamDocument(name); ok {
		return teams
	}
	return unknown
}

func teamDocument(name string) (team.Document, bool) {
	d := team.Document(strings.TrimSuffix(name, ".json"))
	return d, slices.Contains(team.Documents(), d)
}

func folderKind(path, name string) kind {
	holds := func(names ...string) bool {
		return slices.ContainsFunc(names, func(n string) bool {
			_, err := os.Stat(filepath.Join(path, n))
			return err == nil
		})
	}
	switch {
	case name == string(runs) || name == string(results):
		return kind(name)
	case holds(string(runs), string(results)):
		return ledgers
	case name == "sessions" || holds("sessions", "active-session"):
		return sessions
	case holds(workflow.StateFile, workflow.InboxFile):
		return workflows
	case slices.ContainsFunc(team.Documents(), func(d team.Document) bool { return holds(d.Path()) }):
		return teams
	}
	return unknown
}
