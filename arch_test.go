package gaffer_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// rule says what the packages under a path may import: of this module, and of
// other modules. The standard library is open to all.
type rule struct {
	packages string
	ours     []string
	theirs   []string
}

// rules is the architecture. The first row that matches a package holds for it.
// A path ending in /... stands for a package and everything below it, and one
// that begins with ! is taken out again.
var rules = []rule{
	// One JSON document on disk. It must be usable by anyone, so it needs nothing.
	{"statefile/jsonview", nil, nil},
	{"statefile/jsontree", []string{"statefile/jsonview"}, nil},
	{"statefile/...", []string{"statefile/..."}, nil},

	// The file protocols know the documents and not each other: a program can
	// take one and leave the rest.
	{"session/...", []string{"session/...", "statefile/..."}, nil},
	{"workflow/...", []string{"workflow/...", "statefile/..."}, nil},
	{"team/...", []string{"team/...", "statefile/..."}, nil},
	{"ledger/...", []string{"ledger/...", "statefile/..."}, nil},

	// What the commands are given: where the project is and how it is set up.
	{"internal/text/display", nil, nil},
	{"internal/suggest", nil, nil},
	{"internal/project", nil, nil},
	{"internal/secret", []string{"statefile/lazyregexp"}, nil},
	{"internal/config", []string{"internal/agent", "internal/project", "internal/secret", "internal/suggest"}, []string{"github.com/goccy/go-yaml"}},

	// What must happen before what. It is pure but for one loader, which reads as
	// carefully as the documents are read.
	{"internal/plan", []string{"statefile/...", "internal/secret", "internal/suggest"}, []string{"github.com/goccy/go-yaml"}},

	// What runs. A store keeps rows and knows no rule; the engine has the rules
	// and knows no database.
	{"internal/store", []string{"statefile/group"}, nil},
	{"internal/store/sqlite", []string{"internal/store/...", "statefile/host"}, []string{"modernc.org/sqlite"}},
	{"internal/store/postgres/...", []string{"internal/store/..."}, []string{"github.com/jackc/pgx"}},
	{"internal/store/storetest", []string{"internal/store/..."}, []string{"github.com/anishathalye/porcupine", "github.com/google/go-cmp"}},
	{"internal/store/...", []string{"internal/store/..."}, nil},
	{"internal/failure", nil, nil},
	{"internal/engine", []string{"internal/failure", "internal/plan", "internal/store"}, nil},

	// One attempt. What the agent programs say is read by pure functions; a
	// process of its own looks after each of them.
	{"internal/agent/...", []string{"internal/agent/...", "internal/failure", "internal/secret", "internal/suggest"}, nil},
	{"internal/supervisor", []string{"statefile/..."}, []string{"golang.org/x/sys"}},

	// What runs as others see it, and the one place that knows everyone.
	{"fleet", nil, nil},
	{"internal/lookout", []string{"fleet", "internal/plan", "internal/store"}, nil},
	{"internal/trust", []string{"internal/statedir"}, nil},
	{"internal/worktree", []string{"internal/trust", "statefile/..."}, nil},
	{"internal/runner", []string{"internal/agent/...", "internal/failure", "fleet", "internal/secret", "internal/supervisor", "statefile/..."}, nil},
	{"internal/worker", []string{"fleet", "internal/agent/...", "internal/engine", "internal/failure", "internal/plan", "internal/runner", "internal/secret", "internal/store", "internal/supervisor", "internal/worktree", "statefile/..."}, nil},
	{"internal/recorder", []string{"internal/engine", "internal/failure", "fleet", "internal/plan", "internal/store", "internal/store/record", "ledger", "session", "statefile/..."}, nil},
	{"internal/prompt", []string{"internal/suggest", "statefile", "statefile/lazyregexp"}, nil},
	{"internal/dispatch", []string{"internal/engine", "internal/plan", "internal/prompt", "internal/suggest"}, nil},
	{"internal/preflight", []string{"internal/agent", "internal/engine", "internal/plan", "internal/secret", "internal/suggest", "internal/supervisor", "internal/worktree", "statefile", "statefile/host"}, nil},
	{"internal/tmux", nil, nil},

	// Agents that users start by hand.
	{"internal/statedir", nil, nil},
	{"internal/agentproc", nil, nil},
	{"internal/caller", []string{"internal/agentproc"}, nil},
	{"internal/heard", []string{"internal/agentproc", "internal/caller", "internal/statedir", "statefile/host", "statefile/jsonview"}, nil},
	{"internal/interactive", []string{"internal/agentproc", "internal/heard", "internal/tmux", "statefile/host", "statefile/jsontree"}, nil},

	{"internal/spec", []string{"statefile/...", "workflow"}, nil},
	{"internal/inboxwork/webpage", nil, nil},
	{"internal/inboxwork", []string{"internal/inboxwork/webpage", "internal/spec", "statefile/...", "workflow"}, nil},
	{"internal/verify", []string{"statefile", "statefile/host", "statefile/lazyregexp", "workflow"}, nil},
	{"internal/build", []string{"internal/failure", "fleet", "internal/plan", "internal/store", "internal/suggest", "statefile/...", "workflow"}, []string{"github.com/goccy/go-yaml"}},
	{"internal/teamwork", []string{"internal/failure", "statefile/...", "team"}, nil},
	{"internal/teammerge", []string{"internal/teamwork", "internal/worktree", "statefile/lazyregexp"}, nil},
	{"internal/roles", []string{"internal/config", "internal/plan", "internal/prompt", "internal/secret", "internal/suggest", "internal/teamwork", "statefile/...", "team"}, nil},
	{"internal/teamrun", []string{"internal/engine", "internal/failure", "internal/plan", "internal/store", "internal/teammerge", "internal/teamwork", "internal/worktree", "team"}, nil},
	{"internal/pane", []string{"internal/agent", "internal/runner", "internal/supervisor", "internal/tui/safe"}, nil},

	// Past one machine. The protocol is for anyone to use; the server has no rules.
	{"coordinator/...", []string{"coordinator/...", "fleet"}, nil},
	{"internal/token", nil, nil},
	{"internal/logstore", []string{"internal/engine", "internal/store"}, nil},
	{"internal/showcase", []string{"internal/spec", "session", "statefile/...", "team", "workflow"}, nil},
	{"internal/viewer", []string{"internal/project", "internal/showcase", "internal/spec", "statefile/...", "team", "workflow"}, nil},
	{"internal/server", []string{"coordinator/...", "fleet", "internal/showcase", "internal/token", "internal/viewer"}, []string{"github.com/coder/websocket"}},
	{"internal/rundesk", []string{"coordinator", "fleet", "internal/desk", "internal/engine", "internal/failure", "internal/lookout", "internal/plan", "internal/recorder", "internal/secret", "internal/server", "internal/store", "internal/token", "ledger", "session"}, nil},
	{"internal/desk", []string{"coordinator", "fleet", "internal/engine", "internal/failure", "internal/lookout", "internal/plan", "internal/server", "internal/store", "internal/token"}, nil},

	// The page that browsers load. It is files and nothing else.
	{"internal/dashboard", nil, nil},
	{"script/ansisvg", []string{"internal/tui/cells"}, nil},
	{"test/stubmodel", nil, nil},
	{"test/stubmodel/stubmodel", []string{"test/stubmodel"}, nil},
	{"test/agents", []string{"fleet", "test/stubmodel"}, nil},
	{"test/docs", nil, nil},
	{"test/hostile", []string{"fleet"}, nil},
	{"test/browser", []string{"coordinator", "fleet"}, []string{"github.com/chromedp"}},

	// What a person is told who looks elsewhere.
	{"internal/notify", []string{"fleet", "internal/failure", "internal/store"}, nil},

	{"internal/prune", []string{"internal/desk", "internal/engine", "internal/logstore", "internal/recorder", "internal/store"}, nil},
	{"internal/distant", []string{"coordinator", "fleet", "internal/caller", "internal/plan"}, nil},

	{"internal/logstore", []string{"internal/engine", "internal/store"}, nil},
	{"internal/workdesk", []string{"coordinator", "fleet", "internal/desk", "internal/engine", "internal/failure", "internal/logstore", "internal/server", "internal/store", "internal/token"}, nil},
	{"internal/remote", []string{"coordinator", "internal/engine", "internal/store", "statefile/..."}, nil},

	// What tests of several packages share.
	{"internal/testenv", nil, nil},

	// Machines for the tests of several of them.
	{"internal/machines", []string{"internal/store/postgres/pgtest"}, []string{"github.com/jackc/pgx", "golang.org/x/sys"}},

	// How a person gets to the dashboard.
	{"docs", nil, nil},
	{"internal/browser", nil, nil},
	{"internal/signpost", []string{"statefile/..."}, nil},
	{"internal/demo", []string{"internal/supervisor"}, nil},

	{"internal/presence", []string{"coordinator", "fleet", "internal/interactive"}, nil},

	// Settings files that other programs own.
	{"internal/settings", []string{"statefile/..."}, nil},

	// What an agent may use as a tool.
	{"internal/mcp", []string{"fleet", "internal/caller", "internal/cli/exit", "internal/plan", "internal/suggest", "session", "statefile/...", "team", "workflow"}, []string{
		"github.com/google/jsonschema-go", "github.com/modelcontextprotocol/go-sdk",
	}},

	{"internal/app", []string{"...", "!internal/cli/...", "!cmd/..."}, nil},

	{"internal/report", []string{"internal/text/display", "internal/tui/cells", "internal/tui/phrase", "ledger"}, nil},
	{"internal/statusline", []string{"internal/text/display", "internal/spec", "fleet", "internal/tui/cells", "internal/tui/phrase", "statefile/jsontree", "workflow"}, nil},
	{"internal/tui/watch", []string{"internal/tui/...", "fleet", "internal/text/display"}, []string{
		"charm.land/bubbletea", "github.com/charmbracelet/colorprofile", "github.com/charmbracelet/x/ansi",
	}},
	{"internal/tui/...", []string{"internal/tui/...", "internal/failure", "fleet", "internal/text/display", "session"}, []string{"golang.org/x/sys"}},

	// The user's side. It asks the packages above for everything and never
	// reaches past them into a store.
	{"internal/cli/exit", nil, nil},
	{"internal/cli/...", []string{"...", "!internal/store/...", "!cmd/..."}, []string{
		"github.com/spf13/cobra", "github.com/spf13/pflag",
	}},
	{"cmd/gaffer", []string{"internal/cli"}, nil},

	// Measurements use the library as its users do, and programs from outside.
	{"bench/server", []string{"internal/store/postgres/pgtest"}, []string{"github.com/jackc/pgx"}},
	{"bench/...", []string{"bench/...", "statefile/...", "session/...", "workflow/...", "team/...", "ledger/..."}, nil},
}

