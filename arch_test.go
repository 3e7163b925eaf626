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
	{"internal/text/suggest", nil, nil},
	{"internal/project", nil, nil},
	{"internal/plan/secret", []string{"statefile/lazyregexp"}, nil},
	{"internal/config", []string{"internal/attempt/agent", "internal/project", "internal/plan/secret", "internal/text/suggest"}, []string{"github.com/goccy/go-yaml"}},

	// What must happen before what. It is pure but for one loader, which reads as
	// carefully as the documents are read.
	{"internal/plan", []string{"statefile/...", "internal/plan/secret", "internal/text/suggest"}, []string{"github.com/goccy/go-yaml"}},

	// What runs. A store keeps rows and knows no rule; the engine has the rules
	// and knows no database.
	{"internal/engine/store", []string{"statefile/group"}, nil},
	{"internal/engine/store/sqlite", []string{"internal/engine/store/...", "statefile/host"}, []string{"modernc.org/sqlite"}},
	{"internal/engine/store/postgres/...", []string{"internal/engine/store/..."}, []string{"github.com/jackc/pgx"}},
	{"internal/engine/store/storetest", []string{"internal/engine/store/..."}, []string{"github.com/anishathalye/porcupine", "github.com/google/go-cmp"}},
	{"internal/engine/store/...", []string{"internal/engine/store/..."}, nil},
	{"internal/engine/failure", nil, nil},
	{"internal/engine", []string{"internal/engine/failure", "internal/plan", "internal/engine/store"}, nil},

	// One attempt. What the agent programs say is read by pure functions; a
	// process of its own looks after each of them.
	{"internal/attempt/agent/...", []string{"internal/attempt/agent/...", "internal/engine/failure", "internal/plan/secret", "internal/text/suggest"}, nil},
	{"internal/attempt/supervisor", []string{"statefile/..."}, []string{"golang.org/x/sys"}},

	// What runs as others see it, and the one place that knows everyone.
	{"fleet", nil, nil},
	{"internal/engine/runquery", []string{"fleet", "internal/plan", "internal/engine/store"}, nil},
	{"internal/project/trust", []string{"internal/project/statedir"}, nil},
	{"internal/attempt/worktree", []string{"internal/project/trust", "statefile/..."}, nil},
	{"internal/attempt/runner", []string{"internal/attempt/agent/...", "internal/engine/failure", "fleet", "internal/plan/secret", "internal/attempt/supervisor", "statefile/..."}, nil},
	{"internal/attempt/worker", []string{"fleet", "internal/attempt/agent/...", "internal/engine", "internal/engine/failure", "internal/plan", "internal/attempt/runner", "internal/plan/secret", "internal/engine/store", "internal/attempt/supervisor", "internal/attempt/worktree", "statefile/..."}, nil},
	{"internal/record/recorder", []string{"internal/engine", "internal/engine/failure", "fleet", "internal/plan", "internal/engine/store", "internal/engine/store/record", "ledger", "session", "statefile/..."}, nil},
	{"internal/flow/prompt", []string{"internal/text/suggest", "statefile", "statefile/lazyregexp"}, nil},
	{"internal/flow/dispatch", []string{"internal/engine", "internal/plan", "internal/flow/prompt", "internal/text/suggest"}, nil},
	{"internal/attempt/preflight", []string{"internal/attempt/agent", "internal/engine", "internal/plan", "internal/plan/secret", "internal/text/suggest", "internal/attempt/supervisor", "internal/attempt/worktree", "statefile", "statefile/host"}, nil},
	{"internal/attempt/tmux", nil, nil},

	// Agents that users start by hand.
	{"internal/project/statedir", nil, nil},
	{"internal/byhand/agentproc", nil, nil},
	{"internal/byhand/caller", []string{"internal/byhand/agentproc"}, nil},
	{"internal/byhand/hookevents", []string{"internal/byhand/agentproc", "internal/byhand/caller", "internal/project/statedir", "statefile/host", "statefile/jsonview"}, nil},
	{"internal/byhand/discover", []string{"internal/byhand/agentproc", "internal/byhand/hookevents", "internal/attempt/tmux", "statefile/host", "statefile/jsontree"}, nil},

	{"internal/flow/spec", []string{"statefile/...", "workflow"}, nil},
	{"internal/flow/inbox/webpage", nil, nil},
	{"internal/flow/inbox", []string{"internal/flow/inbox/webpage", "internal/flow/spec", "statefile/...", "workflow"}, nil},
	{"internal/attempt/verify", []string{"statefile", "statefile/host", "statefile/lazyregexp", "workflow"}, nil},
	{"internal/flow/build", []string{"internal/engine/failure", "fleet", "internal/plan", "internal/engine/store", "internal/text/suggest", "statefile/...", "workflow"}, []string{"github.com/goccy/go-yaml"}},
	{"internal/flow/teamstate", []string{"internal/engine/failure", "statefile/...", "team"}, nil},
	{"internal/flow/teammerge", []string{"internal/flow/teamstate", "internal/attempt/worktree", "statefile/lazyregexp"}, nil},
	{"internal/flow/roles", []string{"internal/config", "internal/plan", "internal/flow/prompt", "internal/plan/secret", "internal/text/suggest", "internal/flow/teamstate", "statefile/...", "team"}, nil},
	{"internal/flow/teamrun", []string{"internal/engine", "internal/engine/failure", "internal/plan", "internal/engine/store", "internal/flow/teammerge", "internal/flow/teamstate", "internal/attempt/worktree", "team"}, nil},
	{"internal/attempt/pane", []string{"internal/attempt/agent", "internal/attempt/runner", "internal/attempt/supervisor", "internal/text/safe"}, nil},

	// Past one machine. The protocol is for anyone to use; the server has no rules.
	{"coordinator/...", []string{"coordinator/...", "fleet"}, nil},
	{"internal/api/credential", nil, nil},
	{"internal/engine/logstore", []string{"internal/engine", "internal/engine/store"}, nil},
	{"internal/api/docview", []string{"internal/flow/spec", "session", "statefile/...", "team", "workflow"}, nil},
	{"internal/api/viewers", []string{"internal/project", "internal/api/docview", "internal/flow/spec", "statefile/...", "team", "workflow"}, nil},
	{"internal/api/server", []string{"coordinator/...", "fleet", "internal/api/docview", "internal/api/credential", "internal/api/viewers"}, []string{"github.com/coder/websocket"}},
	{"internal/api/runs", []string{"coordinator", "fleet", "internal/api/protocol", "internal/engine", "internal/engine/failure", "internal/engine/runquery", "internal/plan", "internal/record/recorder", "internal/plan/secret", "internal/api/server", "internal/engine/store", "internal/api/credential", "ledger", "session"}, nil},
	{"internal/api/protocol", []string{"coordinator", "fleet", "internal/engine", "internal/engine/failure", "internal/engine/runquery", "internal/plan", "internal/api/server", "internal/engine/store", "internal/api/credential"}, nil},

	// The page that browsers load. It is files and nothing else.
	{"internal/ui/dashboard", nil, nil},
	{"script/ansisvg", []string{"internal/text/cells"}, nil},
	{"test/stubmodel", nil, nil},
	{"test/stubmodel/stubmodel", []string{"test/stubmodel"}, nil},
	{"test/agents", []string{"fleet", "test/stubmodel"}, nil},
	{"test/docs", nil, nil},
	{"test/hostile", []string{"fleet"}, nil},
	{"test/browser", []string{"coordinator", "fleet"}, []string{"github.com/chromedp"}},

	// What a person is told who looks elsewhere.
	{"internal/record/notify", []string{"fleet", "internal/engine/failure", "internal/engine/store"}, nil},

	{"internal/record/prune", []string{"internal/api/protocol", "internal/engine", "internal/engine/logstore", "internal/record/recorder", "internal/engine/store"}, nil},
	{"internal/connect/serverfleet", []string{"coordinator", "fleet", "internal/byhand/caller", "internal/plan"}, nil},

	{"internal/engine/logstore", []string{"internal/engine", "internal/engine/store"}, nil},
	{"internal/api/workers", []string{"coordinator", "fleet", "internal/api/protocol", "internal/engine", "internal/engine/failure", "internal/engine/logstore", "internal/api/server", "internal/engine/store", "internal/api/credential"}, nil},
	{"internal/connect/workerclient", []string{"coordinator", "internal/engine", "internal/engine/store", "statefile/..."}, nil},

	// What tests of several packages share.
	{"internal/testkit/testenv", nil, nil},

	// Machines for the tests of several of them.
	{"internal/testkit/machines", []string{"internal/engine/store/postgres/pgtest"}, []string{"github.com/jackc/pgx", "golang.org/x/sys"}},

	// How a person gets to the dashboard.
	{"docs", nil, nil},
	{"internal/ui/browser", nil, nil},
	{"internal/connect/localservers", []string{"statefile/..."}, nil},
	{"internal/app/demo", []string{"internal/attempt/supervisor"}, nil},

	{"internal/byhand/register", []string{"coordinator", "fleet", "internal/byhand/discover"}, nil},

	// Settings files that other programs own.
	{"internal/byhand/agentsettings", []string{"statefile/..."}, nil},

	// What an agent may use as a tool.
	{"internal/byhand/mcp", []string{"fleet", "internal/byhand/caller", "internal/exit", "internal/plan", "internal/text/suggest", "session", "statefile/...", "team", "workflow"}, []string{
		"github.com/google/jsonschema-go", "github.com/modelcontextprotocol/go-sdk",
	}},

	{"internal/app", []string{"...", "!internal/cli/...", "!cmd/..."}, nil},

	{"internal/ui/report", []string{"internal/text/display", "internal/text/cells", "internal/ui/phrase", "ledger"}, nil},
	{"internal/ui/statusline", []string{"internal/text/display", "internal/flow/spec", "fleet", "internal/text/cells", "internal/ui/phrase", "statefile/jsontree", "workflow"}, nil},
	{"internal/ui/tui/watch", []string{"internal/ui/tui/...", "fleet", "internal/text/display"}, []string{
		"charm.land/bubbletea", "github.com/charmbracelet/colorprofile", "github.com/charmbracelet/x/ansi",
	}},
	{"internal/ui/tui/...", []string{"internal/ui/tui/...", "internal/engine/failure", "fleet", "internal/text/display", "session"}, []string{"golang.org/x/sys"}},

	// The user's side. It asks the packages above for everything and never
	// reaches past them into a store.
	{"internal/exit", nil, nil},
	{"internal/cli/...", []string{"...", "!internal/engine/store/...", "!cmd/..."}, []string{
		"github.com/spf13/cobra", "github.com/spf13/pflag",
	}},
	{"cmd/gaffer", []string{"internal/cli"}, nil},

	// Measurements use the library as its users do, and programs from outside.
	{"bench/server", []string{"internal/engine/store/postgres/pgtest"}, []string{"github.com/jackc/pgx"}},
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
