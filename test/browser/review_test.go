package browser

import (
	"strconv"
	"strings"
	"testing"
)

// reviewed is a script that returns what the pure parts of the review page make of a
// small diff.
const reviewed = `Promise.all(['diff', 'order', 'sheet'].map((name) => import('/assets/review/' + name + '.js'))).then(([d, o, s]) => {
  const text = Array.from({ length: 30 }, (_, i) => 'line ' + (i + 1));
  const line = (op, text) => ({ op, text });
  const diff = { status: 'changed', hunks: [
    { old_first: 10, old_lines: 3, new_first: 10, new_lines: 4, lines: [line(' ', 'line 10'), line('-', 'a word'), line('+', 'line 11'), line('+', 'line 12'), line(' ', 'line 13')] }] };
  const words = (list) => list.map((l) => l.kind === 'gap' ? 'gap' + l.count : l.kind === 'pair' ? (l.left?.old ?? '') + '|' + (l.right?.new ?? '') : l.op + l.old + ':' + l.new).join(' ');
  const all = d.entries(diff, text);
  return {
    closed: words(d.entries(diff, null)),
    opened: words(d.entries(diff, text, { 0: { top: 0, bottom: 2 }, 1: { top: 1e9, bottom: 0 } })),
    columns: words(d.columns(all)),
    old: d.oldText(diff, text).slice(9, 12).join(),
    changed: JSON.stringify(d.differences('return foo(a, b)', 'return foo(a, long)')),
    other: JSON.stringify(d.differences('return foo(a, b)', 'if x { y() }')),
    pieces: JSON.stringify(d.pieces('<b>word', [3, 1, 4, 0], [[2, 5]], ['', 'tag'])),
    tree: o.treeRows(['b/c/x', 'b/c/y', 'b/d/e/z', 'a'].sort(o.treeOrder).map((path) => ({ path })), new Set()).map((r) => r.depth + r.name).join(' '),
    width: [s.width('abc'), s.width('\tx'), s.width('a\u6f22')].join(),
  };
})`

func TestADiffIsCutIntoLinesGapsAndColumns(t *testing.T) {
	t.Parallel()
	p := newWorld(t).open("#/")
	got := eval[map[string]string](p, reviewed)
	for name, want := range map[string]string{
		"closed":  "gap9  10:10 -11:0 +0:11 +0:12  12:13 gap-1",
		"opened":  "gap7  8:8  9:9  10:10 -11:0 +0:11 +0:12  12:13" + contextLines(13, 14, 17),
		"columns": "gap9 10|10 11|11 |12 12|13 gap17",
		"old":     "line 10,a word,line 13",
		"changed": `{"before":[[14,15]],"after":[[14,18]]}`,
		"other":   "null",
		"pieces":  `[{"text":"<b","class":"tag","mark":false},{"text":">","class":"tag","mark":true},{"text":"wo","class":"","mark":true},{"text":"rd","class":"","mark":false}]`,
		"tree":    "0b/ 1c/ 2x 2y 1d/e/ 2z 0a",
		"width":   "3,5,3",
	} {
		if got[name] != want {
			t.Errorf("%s is %q, want %q", name, got[name], want)
		}
	}
}

// contextLines returns n unchanged lines as the script above prints them.
func contextLines(old, fresh, n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(strings.NewReplacer("O", strconv.Itoa(old+i), "N", strconv.Itoa(fresh+i)).Replace("  O:N"))
	}
	return b.String()
}

// Some text keeps the highlighter busy for a long time. The page ends its worker then, and
// highlights the next file with a new one.
func TestAHostileFileDoesNotStopTheHighlightingOfOthers(t *testing.T) {
	t.Parallel()
	p := newWorld(t).open("#/")
	p.act(`import('/assets/review/highlight.js').then((m) => {
  const h = new m.Highlighter();
  window.coloured = [];
  h.add('evil.md', ['[['.repeat(100000), ''], () => true, () => window.coloured.push('evil.md'));
  const good = () => { if (!window.coloured.includes('good.go')) h.add('good.go', ['', 'package main // a comment\nfunc main() {}'], () => true, ([, lines]) => { window.coloured.push('good.go'); window.runs = lines.map((l) => l && l.map((v, i) => i % 2 ? m.names[v] : v).join(' ')).join('|'); }); };
  good();
  window.good = good;
})`)
	p.wait("the other file is highlighted", `window.good && (window.coloured.includes('good.go') || (window.good(), false))`)
	if got, want := eval[string](p, "window.runs"), "7 keyword 6  12 comment|4 keyword 1  4 title 2 params 3 "; got != want {
		t.Errorf("the syntax is %q, want %q", got, want)
	}
	if p.holds("window.coloured.includes('evil.md')") {
		t.Error("the hostile file was highlighted; the test needs another one")
	}
}