const module = "gaffer"

func TestPackagesImportOnlyWhatTheTableAllows(t *testing.T) {
	for _, p := range packages(t) {
		r, ok := ruleFor(p.path)
		if !ok {
			t.Errorf("%s: no row in the table of imports", p.path)
			continue
		}
		for imported, file := range p.imports {
			if !r.allows(imported) {
				t.Errorf("%s: %s may not import %s", file, p.path, imported)
			}
		}
	}
}

func TestEveryRowOfTheTableHoldsForAPackage(t *testing.T) {
	all := packages(t)
	for _, r := range rules {
		if !slices.ContainsFunc(all, func(p pkg) bool {
			first, _ := ruleFor(p.path)
			return first.packages == r.packages
		}) {
			t.Errorf("row %s holds for no package", r.packages)
		}
	}
}

func TestEveryPackageHasADocComment(t *testing.T) {
	for _, p := range packages(t) {
		if !strings.HasPrefix(p.doc, "Package "+p.name+" ") && !strings.HasPrefix(p.doc, "Command "+path.Base(p.path)+" ") {
			t.Errorf("%s: no comment that begins with %q", p.path, "Package "+p.name)
		}
	}
}

// The brackets keep this file from finding itself.
var private = regexp.MustCompile(`(^|[^\w.$}-])/w[o]rk\b|\.\./sh[a]red\b`)

