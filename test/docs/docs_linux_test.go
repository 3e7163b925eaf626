package docs

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/rogpeppe/go-internal/txtar"

	"gaffer/internal/engine/store/postgres/pgtest"
	"gaffer/internal/testkit/testenv"
)

const root = "../.."

// fewest is the minimum number of blocks that must be run or checked. It ensures that a mistake in
// this test does not skip most of them. Raise it when pages get more blocks.
const fewest = 65

// tally counts the blocks of all pages by what the test did with them.
type tally struct{ run, checked, compared, pictures, skipped, pages atomic.Int32 }

func TestEveryBlockOfTheDocumentationDoesWhatItsPageSays(t *testing.T) {
	testenv.Integration(t)
	pages := documentation(t)
	var n tally
	t.Run("pages", func(t *testing.T) {
		for _, path := range pages {
			name := strings.TrimSuffix(path, ".md")
			text, err := os.ReadFile(filepath.Join(root, path))
			if err != nil {
				t.Fatal(err)
			}
			fixture, err := txtar.ParseFile(filepath.Join("testdata", name+".txtar"))
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				t.Fatal(err)
			}
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				runPage(t, fixture, string(text), &n)
			})
			if fixture != nil && slices.ContainsFunc(fixture.Files, func(f txtar.File) bool { return f.Name == "inline" }) {
				t.Run(name+"/inline", func(t *testing.T) {
					t.Parallel()
					runInline(t, newProject(t, fixture), string(text))
				})
			}
		}
	})
	t.Logf("%d of %d pages: %d blocks run, %d checked, %d compared with output, %d not run; %d pictures",
		n.pages.Load(), len(pages), n.run.Load(), n.checked.Load(), n.compared.Load(), n.skipped.Load(), n.pictures.Load())
	if int(n.pages.Load()) != len(pages) {
		return // not all pages were tested: -run selected some, or a test has failed
	}
	if done := n.run.Load() + n.checked.Load() + n.compared.Load(); done < fewest {
		t.Errorf("only %d blocks were run, checked or compared, want %d at least", done, fewest)
	} else if n.skipped.Load()*10 > done {
		t.Errorf("%d blocks are not run, want a tenth at most", n.skipped.Load())
	}
}

