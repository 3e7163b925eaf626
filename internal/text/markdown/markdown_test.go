package markdown

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/text"

	"gaffer/internal/text/cells"
)

func TestAPageIsReadableWithoutColour(t *testing.T) {
	const page = "# Title\n\nA paragraph with `code`, a [link](other.md) and\n**bold text** that is wrapped.\n\n<!-- run: hidden\n-->\n\n" +
		"## Part\n\n- one item that is longer than the line\n- two\n  goes on\n\n" +
		"| key | text |\n| --- | --- |\n| `a` | what `a\\|b` is, in a text that is longer than one line has columns |\n\n```sh\ngaffer run   # not wrapped, however long it is in the page\n```\n"
	const want = `Title
  A paragraph with code, a link and bold
  text that is wrapped.

Part
  - one item that is longer than the line
  - two goes on

  key  text
  a    what a|b is, in a text that is
       longer than one line has columns

    gaffer run   # not wrapped, however long it is in the page
`
	if got := Format(page, 42, Style{}); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestATableThatIsTooNarrowBecomesAList(t *testing.T) {
	const page = "| key | type | text |\n| --- | --- | --- |\n| `a_long_key_of_a_plan` | number, 1 to 100 | what it is for, in some words |\n| `b` | text | more |\n"
	const want = `  a_long_key_of_a_plan
      type: number, 1 to 100
      text: what it is for, in some words
  b
      type: text
      text: more
`
	if got := Format(page, 50, Style{}); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestStylesAreForWordsAndDoNotCountAsColumns(t *testing.T) {
	style := Style{Heading: func(s string) string { return "<h>" + s }, Code: func(s string) string { return "\x1b[1m" + s + "\x1b[0m" }}
	got := Format("# Head\n\nSee `gaffer run` now.\n", 16, style)
	if want := "<h>Head\n  See \x1b[1mgaffer\x1b[0m \x1b[1mrun\x1b[0m\n  now.\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// pages returns the pages of the documentation.
func pages(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, pattern := range []string{"*.md", "*/*.md"} {
		files, err := filepath.Glob(filepath.Join("../../../docs", pattern))
		if err != nil || len(files) == 0 {
			t.Fatalf("%d pages, %v", len(files), err)
		}
		for _, file := range files {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			all[strings.TrimPrefix(file, "../../../")] = string(data)
		}
	}
	return all
}

// A complete parser finds the same words in every page. So no page uses Markdown that this package
// does not know.
func TestEveryPageHasTheWordsThatACompleteParserFinds(t *testing.T) {
	for name, page := range pages(t) {
		got, want := strings.Fields(Format(page, 100_000, Style{})), wordsOf(page)
		for i := range min(len(got), len(want)) {
			if got[i] != want[i] {
				t.Errorf("%s: found %q after %q, want %q", name, got[i], strings.Join(got[max(0, i-5):i], " "), want[i])
				break
			}
		}
		if len(got) != len(want) {
			t.Errorf("%s: %d words, want %d", name, len(got), len(want))
		}
	}
}

// wordsOf returns the words of a page that a reader sees, as goldmark parses it.
func wordsOf(page string) []string {
	source := []byte(page)
	var b strings.Builder
	document := goldmark.New(goldmark.WithExtensions(extension.Table)).Parser().Parse(text.NewReader(source))
	_ = ast.Walk(document, func(n ast.Node, entering bool) (ast.WalkStatus, error) { // the function returns no error
		switch n := n.(type) {
		case *ast.Text:
			if entering {
				b.Write(unescaped(n.Value(source), n.Parent()))
				if n.SoftLineBreak() {
					b.WriteString(" ")
				}
			}
		case *ast.FencedCodeBlock:
			if entering {
				for i := range n.Lines().Len() {
					line := n.Lines().At(i)
					b.Write(line.Value(source))
				}
			}
		case *ast.ListItem:
			if list := n.Parent().(*ast.List); entering && list.IsOrdered() {
				b.WriteString(" " + itemNumber(list, n) + ". ")
			} else if entering {
				b.WriteString(" - ")
			}
		case *ast.Link:
			if !entering && strings.HasPrefix(string(n.Destination), "http") {
				b.WriteString(" (" + string(n.Destination) + ")")
			}
		case *ast.AutoLink:
			if entering {
				b.Write(n.Label(source))
			}
		default:
			if !entering && n.Type() == ast.TypeBlock {
				b.WriteString("\n")
			}
		}
		return ast.WalkContinue, nil
	})
	return strings.Fields(b.String())
}

func itemNumber(list *ast.List, item *ast.ListItem) string {
	n := list.Start
	for c := list.FirstChild(); c != item; c = c.NextSibling() {
		n++
	}
	return strconv.Itoa(n)
}

// unescaped removes backslashes before punctuation, which goldmark leaves in the text. In code, they
// are part of the text.
func unescaped(value []byte, parent ast.Node) []byte {
	if parent.Kind() == ast.KindCodeSpan {
		return value
	}
	var out []byte
	for i := 0; i < len(value); i++ {
		if value[i] == '\\' && i+1 < len(value) && strings.IndexByte("\\`*_{}[]()#+-.!|<>", value[i+1]) >= 0 {
			i++
		}
		out = append(out, value[i])
	}
	return out
}

func TestNoLineOfTextIsLongerThanTheTerminal(t *testing.T) {
	for name, page := range pages(t) {
		for _, columns := range []int{40, 80, 120} {
			for _, line := range strings.Split(Format(page, columns, Style{}), "\n") {
				words := strings.Fields(line)
				fenced := strings.Contains(page, "\n"+strings.TrimPrefix(line, margin+margin)+"\n")
				alone := len(words) == 1 || len(words) == 2 && words[0] == "-" // one long word cannot be wrapped
				if cells.Width(line) > columns && !fenced && !alone {
					t.Errorf("%s, %d columns: %q", name, columns, line)
				}
			}
		}
	}
}

func TestAStarInAWordIsAStar(t *testing.T) {
	for page, want := range map[string]string{
		"such as 'Bash(go test:*)' or src/**":       "  such as 'Bash(go test:*)' or src/**\n",
		"it is *stale*: nobody works on *it*.":      "  it is stale: nobody works on it.\n",
		"two * three * four, \\*, `a*b*` and **b**": "  two * three * four, *, a*b* and b\n",
	} {
		if got := Format(page, 80, Style{}); got != want {
			t.Errorf("%q: got %q, want %q", page, got, want)
		}
	}
}