func TestNoFileMentionsAPlaceOutsideTheRepository(t *testing.T) {
	out, err := exec.Command("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard").Output()
	if err != nil {
		t.Fatalf("list the repository's files: %v", err)
	}
	for _, file := range strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		data, err := os.ReadFile(file)
		if err != nil || slices.Contains(data, 0) {
			continue // deleted and not yet committed, a link to nowhere, or not text
		}
		if at := private.FindIndex(data); at != nil {
			line := 1 + strings.Count(string(data[:at[0]+1]), "\n")
			t.Errorf("%s:%d: mentions %q", file, line, data[at[0]:at[1]])
		}
	}
}

func ruleFor(pkg string) (rule, bool) {
	i := slices.IndexFunc(rules, func(r rule) bool { return matches(r.packages, pkg) })
	if i < 0 {
		return rule{}, false
	}
	return rules[i], true
}

func (r rule) allows(imported string) bool {
	if ours, ok := strings.CutPrefix(imported, module+"/"); ok {
		return listed(r.ours, ours)
	}
	first, _, _ := strings.Cut(imported, "/")
	if !strings.Contains(first, ".") {
		return true // only the standard library has no host in its path
	}
	return slices.ContainsFunc(r.theirs, func(m string) bool { return matches(m+"/...", imported) })
}