// documentation returns the paths of the pages: those at the root, all of docs, and the README
// files of examples and integrations.
func documentation(t *testing.T) (pages []string) {
	t.Helper()
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/*/*.md", "examples/*/README.md", "integrations/README.md", "integrations/*/README.md"} {
		found, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil || len(found) == 0 {
			t.Fatalf("%s: %d pages, %v", pattern, len(found), err)
		}
		for _, path := range found {
			path, err := filepath.Rel(root, path)
			if err != nil {
				t.Fatal(err)
			}
			pages = append(pages, filepath.ToSlash(path))
		}
	}
	return pages
}

func runPage(t *testing.T, fixture *txtar.Archive, text string, n *tally) {
	items, err := parse(text)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(items, func(i item) bool { return i.block != nil }) {
		n.pages.Add(1)
		return
	}
	p := newProject(t, fixture)
	if strings.Contains(text, "$POSTGRES") {
		database, err := pgtest.Start("fsync=off")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := database.Stop(); err != nil {
				t.Error(err)
			}
		})
		p.env = append(p.env, "POSTGRES="+database.URL)
	}
	s := newShell(t, p)
	last := "" // output of the last command, which a text block may show
	for _, i := range items {
		b := i.block
		switch {
		case i.run != "":
			var code int
			if last, code = s.do(i.line, i.run); code != 0 {
				t.Fatalf("line %d: %s: exit code %d\n%s", i.line, i.run, code, last)
			}
			continue
		case i.with[0] != "":
			s.replace = append([]string{i.with[0], i.with[1]}, s.replace...)
			continue
		case b.reason != "":
			n.skipped.Add(1)
			t.Logf("line %d: not run: %s", i.line, b.reason)
			continue
		}
		if b.file != "" {
			p.write(t, b.file, strings.Join(b.lines, "\n")+"\n")
		}
		switch b.language {
		case "sh", "bash":
			list := commands(i.line, b.lines)
			if len(list) == 0 {
				t.Errorf("line %d: the block has no command", i.line)
			}
			for _, c := range list {
				var code int
				last, code = s.do(c.line, c.text)
				if code != 0 {
					t.Errorf("line %d: %s: exit code %d\n%s", c.line, c.text, code, last)
				}
			}
			n.run.Add(1)
		case "console":
			list, err := prompts(i.line, b.lines)
			if err != nil {
				t.Error(err)
			}
			for _, c := range list {
				out, code := s.do(c.line, c.text)
				shows := slices.ContainsFunc(c.shown, func(line string) bool { return strings.HasPrefix(line, "gaffer: ") })
				if (code != 0) != shows {
					t.Errorf("line %d: %s: exit code %d, and the page shows an error: %v\n%s", c.line, c.text, code, shows, out)
				}
				if wrong := mismatch(c.shown, out, p.dir); wrong != "" {
					t.Errorf("line %d: %s: %s:\n%s", c.line, c.text, wrong, out)
				}
			}
			n.run.Add(1)
		case "text":
			if hidden, ok := hidesCommand(b.lines); ok {
				t.Errorf("line %d: %q is a command in a text block", i.line, hidden)
			}
			if !b.follows || last == "" {
				n.pictures.Add(1)
				break
			}
			if wrong := mismatch(b.lines, last, p.dir); wrong != "" {
				t.Errorf("line %d: %s:\n%s", i.line, wrong, last)
			}
			n.compared.Add(1)
		case "yaml", "json", "jsonl", "go":
			if err := check(t, s, b); err != nil {
				t.Errorf("line %d: %v", i.line, err)
			}
			n.checked.Add(1)
		case "sql": // not run here: internal/engine/store/postgres runs the queries of schema.md
			if !strings.HasSuffix(t.Name(), "/docs/schema") {
				t.Errorf("line %d: no test runs the SQL of this page", i.line)
			}
			n.checked.Add(1)
		case "":
			t.Errorf("line %d: the block names no language: sh, console, yaml, json or text", i.line)
		default:
			t.Errorf("line %d: blocks of %s are not known to this test", i.line, b.language)
		}
		if b.language != "sh" && b.language != "bash" {
			last = ""
		}
	}
	s.stop(every)
	n.pages.Add(1)
}

// check checks a document according to its language and its keys.
func check(t *testing.T, s *shell, b *block) error {
	t.Helper()
	text := strings.Join(b.lines, "\n") + "\n"
	switch b.language {
	case "go":
		_, err := parser.ParseFile(token.NewFileSet(), "", "package p\nfunc _() {\n"+text+"}", 0)
		return err
	case "json", "jsonl":
		decoder := json.NewDecoder(strings.NewReader(text))
		for {
			var value any
			if err := decoder.Decode(&value); errors.Is(err, io.EOF) {
				return nil
			} else if err != nil {
				return err
			}
		}
	}
	var document map[string]any
	if err := yaml.Unmarshal([]byte(text), &document); err != nil {
		return err
	}
	_, tasks := document["tasks"]
	_, workflows := document["workflows"]
	if tasks || workflows {
		name := b.file
		if name == "" {
			name = "block.yaml"
			s.write(t, name, text)
		}
		if out, err := s.run("gaffer plan check " + name); err != nil {
			return fmt.Errorf("gaffer plan check: %w\n%s", err, out)
		}
		return nil
	}
	if b.file != "" && !strings.HasSuffix(b.file, "gaffer.yaml") {
		return nil // the block is a file that a command of the page reads
	}
	// The block contains settings: check them in a separate project, in the file that the page
	// names.
	other := newProject(t, nil)
	name := b.file
	if name == "" {
		name = "gaffer.yaml"
	}
	other.write(t, name, text)
	if out, err := other.run("gaffer config"); err != nil {
		return fmt.Errorf("gaffer config: %w\n%s", err, out)
	}
	return nil
}

var inlineCommand = regexp.MustCompile("`(gaffer [^`]+)`")

// runInline runs, for each `gaffer …` in the text of the page, the command that the fixture has for
// it.
func runInline(t *testing.T, p *project, page string) {
	seen := map[string]bool{}
	fenced := false
	for line := range strings.Lines(page) {
		if strings.HasPrefix(line, "```") {
			fenced = !fenced
		}
		for _, m := range inlineCommand.FindAllStringSubmatch(line, -1) {
			span := m[1]
			if fenced || seen[span] {
				continue
			}
			seen[span] = true
			command, ok := p.inline[span]
			if !ok {
				t.Errorf("testdata: no line for `%s`", span)
				continue
			}
			if out, err := p.run(command); err != nil {
				t.Errorf("`%s`: %s: %v\n%s", span, command, err, out)
			}
		}
	}
	for span := range p.inline {
		if !seen[span] {
			t.Errorf("testdata: the page has no `%s`", span)
		}
	}
}
