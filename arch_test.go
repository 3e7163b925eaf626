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

// rule says what the packages under a path may import: packages of this module, and other modules.
// All packages may import the standard library.
type rule struct {
	packages string
	ours     []string
	theirs   []string
}

// rules is the architecture. For each package, only the first row that matches it applies. A path
// that ends with /... stands for a package and everything below it. A path that begins with ! is
// excluded again.
var rules = []rule{
	// One JSON document on disk. Other programs may use these packages, so they import nothing of
	// gaffer.
	{"statefile/jsontree", nil, nil},
	{"statefile/...", []string{"statefile/..."}, nil},

	// The file protocols. They import the documents but not each other, so another program can use
	// one of them alone.
	{"session/...", []string{"session/...", "statefile/..."}, nil},
	{"workflow/...", []string{"workflow/...", "statefile/..."}, nil},
	{"team/...", []string{"team/...", "statefile/..."}, nil},
	{"ledger/...", []string{"ledger/...", "statefile/..."}, nil},

	// The HTTP protocol with its client, and the types of every --json output.
	{"fleet", nil, nil},
	{"coordinator/...", []string{"coordinator/...", "fleet"}, nil},

	// Small packages that every area may use.
	{"internal/pause", nil, nil},
	{"internal/exit", nil, nil},
	{"internal/text/...", []string{"internal/text/..."}, []string{"github.com/charmbracelet/x/ansi"}},
	{"internal/yamldoc", nil, []string{"github.com/goccy/go-yaml"}},

	// These packages find the project and gaffer's state folder, and know what the user trusts
	// there.
	{"internal/project/...", []string{"internal/project/..."}, nil},

	// Runs the git program in repositories that the user need not trust.
	{"internal/git", []string{"internal/project/trust", "internal/text/truncate", "statefile/..."}, nil},

	// Runs the programs for GitHub and GitLab.
	{"internal/forge", []string{"internal/text/truncate"}, nil},

	// Reads every plan format into one plan.
	{"internal/plan/...", []string{"internal/plan/...", "internal/engine/permission", "internal/text/...", "internal/yamldoc", "statefile/..."}, []string{"github.com/goccy/go-yaml"}},

	// The engine decides what may happen next. A store keeps rows and has no rules; the engine has
	// the rules and imports no database.
	{"internal/engine/store", []string{"fleet", "statefile/batch"}, nil},
	{"internal/engine/store/sqlite", []string{"internal/engine/store/...", "statefile/host"}, []string{"modernc.org/sqlite"}},
	{"internal/engine/store/postgres/...", []string{"internal/engine/store/..."}, []string{"github.com/jackc/pgx"}},
	{"internal/engine/store/storetest", []string{"internal/engine/store/...", "fleet"}, []string{"github.com/anishathalye/porcupine", "github.com/google/go-cmp"}},
	{"internal/engine/store/...", []string{"internal/engine/store/..."}, nil},
	{"internal/engine/failure", []string{"fleet"}, nil},
	{"internal/engine/review", []string{"fleet", "statefile/lazyregexp"}, nil},
	{"internal/engine/permission", nil, []string{"mvdan.cc/sh"}},
	{"internal/engine/...", []string{"internal/engine", "internal/engine/permission", "internal/engine/selection", "internal/engine/review", "internal/engine/failure", "internal/engine/store", "internal/engine/store/record", "internal/plan/...", "fleet"}, nil},

	// One attempt on one machine. These packages import neither HTTP nor screens.
	{"internal/attempt/account", []string{"internal/plan/secret"}, nil},
	{"internal/attempt/agent/...", []string{"internal/attempt/agent/...", "internal/engine/failure", "internal/engine/permission", "internal/plan/secret", "internal/text/suggest", "internal/text/truncate"}, nil},
	{"internal/attempt/verify", []string{"internal/attempt/verify", "internal/text/truncate", "statefile/...", "workflow"}, []string{"github.com/chromedp"}},
	{"internal/attempt/tmux", []string{"internal/text/truncate"}, []string{"github.com/creack/pty", "golang.org/x/sys"}},
	{"internal/attempt/supervisor", []string{"internal/pause", "internal/text/truncate", "statefile/..."}, []string{"golang.org/x/sys"}},
	{"internal/attempt/...", []string{
		"internal/attempt/...", "internal/engine", "internal/engine/selection", "internal/engine/failure", "internal/engine/store", "internal/git", "internal/pause", "internal/plan/...",
		"internal/project/...", "internal/text/...", "fleet", "statefile/...", "workflow",
	}, nil},

	// Reads the change of a task, and finds the lines that comments belong to after they have
	// moved.
	{"internal/change", []string{"internal/attempt/snapshot", "internal/attempt/worktree", "internal/git", "internal/text/truncate", "fleet"}, []string{"github.com/bluekeyes/go-gitdiff"}},

	// Reads the settings, and where each setting came from.
	{"internal/config", []string{"internal/attempt/account", "internal/attempt/agent", "internal/plan/secret", "internal/project", "internal/text/...", "internal/yamldoc", "statefile/..."}, []string{"github.com/goccy/go-yaml"}},

	// The rules of schedules. The cron expressions are parsed by a library.
	{"internal/flow/schedule", []string{"fleet", "statefile/lazyregexp"}, []string{"github.com/robfig/cron/v3"}},

	// Dispatch, build and team: state machines, prompts and merges on top of the engine.
	{"internal/flow/fork", []string{"internal/attempt/agent", "internal/engine", "internal/plan", "internal/text/truncate", "fleet"}, nil},
	{"internal/flow/...", []string{
		"internal/flow/...", "internal/attempt/runlock", "internal/attempt/supervisor", "internal/attempt/tmux", "internal/attempt/verify",
		"internal/attempt/merge", "internal/attempt/worktree", "internal/config", "internal/engine", "internal/engine/failure", "internal/engine/runquery", "internal/engine/store",
		"internal/forge", "internal/git", "internal/pause", "internal/plan/...", "internal/record/...", "internal/text/...", "internal/yamldoc", "fleet", "ledger", "statefile/...", "team",
		"workflow",
	}, nil},

	// Merges the changes of tasks, and undoes merges.
	{"internal/landing", []string{
		"internal/attempt/merge", "internal/attempt/supervisor", "internal/attempt/workspace", "internal/attempt/worktree", "internal/engine/review", "internal/engine/store",
		"internal/forge", "internal/git", "internal/plan/...", "internal/text/truncate", "fleet",
	}, nil},

	// What gaffer writes because of events: documents, records, notifications. It also prunes them.
	{"internal/record/...", []string{
		"internal/record/...", "internal/engine", "internal/engine/failure", "internal/engine/logstore", "internal/engine/store/...",
		"internal/pause", "internal/plan", "internal/text/truncate", "fleet", "ledger", "session", "statefile/...",
	}, nil},

	// Agents that users start by hand, and tools that gaffer offers to agents.
	{"internal/byhand/agentproc", nil, nil},
	{"internal/byhand/agentsettings", []string{"statefile/..."}, []string{"github.com/pelletier/go-toml/v2"}},
	{"internal/byhand/mcp", []string{
		"internal/byhand/caller", "internal/exit", "internal/plan", "internal/text/...", "fleet", "session", "statefile/...", "team", "workflow",
	}, []string{"github.com/google/jsonschema-go", "github.com/modelcontextprotocol/go-sdk"}},
	{"internal/byhand/...", []string{
		"internal/byhand/...", "internal/attempt/supervisor", "internal/attempt/tmux", "internal/project/statedir", "internal/text/truncate", "coordinator", "fleet", "statefile/...",
	}, nil},

	// HTTP: access, streaming, and one package for each kind of client.
	{"internal/api/credential", []string{"internal/pause"}, nil},
	{"internal/api/server", []string{
		"internal/api/credential", "internal/api/docview", "internal/api/viewers", "internal/pause", "internal/text/truncate", "coordinator/...", "fleet",
	}, []string{"github.com/coder/websocket"}},
	{"internal/api/...", []string{
		"internal/api/...", "internal/change", "internal/engine/...", "!internal/engine/store/sqlite", "!internal/engine/store/postgres", "internal/flow/spec",
		"internal/pause", "internal/plan/...", "internal/project", "internal/record/prune", "internal/record/recorder", "internal/text/truncate", "coordinator", "fleet",
		"ledger", "session", "statefile/...", "team", "workflow",
	}, nil},

	// Connects a command or a worker to its fleet, on this machine or on a server elsewhere.
	{"internal/connect/...", []string{
		"internal/byhand/caller", "internal/engine", "internal/engine/runquery", "internal/engine/store", "internal/pause", "internal/plan/...", "internal/text/truncate",
		"coordinator", "fleet", "statefile/...",
	}, nil},

	// What users look at. Screens import the types of package fleet, and neither a store nor HTTP.
	{"internal/ui/dashboard", []string{"statefile/lazyregexp"}, nil},
	{"internal/ui/tui/program", []string{"internal/ui/tui/parts", "internal/text/..."}, []string{"charm.land/bubbletea", "github.com/charmbracelet/colorprofile"}},
	{"internal/ui/tui/watch", []string{"internal/ui/phrase", "internal/ui/tui/...", "internal/text/...", "fleet"}, []string{"github.com/charmbracelet/x/ansi"}},
	{"internal/ui/tui/review", []string{"internal/ui/phrase", "internal/ui/tui/...", "internal/text/...", "fleet"}, []string{"github.com/charmbracelet/x/ansi"}},
	{"internal/ui/...", []string{
		"internal/ui/...", "internal/engine/failure", "internal/flow/spec", "internal/text/...", "fleet", "ledger", "session", "statefile/jsontree", "workflow",
	}, []string{"golang.org/x/sys"}},

	// These packages construct the parts of gaffer and connect them.
	{"internal/app/demo", []string{"internal/attempt/supervisor"}, nil},
	{"internal/app/doctor", []string{
		"internal/attempt/...", "internal/byhand/caller", "internal/engine", "internal/engine/store", "internal/plan", "internal/record/pending", "fleet", "session",
		"statefile/host",
	}, nil},
	{"internal/app/localrun", []string{
		"internal/attempt/...", "internal/byhand/caller", "internal/engine/...", "!internal/engine/store/...", "internal/engine/store", "internal/flow/...",
		"internal/pause", "internal/plan", "internal/record/...", "fleet", "ledger", "session", "statefile/...",
	}, nil},
	{"internal/app/notifications", []string{
		"internal/config", "internal/engine/store", "internal/record/notify", "internal/ui/phrase", "coordinator", "statefile/...",
	}, nil},
	{"internal/app/retention", []string{
		"internal/app/localrun", "internal/attempt/runlock", "internal/attempt/supervisor", "internal/engine/store", "internal/flow/...", "internal/pause",
		"internal/record/...", "statefile",
	}, nil},
	{"internal/app", []string{"...", "!internal/cli/...", "!cmd/..."}, nil},

	// The commands. They use the packages above, and never import a store directly.
	{"internal/cli/...", []string{"...", "!internal/engine/store/...", "!cmd/..."}, []string{
		"github.com/spf13/cobra", "github.com/spf13/pflag",
	}},
	{"cmd/gaffer", []string{"internal/cli"}, nil},
	{"docs", nil, nil},

	// Packages that only tests use, and tests of the whole program.
	{"internal/testkit/machines", []string{"internal/engine/store/postgres/pgtest"}, []string{"github.com/jackc/pgx", "golang.org/x/sys"}},
	{"internal/testkit/dashboard", []string{"internal/testkit/testenv"}, []string{"github.com/chromedp"}},
	{"internal/testkit/...", nil, nil},
	{"script/ansisvg", []string{"internal/text/cells"}, nil},
	{"script/helpfiles", []string{"internal/cli", "internal/cli/env"}, []string{"github.com/spf13/cobra"}},
	{"script/buildsite", nil, []string{"github.com/yuin/goldmark"}},
	{"script/samplecomments", nil, nil},
	{"script/sbom", nil, nil},
	{"test/browser", []string{"coordinator", "fleet"}, []string{"github.com/chromedp"}},
	{"test/...", []string{"fleet", "test/stubmodel"}, nil},

	// Measurements. They use gaffer's packages as other programs do, and the programs that they
	// compare gaffer with.
	{"bench/server", []string{"bench/...", "internal/engine/store/postgres/pgtest"}, []string{"github.com/jackc/pgx"}},
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

// The brackets in the pattern keep it from matching this file.
var private = regexp.MustCompile(`(^|[^\w.$}-])/w[o]rk\b|\.\./sh[a]red\b`)

func TestNoFileMentionsAPlaceOutsideTheRepository(t *testing.T) {
	out, err := exec.Command("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard").Output()
	if err != nil {
		t.Fatalf("list the repository's files: %v", err)
	}
	for _, file := range strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		data, err := os.ReadFile(file)
		if err != nil || slices.Contains(data, 0) {
			continue // the file is deleted but not committed, a broken link, or not text
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
		return true // a path without a host, such as "net/http", is in the standard library
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
	imports         map[string]string // for each import path, one file that imports it
}

// packages reads all packages from their source files, including files for other operating systems.
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

// isForeign reports whether a folder is not part of this module: the go command ignores it, or it
// is a separate module.
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
