package browser

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"gaffer/fleet"
)

// reviewed is a script that passes a small diff to the functions of the review page that need no
// DOM, and returns their results.
const reviewed = `Promise.all(['diff', 'order', 'layout'].map((name) => import('/assets/review/' + name + '.js'))).then(([d, o, s]) => {
  const text = Array.from({ length: 30 }, (_, i) => 'line ' + (i + 1));
  const line = (op, text) => ({ op, text });
  const diff = { status: 'changed', hunks: [
    { old_first: 10, old_lines: 3, new_first: 10, new_lines: 4, lines: [line(' ', 'line 10'), line('-', 'a word'), line('+', 'line 11'), line('+', 'line 12'), line(' ', 'line 13')] }] };
  const more = { ...diff, hunks: [{ ...diff.hunks[0], old_lines: 5, new_lines: 6, lines: [...diff.hunks[0].lines, line(' ', 'line 14'), line(' ', 'line 15')] }] };
  const words = (list) => list.map((l) => l.kind === 'gap' ? 'gap' + l.count : l.kind === 'pair' ? (l.left?.old ?? '') + '|' + (l.right?.new ?? '') : l.op + l.old + ':' + l.new).join(' ');
  const all = d.entries(diff, text);
  return {
    end: words(d.entries(diff, null)),
    closed: words(d.entries(more, null)),
    opened: words(d.entries(diff, text, { 0: { top: 0, bottom: 2 }, 1: { top: 1e9, bottom: 0 } })),
    columns: words(d.columns(all)),
    old: d.oldText(diff, text).slice(9, 12).join(),
    changed: JSON.stringify(d.wordDifferences('return foo(a, b)', 'return foo(a, long)')),
    other: JSON.stringify(d.wordDifferences('return foo(a, b)', 'if x { y() }')),
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
		"end":     "gap9  10:10 -11:0 +0:11 +0:12  12:13", // if fewer than three lines follow a change, the file ends there
		"closed":  "gap9  10:10 -11:0 +0:11 +0:12  12:13  13:14  14:15 gap-1",
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

// contextLines returns n unchanged lines in the notation of the script reviewed.
func contextLines(old, fresh, n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(strings.NewReplacer("O", strconv.Itoa(old+i), "N", strconv.Itoa(fresh+i)).Replace("  O:N"))
	}
	return b.String()
}

// Some text keeps the highlighter busy for a long time. The page must then end its worker, and
// highlight the next file with a new one.
func TestAHostileFileDoesNotStopTheHighlightingOfOthers(t *testing.T) {
	t.Parallel()
	p := newWorld(t).open("#/")
	p.Act(`import('/assets/review/highlight.js').then((m) => {
  const h = new m.Highlighter();
  window.coloured = [];
  h.add('evil.md', ['[['.repeat(100000), ''], () => true, () => window.coloured.push('evil.md'));
  const good = () => { if (!window.coloured.includes('good.go')) h.add('good.go', ['', 'package main // a comment\nfunc main() {}'], () => true, ([, lines]) => { window.coloured.push('good.go'); window.runs = lines.map((l) => l && l.map((v, i) => i % 2 ? m.names[v] : v).join(' ')).join('|'); }); };
  good();
  window.good = good;
})`)
	p.Wait("the other file is highlighted", `window.good && (window.coloured.includes('good.go') || (window.good(), false))`)
	if got, want := eval[string](p, "window.runs"), "7 keyword 6  12 comment|4 keyword 1  4 title 2 params 3 "; got != want {
		t.Errorf("the syntax is %q, want %q", got, want)
	}
	if p.Holds("window.coloured.includes('evil.md')") {
		t.Error("the hostile file was highlighted; the test needs another one")
	}
}

// fakeAnswers makes the page's requests for a change return the value of window.answer.
const fakeAnswers = `
const real = window.fetch;
window.answer = {};
window.asked = [];
window.fetch = (url, init) => {
  const path = new URL(url, location.href).pathname.replace(/^.*\/tasks\/[^/]+\//, '');
  if (!window.answer[path]) return real(url, init);
  window.asked.push(path + ' ' + (init?.body ?? new URL(url, location.href).search));
  return window.answer[path](init);
};
window.give = (body, status = 200) => Promise.resolve(new Response(JSON.stringify(body), { status }));
window.change = { tree: 'aa', base: 'bb', tip: 'cc', branch: 'b', commits: [], added: 1, removed: 0, files: [
  { path: 'a.txt', status: 'changed', added: 1, removed: 0, digest: '1', new_blob: 'ab' }] };
window.review = { run: 'r', task: 'only', state: 'open', round: 0 };
window.whole = () => give({ change: window.change, review: window.review, anchors: [], messages: [], checks: [] });`

// A change that could not be loaded, or is still loading, must not look like an empty one.
func TestAChangeThatDoesNotLoadIsNotShownAsEmpty(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id, _ := w.local("name: one\ntasks:\n  - {id: only, shell: \"true\"}\n")
	p := w.open("#/runs/" + id)
	p.Act(fakeAnswers)
	p.Act(`window.answer.change = () => give({ error: { code: 'change_elsewhere', message: 'the change is on worker two' } }, 409)`)
	p.Visit(task(id, "only") + "/review")
	p.Sees("The change could not be loaded: the change is on worker two")
	p.Act(`window.answer.change = () => new Promise((done) => { window.later = () => done(window.whole()); })`)
	p.Click("Try again")
	p.Sees("Loading the change…")
	p.Sees("Still loading the change.")
	p.Act(`window.answer['change/file'] = () => give({ error: { message: 'an object is missing' } }, 500); window.later()`)
	p.Sees("The diff of this file could not be loaded: an object is missing")
	p.SeesNot("has changed no file")
	p.Act(`window.answer['change/file'] = () => give({ file: { ...window.change.files[0], hunks: [{ old_first: 1, old_lines: 1, new_first: 1, new_lines: 2, lines: [{ op: ' ', text: 'one' }, { op: '+', text: 'two' }] }] } })`)
	p.Click("Try again")
	p.Wait("the line is shown", `document.querySelector('.dl.ins')?.innerText.includes('two')`)

	// A newer change must be announced, and must not move the lines that the user is reading.
	p.Act(`window.change = { ...window.change, tree: 'dd', files: [...window.change.files, { path: 'b.txt', status: 'added', added: 0, removed: 0, digest: '2' }] };
window.review = { ...window.review, viewed: { 'a.txt': 'another digest' } }; window.answer.change = window.whole; window.answer.review = () => give({});`)
	p.Click("Comment on a.txt")
	p.Wait("the form is open", `document.activeElement.matches('textarea')`)
	p.Press("x")
	p.Act(`window.answer.review = () => { window.answer.review = () => give({}); return Promise.reject(new TypeError('the answer is lost')); }`)
	p.Click("Save draft")
	p.Sees("The server does not answer.")
	p.Click("Save draft")
	p.Sees("The agent has changed more since this was loaded.", "changed since viewed")
	if p.Holds(`document.querySelector('[data-path="b.txt"]')`) {
		t.Error("the newer change is shown without a click")
	}
	p.Click("Show the newest")
	p.Wait("the newer change is shown", `document.querySelector('[data-path="b.txt"]')`)
	asked := eval[string](p, `window.asked.filter((a) => a.startsWith('review ')).join('\n')`)
	wanted := regexp.MustCompile(`^review (\{"action":"comment","comment":\{"key":"[0-9a-f]{24}","text":"x","tree":"aa","path":"a.txt"\}\})\nreview (.*)$`).FindStringSubmatch(asked)
	if wanted == nil || wanted[1] != wanted[2] { // a repeated request must have the same key for the comment
		t.Errorf("the requests were %s", asked)
	}
	p.goes("r", "#/runs") // the dashboard's keys must still work
}

// git runs git in the project and returns its output.
func (w *world) git(args ...string) string {
	w.Helper()
	cmd := exec.Command("git", append([]string{"-C", w.dir, "-c", "user.name=Ada", "-c", "user.email=ada@example.com"}, args...)...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		w.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

// commit writes files to the project and commits them.
func (w *world) commit(files map[string]string) {
	w.Helper()
	write(w, w.dir, files)
	w.git("add", "-A")
	w.git("commit", "-q", "-m", "files")
}

func write(w *world, dir string, files map[string]string) {
	w.Helper()
	for name, text := range files {
		w.must(os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755))
		w.must(os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
}

// bigFile returns the text of a Go file. If changed is true, it is the version after a change of 75
// lines.
func bigFile(n int, changed bool) string {
	var b strings.Builder
	b.WriteString("package big\n")
	for i := range 100 {
		switch {
		case changed && i%4 == 0: // replace one line
			fmt.Fprintf(&b, "\tfresh%d := compute(%d, \"a string\", %[1]d) // file %d\n\tuse(fresh%[1]d)\n", i, n, n)
		default:
			fmt.Fprintf(&b, "\tvalue%d := compute(%d, \"a string\", %[1]d) // file %d\n", i, n, n)
		}
	}
	return b.String()
}

// The change has 400 files and 30,000 lines, names and contents that are markup, a file of 50 MB
// and a binary file.
func TestALargeAndHostileChangeIsReadable(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	before, after := map[string]string{}, map[string]string{}
	for i := range 400 {
		name := fmt.Sprintf("pkg%02d/file%03d.go", i%20, i)
		before[name], after[name] = bigFile(i, false), bigFile(i, true)
	}
	before["a/old name.txt"] = strings.Repeat("the same line\n", 20)
	after["a/new name.txt"] = before["a/old name.txt"]
	hostile := "a/<img src=x onerror=\"window.pwned=1\">.html"
	after[hostile] = evil + "\n\u202ereversed\x1b[31m\u200b\nlast" // characters that hide or reorder others
	after["a/line\nbreak.txt"] = "x\n"
	after["a/picture.bin"] = "\x00\x01\x02"
	after["a/large.csv"] = strings.Repeat("0123456789,abcdefghijklmnopqrstuvwxyz,0123456789\n", 50<<20/49)
	after["a/wide.json"] = `{"key": "` + strings.Repeat("漢字", 3000) + `"}` + "\n"
	w.commit(before)
	copies := t.TempDir()
	write(w, copies, after)
	id, _ := w.local("name: large\ntasks:\n  - {id: all, worktree: true, shell: \"cp -R " + copies + "/. . && rm 'a/old name.txt'\"}\n")

	p := w.open("#/runs/" + id)
	p.Sees("1 change: 1 ready to merge")
	p.Act(`window.tasks = []; new PerformanceObserver((list) => list.getEntries().forEach((e) => window.tasks.push(Math.round(e.duration)))).observe({ type: 'longtask' });
window.began = performance.now();
new MutationObserver((_, me) => { if (document.querySelector('.dl')) { window.opened = Math.round(performance.now() - window.began); me.disconnect(); } }).observe(document.body, { subtree: true, childList: true })`)
	p.Click("Review all")
	p.Wait("lines are shown", `window.opened`)
	p.Sees("406 files", "0 of 406 viewed")
	opened := eval[int](p, "window.opened")

	p.Sees(`a/<img src=x onerror="window.pwned=1">.html`, evil, "U+202EreversedESC[31mU+200B", "renamed", "Renamed without other changes.", "A binary file: 3 B. Its contents are not shown.")
	p.harmless()
	if !p.Holds(`[...document.querySelectorAll('.file')].some((f) => f.dataset.path === 'a/line\nbreak.txt')`) {
		t.Error("the file with a line break in its name is not shown")
	}
	p.Wait("the large file is named and not shown", `((f) => f && /MB|changed lines/.test(f.innerText) && !f.querySelector('.dl'))(document.querySelector('[data-path="a/large.csv"]'))`)
	p.Wait("a line that wraps is as high as it was computed", `[...document.querySelectorAll('.file')].every((f) => f.scrollHeight <= f.clientHeight + 2)`)
	p.looks("review-hostile")

	p.Act(`window.tasks.length = 0`)
	const tenSteps = `new Promise(async (done) => {
		const atEnd = () => scrollY + innerHeight >= document.documentElement.scrollHeight - 2;
		for (let n = 0; n < 10 && !atEnd(); n++) { scrollBy(0, 1500); await new Promise(requestAnimationFrame); }
		done(atEnd());
	})`
	for range 12 { // each call of eval has its own time limit
		if eval[bool](p, tenSteps) {
			break
		}
	}
	longest := eval[int](p, `Math.max(0, ...window.tasks)`)
	t.Logf("opened in %d ms; the longest task while scrolling took %d ms", opened, longest)
	if opened > 60_000 || longest > 20_000 { // a busy machine takes long
		t.Errorf("opened in %d ms, the longest task took %d ms", opened, longest)
	}
	p.Act(`[...document.querySelectorAll('.treerow .name')].at(-1).closest('.tree').scrollTop = 1e9`)
	p.Wait("the tree shows its last file", `[...document.querySelectorAll('.treerow')].some((r) => r.innerText.includes('file399.go'))`)
	// The files above the last one get longer when they are read. On a busy page that happens after the page
	// has scrolled to the last file, and before it knows that it has scrolled.
	p.Act(`(() => {
		const { fetch } = window;
		window.held = [];
		window.release = () => { window.fetch = fetch; for (const done of window.held) done(); };
		window.fetch = async (url, ...more) => {
			const answer = await fetch(url, ...more);
			if (!String(url).includes('/change/file')) return answer;
			const text = await answer.text();
			await new Promise((done) => window.held.push(done));
			return new Response(text, { status: answer.status, headers: answer.headers });
		};
		scrollTo(0, document.documentElement.scrollHeight - 8000);
	})()`)
	p.Wait("files above are being read", `window.held.length > 1`)
	p.Act(`[...document.querySelectorAll('.treerow')].find((r) => r.innerText.includes('file399.go')).querySelector('button').click(); window.release()`)
	p.Wait("its lines are shown", `[...document.querySelectorAll('.dl.ins')].some((l) => l.innerText.includes('// file 399') && l.getBoundingClientRect().top < innerHeight)`)
	p.Wait("and highlighted", `document.querySelector('[data-path="pkg19/file399.go"] .h-comment')`)
	if n := eval[int](p, `document.querySelectorAll('.dl').length`); n > 1000 {
		t.Errorf("%d lines are in the page", n)
	}
	if run := w.run(id); run.Status != fleet.Complete {
		t.Errorf("the run is %s", run.Status)
	}
}