func listed(patterns []string, pkg string) bool {
	found := false
	for _, pattern := range patterns {
		if without, ok := strings.CutPrefix(pattern, "!"); ok {
			found = found && !matches(without, pkg)
		} else {
			found = found || matches(pattern, pkg)
		}
	}
	return found
}

func matches(pattern, pkg string) bool {
	if pattern == "..." {
		return true
	}
	if tree, ok := strings.CutSuffix(pattern, "/..."); ok {
		return pkg == tree || strings.HasPrefix(pkg, tree+"/")
	}
	return pkg == pattern
}

// pkg is one package of this module, without its tests.
type pkg struct {
	path, name, doc string
	imports         map[string]string // import path to one file that has it
}

// packages reads the source itself, files for every system included.
func packages(t *testing.T) []pkg {
	t.Helper()
	found := map[string]*pkg{}
	err := filepath.WalkDir(".", func(file string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && isForeign(file, entry.Name()):
			return filepath.SkipDir
		case !strings.HasSuffix(file, ".go"), strings.HasSuffix(file, "_test.go"):
			return nil
		}
		return read(found, file)
	})
	if err != nil {
		t.Fatal(err)
	}
	var list []pkg
	for _, p := range found {
		list = append(list, *p)
	}
	slices.SortFunc(list, func(a, b pkg) int { return strings.Compare(a.path, b.path) })
	return list
}

// isForeign tells the folders that the go command passes over, and modules of
// their own.
func isForeign(dir, name string) bool {
	if dir == "." {
		return false
	}
	_, err := os.Stat(filepath.Join(dir, "go.mod"))
	return err == nil || strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") || name == "testdata"
}

func read(found map[string]*pkg, file string) error {
	f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly|parser.ParseComments)
	if err != nil {
		return err
	}
	dir := filepath.ToSlash(filepath.Dir(file))
	p := found[dir]
	if p == nil {
		p = &pkg{path: dir, name: f.Name.Name, imports: map[string]string{}}
		found[dir] = p
	}
	if f.Doc != nil {
		p.doc = f.Doc.Text()
	}
	return addImports(p, file, f.Imports)
}

func addImports(p *pkg, file string, imports []*ast.ImportSpec) error {
	for _, spec := range imports {
		name, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return err
		}
		p.imports[name] = file
	}
	return nil
}
