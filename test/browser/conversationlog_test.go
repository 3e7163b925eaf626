package browser

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// recording returns the lines of a program's output in the folder testdata/conversation.
func recording(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "conversation", name+".jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// indexed is a script that returns the blocks of a log: the kind of each, and what is shown of it.
const indexed = `Promise.all(['index', 'reader', 'events', 'content'].map((f) => import('/assets/conversation/' + f + '.js'))).then(([{ Index }, { Reader }, { eventsOf }, { contentOf }]) => {
  const bytes = new TextEncoder().encode(%s);
  const index = new Index();
  const reader = new Reader(0, 0, index);
  for (let at = 0; at < bytes.length; at += 700) reader.feed(bytes.subarray(at, at + 700), [[1, 0]]);
  reader.finish();
  const line = ([from, length]) => new TextDecoder().decode(bytes.subarray(from, from + length)).trimEnd();
  return index.blocks.map((b) => {
    if (b.kind === 'begin') return 'attempt ' + b.attempt;
    if (b.kind === 'text') return 'text: ' + line(b.parts[0]);
    const c = contentOf(b, b.parts.map((part) => eventsOf(line(part))[part[2]]), false);
    const edits = (c.edits ?? []).map((e) => ' +' + e.added + ' -' + e.removed).join();
    return b.kind + (b.bad ? '!' : '') + ': ' + [c.tool, c.what, c.text, c.output?.text, c.options?.join('/'), c.tokens].filter(Boolean).join(' | ') + edits;
  }).concat((index.todos?.items ?? []).map((t) => t.status + ' ' + t.text)).join('\n');
})`

func TestTheOutputOfEachProgramIsReadAsAConversation(t *testing.T) {
	t.Parallel()
	p := newWorld(t).open("#/")
	for name, want := range map[string]string{
		"claude": `attempt 1
user: Read the code.
tool: Read | /home/dev/greet/greet.go | 1	package main
2	
3	import "fmt"
4	
5	func main() {
6		fmt.Println("hello")
7	}
8
tool: Edit | /home/dev/greet/greet.go +2 -1
tool: Write | /home/dev/greet/greet_test.go +5 -0
say: Hello from the stub model.
end: 508
user: Change the greeting.
tool: TaskCreate | Write a test | Task #1 created successfully: Write a test
tool: TaskUpdate | #1 in_progress | Updated task #1 status
say: ## Done

- The greeting has a **name**.
end: 381
in_progress Write a test`,
		"codex": `attempt 1
text: Reading additional input from stdin...
think: **Looking at the greeting**

The name must be a variable.
tool!: shell | go vet ./... | greet.go:6:2: declared and not used: name
tool: shell | greet.go +2 -1
tool: edit | greet_test.go +0 -0
say: The greeting has a ` + "`name`" + ` now.
end: 254
completed Read the code
completed Change the greeting`,
		"server": `attempt 1
user: Change the greeting.
tool: edit | /home/dev/greet/greet.go +2 -1
ask: shell: go get ./... | allow/deny
say: The greeting has a name.
end: 
completed Read the code
in_progress Change the greeting
pending Test it`,
		"gemini": `attempt 1
text: YOLO mode is enabled. All tool calls will be automatically approved.
user: Change the greeting.
tool: write_todos | 2 entries
tool: replace | greet.go +2 -1
say: The greeting has a **name**.
end: 254
in_progress Change the greeting
pending Test it`,
		"opencode": `attempt 1
tool: todowrite | 2 entries | []
tool: edit | /home/dev/greet/greet.go +2 -1
say: The greeting has a name.
end: 127
completed Change the greeting
pending Test it`,
	} {
		if got := eval[string](p, fmt.Sprintf(indexed, quoted(recording(t, name)))); got != want {
			t.Errorf("%s is\n%s\nwant\n%s", name, got, want)
		}
	}
	for line, want := range map[string]string{
		`{"type":"mystery","x":1}`: `text: {"type":"mystery","x":1}`,
		`{"type":"assistant"`:      `text: {"type":"assistant"`,
		`{"type":"constructor"}`:   `text: {"type":"constructor"}`,
		`[1]`:                      `text: [1]`,
		`{"type":"assistant","message":{"content":[{"type":"tool_use","name":{"a":1},"input":[1]}]}}`:                                                           `tool: {"a":1} | [1]`,
		`{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"x","content":[{"text":{"toString":1}}]}]}}`:                                  `result: {"toString":1}`,
		`{"type":"assistant","parent_tool_use_id":"t","message":{"content":[{"type":"thinking","thinking":"Hm."},{"type":"text","text":"Yes."}]}}`:              "think: Hm.\nsay: Yes.",
		`{"type":"system","subtype":"api_retry","attempt":2,"max_retries":10,"error":"overloaded","error_status":529}`:                                          `note!: Tries again, 2 of 10: overloaded 529`,
		`{"type":"result","subtype":"error_during_execution","is_error":true,"errors":["Reached maximum budget"]}`:                                              `end!: Reached maximum budget`,
		`{"type":"item.completed","item":{"id":"a","type":"mcp_tool_call","server":"docs","tool":"find","arguments":{"query":"x"},"error":{"message":"down"}}}`: `tool!: docs: find | x | down`,
		`{"type":"error","error":{"name":"APIError","data":{"message":"no key"}},"sessionID":"s"}`:                                                              `note!: no key`,
	} {
		if got := eval[string](p, fmt.Sprintf(indexed, quoted(line))); got != "attempt 1\n"+want {
			t.Errorf("%s is\n%s\nwant\n%s", line, got, want)
		}
	}
}

func TestMarkdownOfAgentsIsDrawnWithoutMarkup(t *testing.T) {
	t.Parallel()
	p := newWorld(t).open("#/")
	tree := func(text string) string {
		return eval[string](p, `Promise.all([import('/assets/conversation/prose.js'), import('/assets/core/view.js')]).then(([{ Markdown }, { html, render }]) => { const place = document.createElement('div'); render(html`+"`<${Markdown} text=${"+quoted(text)+"} find='' />`"+`, place); return place.firstChild.innerHTML; })`)
	}
	for text, want := range map[string]string{
		"one\ntwo\n\nthree":               "<p>one\ntwo</p><p>three</p>",
		"## Title `x`":                    `<p class="heading h2" role="heading" aria-level="4">Title <code>x</code></p>`,
		"- a\n  - b\n- c":                 "<ul><li><p>a</p><ul><li>b</li></ul></li><li>c</li></ul>",
		"3. a\n4. b":                      `<ol start="3"><li>a</li><li>b</li></ol>`,
		"**b** *i* ~~d~~ `<b>`":           "<p><strong>b</strong> <em>i</em> <del>d</del> <code>&lt;b&gt;</code></p>",
		"snake_case_name 2*3*4 \\*":       "<p>snake_case_name 2<em>3</em>4 *</p>",
		"[docs](http://x.test/a)":         `<p><span class="target">docs (<code>http://x.test/a</code>)</span></p>`,
		"[x](javascript:alert(1))":        "<p>[x](javascript:alert(1))</p>",
		"```\n<script>\n```":              `<div class="code"><button class="quiet" tabindex="-1">Copy</button><pre tabindex="0"><code>&lt;script&gt;</code></pre></div>`,
		"> quoted":                        "<blockquote><p>quoted</p></blockquote>",
		"a\n\n---\n\nb":                   "<p>a</p><hr><p>b</p>",
		"| a | b |\n|---|---|\n| 1 | 2 |": `<div class="cells" tabindex="0" role="group" aria-label="Table"><table><thead><tr><th>a</th><th>b</th></tr></thead><tbody><tr><td>1</td><td>2</td></tr></tbody></table></div>`,
		evil:                              "<p>&lt;img src=x onerror=\"window.pwned=1\"&gt;&lt;script&gt;window.pwned=1&lt;/script&gt;</p>",
	} {
		if got := tree(text); got != want {
			t.Errorf("%q is\n%s\nwant\n%s", text, got, want)
		}
	}
	began := time.Now()
	for _, hostile := range []string{strings.Repeat("*", 20000), strings.Repeat("`a``b```", 2500), strings.Repeat("[", 20000), strings.Repeat("**a ", 5000), strings.Repeat("> ", 5000), "# " + strings.Repeat(" ", 30000) + "x", strings.Repeat("- ", 9000)} {
		tree(hostile)
	}
	t.Logf("hostile texts took %s", time.Since(began).Round(time.Millisecond))
	p.harmless()
}

func TestTheHeightsOfBlocksAreSummedAsTheyChange(t *testing.T) {
	t.Parallel()
	p := newWorld(t).open("#/")
	got := module[string](p, "conversation/heights.js", `(() => {
  const heights = new m.Heights();
  const plain = [];
  let seed = 7;
  const next = (n) => (seed = (seed * 1103515245 + 12345) % 2147483648) % n;
  for (let round = 0; round < 60; round++) {
    const added = Array.from({ length: next(120) }, () => next(90));
    heights.append(added);
    plain.push(...added);
    for (let k = 0; k < 20 && plain.length; k++) { const i = next(plain.length); plain[i] = next(300); heights.set(i, plain[i]); }
    const i = next(plain.length + 1);
    const sum = plain.slice(0, i).reduce((a, b) => a + b, 0);
    if (heights.before(i) !== sum) return 'before ' + i + ' is ' + heights.before(i) + ', want ' + sum;
    const total = plain.reduce((a, b) => a + b, 0);
    const y = next(Math.max(1, total));
    let [at, top] = [0, 0];
    while (at < plain.length - 1 && top + plain[at] <= y) top += plain[at++];
    if (plain.length && heights.at(y) !== at) return 'at ' + y + ' is ' + heights.at(y) + ', want ' + at;
  }
  return 'right, ' + (plain.length > 1100);
})()`)
	if got != "right, true" {
		t.Error(got)
	}
}

func TestStoredQuestionsAndMessagesAreFoundInTheLog(t *testing.T) {
	t.Parallel()
	p := newWorld(t).open("#/")
	got := module[string](p, "conversation/match.js", `(() => {
  const mark = (index, kind, text, attempt = 1, first = false) => ({ index, kind, text, attempt, first });
  const asked = m.matchQuestions([mark(1, 'ask', 'Which colour?'), mark(4, 'ask', 'Bash: rm x'), mark(9, 'ask', 'Which colour?')],
    [{ id: 'a', text: 'Which colour?' }, { id: 'b', text: 'Bash: rm x {"timeout":5}' }, { id: 'c', text: 'Which  colour?' }, { id: 'd', text: 'By another way?' }]);
  const said = m.matchMessages([mark(0, 'user', 'Build it.', 1, true), mark(3, 'user', 'Hurry.'), mark(7, 'user', 'Hurry.', 2), mark(8, 'user', 'Build it. The user says: Stop.', 3, true)],
    [{ id: 'e', text: 'Hurry.', delivered: 't', attempt: 'one' }, { id: 'f', text: 'Hurry.', delivered: 't', attempt: 'two' }, { id: 'g', text: 'Stop.', delivered: 't', attempt: 'three' }, { id: 'h', text: 'Lost.', delivered: 't', attempt: 'two' }, { id: 'i', text: 'Hurry.' }],
    [{ id: 'one', number: 1 }, { id: 'two', number: 2 }, { id: 'three', number: 3 }]);
  const list = ({ by, left }) => [...by].sort((a, b) => a[0] - b[0]).map(([i, q]) => i + q.id).join(' ') + ' / ' + left.map((q) => q.id).join(' ');
  return list(asked) + '; ' + list(said);
})()`)
	if want := "1a 4b 9c / d; 3e 7f 8g / h"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestEditsOfEveryKindAreCompared(t *testing.T) {
	t.Parallel()
	p := newWorld(t).open("#/")
	for input, want := range map[string]string{
		`{input: {file_path: 'a', old_string: 'x\ny\nz', new_string: 'x\nY\nz\nw'}}`:                                          "a modified  x|-y|+Y| z|+w",
		`{input: {file_path: 'a', edits: [{old_string: 'a', new_string: 'b'}, {old_string: 'c', new_string: ''}]}}`:           "a modified -a|+b~-c",
		`{input: {file_path: 'a', old_string: '1\n2\n3\n4\n5\n6\n7\n8\n9\n10', new_string: 'A\n2\n3\n4\n5\n6\n7\n8\n9\nB'}}`:  "a modified -1|+A| 2| 3| 4~ 7| 8| 9|-10|+B",
		`{input: {file_path: 'a', content: 'one\ntwo\n'}}`:                                                                    "a added +one|+two",
		`{changes: [{path: 'a', kind: {type: 'delete'}, diff: 'one\n'}, {path: 'b', kind: 'update'}]}`:                        "a deleted -one; b modified ",
		`{input: {command: "apply_patch <<'E'\n*** Begin Patch\n*** Add File: n\n+1\n*** Delete File: o\n*** End Patch\nE"}}`: "n added +1; o deleted ",
		`{input: {file_path: 'a', old_string: {toString: 1}, new_string: ''}}`:                                                `a modified -{"toString":1}`,
		`{input: {command: 'ls'}}`:            "none",
		`{input: {file_path: 'a', limit: 3}}`: "none",
		`{input: 'text'}`:                     "none",
	} {
		got := module[string](p, "conversation/edits.js", `((all) => all?.map((e) => e.path + ' ' + e.status + ' ' + e.hunks.map((h) => h.lines.map((l) => l.op + l.text).join('|')).join('~')).join('; ') ?? 'none')(m.editsOf(`+input+`))`)
		if got != want {
			t.Errorf("%s is\n%s\nwant\n%s", input, got, want)
		}
	}
}
