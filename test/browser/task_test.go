package browser

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gaffer/coordinator"
)

// task returns the hash of a task's page.
func task(run, id string) string { return "#/runs/" + run + "/tasks/" + id }

// module imports one of the page's JavaScript modules and returns the value of an expression that
// uses it.
func module[V any](p *page, file, expression string) V {
	p.Helper()
	return eval[V](p, fmt.Sprintf("import('/assets/%s').then((m) => %s)", file, expression))
}

func TestEscapeSequencesBecomeLooksAndNothingElse(t *testing.T) {
	t.Parallel()
	p := newWorld(t).open("#/")
	for line, want := range map[string]string{
		"plain":                                     `[{"text":"plain"}]`,
		"\x1b[31mred\x1b[0m end":                    `[{"text":"red","class":"a-1"},{"text":" end"}]`,
		"\x1b[1;3;4;92mx\x1b[22my":                  `[{"text":"x","class":"a-bold a-italic a-underline a-10"},{"text":"y","class":"a-italic a-underline a-10"}]`,
		"\x1b[7mturned\x1b[27m":                     `[{"text":"turned","class":"a-ground a-on-ink"}]`,
		"\x1b[31;7mturned":                          `[{"text":"turned","class":"a-ground a-on-1"}]`,
		"\x1b[38;5;208mo\x1b[48;5;4mb":              `[{"text":"o","fg":"#ff8700"},{"text":"b","class":"a-on-4","fg":"#ff8700"}]`,
		"\x1b[38;2;1;2;300mt\x1b[39mu":              `[{"text":"t","fg":"#0102ff"},{"text":"u"}]`,
		"\x1b[38:2::10:20:30mt":                     `[{"text":"t","fg":"#0a141e"}]`,
		"\x1b[38;5;244mgrey":                        `[{"text":"grey","fg":"#808080"}]`,
		"a\x1b[2K\x1b[1;1H\x1b]0;title\x07b":        `[{"text":"ab"}]`,
		"a\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\": `[{"text":"alink"}]`,
		"a\x00\x07\x1b(Bb\u009b":                    `[{"text":"ab"}]`,
		"torn\x1b[3":                                `[{"text":"torn"}]`,
		"\x1b[38;5mx\x1b[48;2;1mz\x1b[999mq":        `[{"text":"x"},{"text":"zq","bg":"#010000"}]`,
		"<b>\x1b[1m<i>":                             `[{"text":"<b>"},{"text":"<i>","class":"a-bold"}]`,
		"":                                          `[{"text":""}]`,
	} {
		if got := module[string](p, "task/ansi.js", "JSON.stringify(m.runs("+quoted(line)+"))"); got != want {
			t.Errorf("%q is %s, want %s", line, got, want)
		}
	}
}

func TestLinesOfAgentsAreReadAsSentences(t *testing.T) {
	t.Parallel()
	p := newWorld(t).open("#/")
	for line, want := range map[string]string{
		`{"type":"system","subtype":"init","model":"opus"}`: "note: begins with opus",
		`{"type":"assistant","message":{"content":[{"type":"text","text":"Hello <b>"},{"type":"tool_use","name":"Bash","input":{"command":"ls"}}]}}`: "say: Hello <b>\nBash ls",
		`{"type":"user","message":{"content":[{"type":"tool_result","content":[{"type":"text","text":"a\nb\n"}],"is_error":true}]}}`:                 "bad: a\nb",
		`{"type":"result","subtype":"success","is_error":false,"result":"Done","usage":{"input_tokens":240,"output_tokens":14}}`:                     "done: Done (254 tokens)",
		`{"type":"result","subtype":"success","is_error":true,"result":"API Error: 529"}`:                                                            "bad: API Error: 529",
		`{"type":"item.started","item":{"type":"command_execution","command":"/bin/bash -lc 'echo hi'"}}`:                                            "tool: $ echo hi",
		`{"type":"item.completed","item":{"type":"command_execution","aggregated_output":"hi\n","exit_code":3}}`:                                     "bad: exit 3 hi",
		`{"type":"item.completed","item":{"type":"agent_message","text":"All good."}}`:                                                               "say: All good.",
		`{"type":"turn.failed","error":{"message":"429"}}`:                                                                                           "bad: 429",
		`{"type":"mystery","x":1}`: "null",
		`{"type":"assistant"`:      "null",
		`{"type":7}`:               "null",
		`[1]`:                      "null",
		`{"type":"assistant","message":{"content":[{"type":"tool_use","name":{"a":1},"input":[1]}]}}`: `tool: {"a":1} [1]`,
		`{"type":"assistant","message":null}`: "say: ",
		`{"type":"constructor"}`:              "null",
		`{"type":"__proto__"}`:                "null",
		`{"type":"toString"}`:                 "null",
		`{"type":"rate_limit_event","rate_limit_info":{"status":"allowed","resetsAt":1763300000}}`:                                                                                           "note: rate limit: allowed until 2025-11-16T13:33:20.000Z",
		`{"type":"rate_limit_event","rate_limit_info":{"status":"allowed","resetsAt":1e300}}`:                                                                                                "note: rate limit: allowed",
		`{"type":"result","result":"Done","usage":{"input_tokens":{"toString":1}}}`:                                                                                                          "null",
		`{"type":"user","message":{"content":[{"type":"tool_result","content":[{"text":{"toString":1}}]}]}}`:                                                                                 "null",
		`{"method":"item/completed","params":{"item":{"id":"c","type":"commandExecution","command":"/bin/bash -lc 'echo hi'","aggregatedOutput":"hi\n","exitCode":0,"status":"completed"}}}`: "tool: shell echo hi\nhi",
		`{"method":"item/completed","params":{"item":{"type":"agentMessage","id":"m","text":"All good."}}}`:                                                                                  "say: All good.",
		`{"method":"turn/completed","params":{"turn":{"id":"t","status":"failed","error":{"message":"429"}}}}`:                                                                               "bad: 429",
		`{"method":"thread/status/changed","params":{"status":{"type":"idle"}}}`:                                                                                                             "note: thread status changed",
		`{"id":3,"result":{"turn":{"id":"t"}}}`:                                                                                                                                              "note: is answered",
		`{"id":3,"name":"not a protocol"}`:                                                                                                                                                   "null",
		`plain`:                                                                                                                                                                              "null",
	} {
		got := module[string](p, "task/agentoutput.js", "((s) => s ? s.kind + ': ' + s.text : 'null')(m.read("+quoted(line)+"))")
		if got != want {
			t.Errorf("%s is %q, want %q", line, got, want)
		}
	}
}

func TestPiecesOfALogHaveTheLinesThatBeginInThem(t *testing.T) {
	t.Parallel()
	p := newWorld(t).open("#/")
	script := `(() => {
		const bytes = (s) => new TextEncoder().encode(s);
		const all = (text, fresh, after = '', cuts = []) => m.texts(fresh, bytes(text), m.starts(bytes(text), fresh, cuts), bytes(after)).map((l) => l.text + (l.cut ? '+' + l.cut : ''));
		const c = new m.Count();
		c.span(0, 4); c.set(0, 10); c.set(3, 5);
		const guess = [c.total, c.number(0, 9), c.number(1, 0), c.number(2, 0), c.exact];
		c.set(1, 0); c.set(2, 20);
		return JSON.stringify([
			all('a\nb\r\nc', true), all('rest\nb\n', false), all('one\ntw', true, 'o\nthree'), all('', true), all('10%\r20%\rdone\n', true),
			all('x'.repeat(20000) + '\ny', true).map((t) => t.length), all('abc', true, '', [1]), all('middle', false),
			guess, [c.total, c.number(2, 0), c.number(3, 4), c.exact], [c.at(0), c.at(9), c.at(10), c.at(31)],
		]);
	})()`
	want := `[["a","b","c"],["b"],["one","two"],[],["done"],[16389,1],["a","bc"],["+6"],[35,10,11,0,false],[35,11,35,true],` +
		`[{"piece":0,"line":0},{"piece":0,"line":9},{"piece":2,"line":0},{"piece":3,"line":1}]]`
	if got := module[string](p, "task/lines.js", script); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// logLines is a script that returns the visible lines of the log.
const logLines = `[...document.querySelectorAll('.log .l')].map((l) => l.querySelector('.t').innerText)`

func (p *page) seesLine(text string) {
	p.Helper()
	p.Wait("the log says "+text, logLines+".some((t) => t.includes("+quoted(text)+"))")
}

// atEnd is a script that reports whether the last line of the log is visible.
const atEnd = `((el) => el.scrollTop + el.clientHeight >= el.scrollHeight - 2)(document.querySelector('.log'))`

func TestALogIsFollowedUntilTheUserScrollsUp(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.worker("one")
	gate := filepath.Join(w.dir, "gate")
	run := w.submit(`
name: follow
tasks:
  - id: talker
    name: Talk a lot
    shell: |
      for i in $(seq 1 200); do printf '\033[32mline %s\033[0m\n' $i; done
      while [ ! -e ` + gate + `1 ]; do sleep 0.05; done
      for i in $(seq 201 220); do echo line $i; done
      while [ ! -e ` + gate + `2 ]; do sleep 0.05; done
      echo '{"type":"assistant","message":{"content":[{"type":"text","text":"That was all."}]}}'
`)
	p := w.open(logOf(run, "talker"))
	p.Sees("Talk a lot")
	p.seesLine("line 200")
	p.Wait("the end is in sight", atEnd)
	p.Wait("green is green", `getComputedStyle(document.querySelector('.log .a-2')).color !== getComputedStyle(document.querySelector('.log')).color`)
	p.Wait("lines have numbers", `[...document.querySelectorAll('.log .n')].some((n) => n.dataset.n === '200')`)
	if n := eval[int](p, `document.querySelectorAll('.log .l').length`); n > 120 {
		t.Errorf("%d lines are in the page", n)
	}
	p.Shot("task-log")

	// Scroll up: new lines must not move the text that the user is reading.
	p.Act(`document.querySelector('.log').scrollTop = 400`)
	p.Wait("following has stopped", `document.querySelector('.toend')`)
	top := eval[string](p, logLines+".find((t) => t)")
	w.must(os.WriteFile(gate+"1", nil, 0o600))
	p.Sees("20 new lines ↓")
	if now := eval[string](p, logLines+".find((t) => t)"); now != top {
		t.Errorf("the first line in the page was %q and is %q", top, now)
	}
	p.Shot("task-log-new-lines")
	p.Click("20 new lines ↓")
	p.seesLine("line 220")
	p.Wait("the end is in sight", atEnd+" && !document.querySelector('.toend')")

	w.must(os.WriteFile(gate+"2", nil, 0o600))
	p.seesLine("That was all.")
	p.Wait("the task is complete", `document.querySelector('.taskhead .status').innerText.includes('complete')`)
	p.Wait("the log has ended", `!document.querySelector('.size .live')`)
	p.Click("Raw")
	p.seesLine(`{"type":"assistant"`)
}

func TestALogIsSearched(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.worker("one")
	run := w.submit(`
name: search
tasks:
  - id: talker
    shell: |
      awk 'BEGIN { for (i = 1; i <= 50000; i++) print "line " i (i % 1000 == 0 ? " Needle \033[1mhay\033[0mstack" : "") }'
      echo '{"type":"assistant","message":{"content":[{"type":"text","text":"No needle in \"JSON\"."}]}}'
`)
	p := w.open(logOf(run, "talker"))
	p.seesLine("No needle")
	p.Act(`const i = document.querySelector('[data-filter]'); i.focus()`)
	p.Press("n", "e", "e", "d", "l", "e", " ", "h", "a", "y", "s", "t")
	p.Sees("50 of 50 lines")
	p.Wait("the last one is shown", `document.querySelector('.log .hit .t').innerText.startsWith('line 50000 ')`)
	p.Wait("it is on the screen", `((r) => r.top > 60 && r.bottom < innerHeight)(document.querySelector('.log .hit').getBoundingClientRect())`)
	p.Wait("all of it is marked", `[...document.querySelectorAll('.log .hit mark')].map((m) => m.innerText).join('|') === 'Needle |hay|st'`)
	p.Shot("task-search")
	p.Act(`document.querySelector('[aria-label="Previous match"]').click()`)
	p.Sees("49 of 50 lines")
	p.Wait("the one before is shown", `document.querySelector('.log .hit .t').innerText.startsWith('line 49000 ')`)
	p.Press(enter)
	p.Sees("50 of 50 lines")
	p.Press(enter)
	p.Sees("1 of 50 lines")
	p.Wait("after the last comes the first", `document.querySelector('.log .hit .t').innerText.startsWith('line 1000 ')`)
	p.Wait("it is in the address", `location.hash.includes('find=needle')`)

	p.Visit(logOf(run, "talker") + "&find=" + "in+%22JSON")
	p.Sees("1 of 1 line")
	p.Visit(logOf(run, "talker") + "&find=nothing+like+it")
	p.Sees("nothing found")
}

// long creates a run whose log has a million lines and a hundred megabytes, too much for a page. It
// returns the run's id.
func (w *world) long() string {
	w.Helper()
	run := w.submit(`
name: long
tasks:
  - id: flood
    shell: |
      awk 'BEGIN { for (i = 1; i <= 1000000; i++) printf "%07d the quick brown fox jumps over the lazy dog and writes all of it down again, and again %s\n", i, i == 123456 ? "treasure" : "" }'
      head -c 50000000 /dev/zero | tr '\0' x
      echo
      echo the end
`)
	w.ends(run)
	until(w, "all of the log", func() (string, bool) {
		text := w.logEnd(run, "flood")
		return text, strings.HasSuffix(text, "the end\n")
	})
	return run
}

// logEnd requests the last part of a log from the server.
func (w *world) logEnd(run, task string) string {
	w.Helper()
	body, _, err := w.client().Runs.Log(w.Context(), run, task, coordinator.LogQuery{Tail: 100})
	w.must(err)
	defer func() { _ = body.Close() }()
	text, err := io.ReadAll(body)
	w.must(err)
	return string(text)
}

func TestALogOfAMillionLinesIsReadAndSearched(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "--log-limit", "400")
	w.worker("one")
	run := w.long()
	began := time.Now()
	body, span, err := w.client().Runs.Log(w.Context(), run, "flood", coordinator.LogQuery{})
	w.must(err)
	n, err := io.Copy(io.Discard, body)
	w.must(errors.Join(err, body.Close()))
	t.Logf("the server sends %d of %d bytes in %s", n, span.To, time.Since(began).Round(time.Millisecond))
	p := w.open("#/")
	heap := func() int {
		p.Helper()
		return eval[int](p, `(() => { gc(); return Math.round(performance.memory.usedJSHeapSize / 1e6); })()`)
	}
	before := heap()
	began = time.Now()
	p.Visit(task(run, "flood"))
	p.seesBlock("the end")
	end := time.Since(began)
	p.Wait("the long line is cut", `document.querySelector('.terminal .cut')`)
	p.Wait("all of it was read", `document.querySelector('.size').innerText.includes('1,000,002 lines')`)
	t.Logf("the end of the conversation was there after %s, all of it after %s", end.Round(time.Millisecond), time.Since(began).Round(time.Millisecond))
	p.Click("⤒ Beginning")
	p.seesBlock("0000001 the quick brown fox")

	began = time.Now()
	p.Visit(logOf(run, "flood"))
	p.seesLine("the end")
	t.Logf("the end of the log was there after %s", time.Since(began).Round(time.Millisecond))
	p.Wait("the line that is too long is cut", `document.querySelector('.log .cut')?.innerText.includes('more of this line, cut')`)
	p.Wait("the last line is in sight", atEnd)

	// During a search, measure how long the page does not react.
	p.Act(`window.late = 0; let last = performance.now(); window.watch = setInterval(() => { const now = performance.now(); window.late = Math.max(window.late, now - last - 50); last = now; }, 50)`)
	began = time.Now()
	p.Visit(logOf(run, "flood") + "&find=treasure")
	p.Wait("it is found", `document.querySelector('.log .hit .t')?.innerText.startsWith('0123456 ')`)
	t.Logf("found after %s", time.Since(began).Round(time.Millisecond))
	p.Wait("all was searched", `document.body.innerText.includes('1 of 1 line') && document.body.innerText.includes('1,000,002 lines')`)
	t.Logf("all searched after %s, the page was late by at most %d ms", time.Since(began).Round(time.Millisecond), eval[int](p, `Math.round(window.late)`))
	p.Wait("its number is known", `document.querySelector('.log .hit .n').dataset.n === '123456'`)
	p.Shot("task-long-found")

	// Scroll back and forth through the whole log.
	for _, part := range []float64{0, 0.25, 0.5, 0.75, 0.99, 0.1} {
		p.Act(fmt.Sprintf(`((el) => { el.scrollTop = %g * (el.scrollHeight - el.clientHeight); })(document.querySelector('.log'))`, part))
		want := part * 1e6
		p.Wait(fmt.Sprint("lines about ", part), fmt.Sprintf(`((n) => n && Math.abs(n - %g) < 20000)(Number([...document.querySelectorAll('.log .l')].find((l) => l.getBoundingClientRect().top >= document.querySelector('.log').getBoundingClientRect().top)?.querySelector('.t').innerText.slice(0, 7)))`, want))
	}
	p.Click("⤒ Beginning")
	p.Wait("the first line is at the top", `((l) => l?.querySelector('.n').dataset.n === '1')(document.elementFromPoint(400, document.querySelector('.log').getBoundingClientRect().top + 10)?.closest('.l'))`)
	p.Act(`document.querySelector('.log').focus()`)
	for range 5 {
		p.Act(`document.querySelector('.log').scrollBy(0, 300)`)
		time.Sleep(50 * time.Millisecond) // the pace of a turning mouse wheel
	}
	p.Wait("1500 pixels are 75 lines", `((l) => l?.querySelector('.n').dataset.n === '76')(document.elementFromPoint(400, document.querySelector('.log').getBoundingClientRect().top + 10)?.closest('.l'))`)

	// A busy page draws nothing between several turns of the wheel.
	p.Act(`document.querySelector('.log').scrollBy(0, 3000)`)
	p.Wait("3000 pixels are 150 lines", `((l) => l?.querySelector('.n').dataset.n === '226')(document.elementFromPoint(400, document.querySelector('.log').getBoundingClientRect().top + 10)?.closest('.l'))`)

	if n := eval[int](p, `document.querySelectorAll('.log .l').length`); n > 150 {
		t.Errorf("%d lines are in the page", n)
	}
	after := heap()
	t.Logf("the page's heap: %d MB before, %d MB after", before, after)
	if after > before+60 {
		t.Errorf("the heap went from %d to %d MB", before, after)
	}
}

func TestATaskIsCancelledAndRetriedByClick(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.worker("one")
	run := w.submit(`
name: stops
defaults: {agent: fake}
tasks:
  - id: slow
    name: Takes for ever
    prompt: |
      Take your time.
      fake: unless-attempt 2 hang
      fake: say It is done.
  - {id: after, prompt: "fake: say ok", after: [slow]}
  - {id: later, prompt: "fake: say ok", after: [after]}
`)
	p := w.open(task(run, "slow"))
	p.Wait("it runs", `document.querySelector('.taskhead .status')?.innerText.includes('running')`)
	p.Sees("Needed by", "after", "one")
	p.Click("Cancel…")
	p.Sees("Cancel this task?", "2 tasks that wait for it are cancelled too", "later")
	p.Shot("task-cancel")
	p.Click("Cancel the task")
	p.Wait("it is cancelled", `document.querySelector('.taskhead .status').innerText.includes('cancelled')`)
	p.Click("Retry")
	p.Wait("it is complete", `document.querySelector('.taskhead .status').innerText.includes('complete')`)
	p.Click("Attempts 2")
	p.Sees("Attempt 1", "Attempt 2", "It is done.")
	p.Shot("task-attempts")
}

// evil is markup that the page must show as text in every field.
const evil = `<img src=x onerror="window.pwned=1"><script>window.pwned=1</script>`

func TestWhatATaskSaysIsShownAsText(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.worker("one")
	plan, err := json.Marshal(map[string]any{
		"name": evil, "defaults": map[string]any{"agent": "fake", "model": evil, "answer_timeout": "1h"},
		"tasks": []map[string]any{
			{"id": "ask", "name": evil + " task", "prompt": evil + " prompt\nfake: say " + evil + " log\nfake: ask " + evil + " question? | " + evil + " a | no\nfake: fail " + evil + " summary", "verify": "echo '" + evil + "'"},
			{"id": "check", "name": "check", "prompt": "fake: say ok", "verify": "echo '" + evil + " output' && false"},
		},
	})
	w.must(err)
	run := w.submit(string(plan))
	p := w.open(task(run, "ask"))
	p.Sees(evil+" task", evil+" question?", evil+" a")
	p.seesBlock(evil + " log")
	p.harmless()
	p.Shot("task-evil-conversation")
	p.Visit(logOf(run, "ask"))
	p.seesLine(evil + " log")
	p.harmless()
	p.Shot("task-evil")
	p.Visit(task(run, "ask") + "?tab=prompt")
	p.Sees(evil + " prompt")
	p.Shot("task-prompt")
	p.Visit(task(run, "ask"))
	p.Click(evil + " a")
	p.Sees(evil + " summary")
	p.Wait("it has failed", `document.querySelector('.taskhead .status').innerText.includes('failed')`)
	p.Shot("task-failed")
	p.Visit(task(run, "ask") + "?tab=attempts")
	p.Sees(evil + " summary")
	p.Visit(task(run, "check") + "?tab=checks")
	p.Sees(evil+" output", "failed", "exit 1")
	p.Shot("task-checks")
	p.Visit(logOf(run, "check") + "&find=" + "%3Cscript%3E")
	p.Visit(task(run, "check") + "?find=" + "%3Cscript%3E")
	p.Visit(task(run, "%3Cscript%3Ealert(1)%3C%2Fscript%3E"))
	p.Sees("has no task")
	p.harmless()
}

func TestNoLineOfALogIsLostWhenAnswersComeLate(t *testing.T) {
	t.Parallel()
	p := newWorld(t).open("#/")
	if wrong := module[string](p, "task/store.js", "("+lateAnswers+")(m.Store)"); wrong != "" {
		t.Error(wrong)
	}
}

// lateAnswers reads a growing log from a stand-in for the server. The first answer comes after the
// log was loaded again, and an answer with a piece comes after the log has grown.
const lateAnswers = `async (Store) => {
	const all = new TextEncoder().encode(Array.from({ length: 300 }, (_, i) => 'line ' + i + '\n').join(''));
	const { fetch } = window;
	let size = 600; // of the log on the server
	let output; // the response that follows the log
	let sent = 0;
	const held = [];
	const answer = (from, to, body = all.slice(from, to)) => new Response(body, { headers: { 'Gaffer-Log-From': from, 'Gaffer-Log-To': to, 'Gaffer-Log-Starts': '1=0' } });
	window.fetch = (url, { headers } = {}) => {
		const query = new URL(url, location.href).searchParams;
		if (query.has('follow')) {
			sent = Number(query.get('offset'));
			return Promise.resolve(answer(sent, size, new ReadableStream({ start(c) { output = c; } })));
		}
		const [from, to] = headers?.Range?.match(/\d+/g).map(Number) ?? [0, size - 1];
		const made = answer(from, to + 1);
		return new Promise((done) => held.push(() => done(made)));
	};
	const soon = () => new Promise((done) => setTimeout(done, 50));
	const grow = (to) => { size = to; output.enqueue(all.slice(sent, to)); sent = to; return soon(); };
	const wrong = [];
	const check = async (when) => {
		const lines = store.lines(0);
		await soon();
		while (held.length) { held.shift()(); await soon(); }
		const got = (await lines).map((l) => l.text).join('\n');
		if (got !== new TextDecoder().decode(all.slice(0, size)).replace(/\n$/, '')) wrong.push(when + ': ' + JSON.stringify(got));
	};
	const store = new Store('/log', () => {});
	store.open();
	const first = held.shift();
	size = 1200;
	store.again();
	held.shift()();
	await soon();
	await grow(1800);
	first();
	await soon();
	await grow(2100);
	await check('after a late first answer');
	store.pieces.clear();
	const piece = store.piece(0);
	await soon();
	await grow(2400);
	held.shift()();
	await soon();
	while (held.length) { held.shift()(); await soon(); }
	await piece;
	await grow(all.length);
	await check('after a late piece');
	store.stop();
	window.fetch = fetch;
	return wrong.join('\n');
}`

func TestATaskIsReadableOnANarrowScreenAndInTheDark(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.worker("one", "--slots", "3")
	p := w.open("#/runs")
	run := w.submit(`
name: shop
defaults: {agent: fake, timeout: 5m}
tasks:
  - {id: schema, name: Draw up the schema, prompt: "fake: say ok"}
  - id: api
    name: Build the API
    after: [schema]
    retries: 2
    prompt: |
      Build the API on the schema, with a route for each table.
      fake: work 500ms
      fake: tool printf '\033[32mok\033[0m   shop/api 0.4s\n\033[31mFAIL\033[0m shop/store 0.1s\n'
      fake: usage 21200 3300 0.14
      fake: on-attempt 1 say I wrote the handlers, and forgot the file.
      fake: unless-attempt 1 tool touch api.go
      fake: unless-attempt 1 say The API is built; there are eleven routes, and tests for each of them.
      fake: unless-attempt 1 work 3m
    verify: test -f api.go
  - {id: pages, name: Build the pages, prompt: "fake: say ok", after: [api]}
`)
	p.Visit(logOf(run, "api"))
	p.Wait("the log has begun", `document.querySelector('.log .l')`)
	p.Click("⤒ Beginning") // the second attempt goes on to write, and the end is followed otherwise
	p.Wait("the second attempt", `document.querySelector('.log .attempt[aria-label="Attempt 2"]')`)
	p.Wait("no word of the first attempt is missing", logLines+`.filter((t) => /^.\s*(I wrote the handlers|The API is built)/.test(t)).length === 3`)
	p.Shot("task-light")
	p.Dark(true)
	p.Shot("task-dark")
	p.Size(400, 800)
	p.fits("the log of a task")
	p.Shot("task-400-dark")
	p.Dark(false)
	p.Shot("task-400")
	p.Click("Wrap")
	p.Wait("lines are broken", `((el) => el.scrollWidth <= el.clientWidth + 1)(document.querySelector('.log'))`)
	p.Act(`document.querySelector('.log').scrollIntoView()`)
	p.Shot("task-400-wrap")
	p.Visit(task(run, "api") + "?tab=attempts")
	p.Sees("check failed")
	p.fits("the attempts")
	p.Shot("task-400-attempts")
	p.Size(1280, 800)
	p.Visit(logOf(run, "api") + "&attempt=1")
	p.Wait("the first attempt is in sight", `((a) => { const r = a?.getBoundingClientRect(), l = document.querySelector('.log').getBoundingClientRect(); return r && r.top >= l.top - 1 && r.bottom <= l.bottom; })(document.querySelector('.log .attempt[aria-label="Attempt 1"]'))`)
	w.must(w.client().Runs.Cancel(w.Context(), run, "", "it was looked at"))
	w.ends(run)
}

// A browser fires scroll events with its next frame. By then the log may have been removed from the
// page.
func TestALogThatIsGoneIsNotScrolled(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.worker("one")
	run := w.submit(`
name: gone
tasks:
  - {id: only, agent: fake, prompt: "fake: say here it is"}
`)
	w.ends(run)
	p := w.open(logOf(run, "only"))
	p.Wait("the log", `document.querySelector('.log')?.innerText.includes('here it is')`)
	p.Act(`window.gone = document.querySelector('.log')`)
	p.Visit(task(run, "only") + "?tab=attempts")
	p.Wait("the log is gone", `!window.gone.isConnected`)
	p.Act(`['scroll', 'scrollend'].forEach((name) => window.gone.dispatchEvent(new Event(name)))`)
	p.Sees("Attempt 1") // the page must not show an error instead
}

func TestALogIsOpenedAtTheSearchResult(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.worker("one")
	run := w.submit(`
name: found
tasks:
  - {id: only, agent: fake, prompt: "fake: say here it is"}
`)
	w.ends(run)
	p := w.open(logOf(run, "only") + "&find=here")
	p.Wait("it is marked", `document.querySelector('.log .hit mark')?.innerText === 'here'`)
}

func TestALogContinuesAfterTheServerWasAway(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.worker("one")
	gate := filepath.Join(w.dir, "gate")
	run := w.submit(`
name: away
tasks:
  - id: talker
    shell: |
      echo before
      while [ ! -e ` + gate + ` ]; do sleep 0.05; done
      echo after it all
`)
	p := w.open(logOf(run, "talker"))
	p.seesLine("before")
	w.restart(func() { w.must(os.WriteFile(gate, nil, 0o600)) })
	p.Wait("the rest is there", logLines+`.some((t) => t.includes('after it all'))`)
	if got := eval[string](p, logLines+".filter((t) => t).join('|')"); !strings.Contains(got, "before|after it all") {
		t.Errorf("the log is %q", got)
	}
}

// A search begins a moment after the last key. By then the log may have been removed from the page.
func TestASearchDoesNotRunAfterTheLogIsGone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.worker("one")
	run := w.submit(`
name: gone
tasks:
  - {id: only, agent: fake, prompt: "fake: say here it is"}
`)
	w.ends(run)
	p := w.open(logOf(run, "only") + "&find=here")
	p.Sees("3 lines") // one each for the prompt, the answer and the result
	p.Act(`const set = setTimeout; window.setTimeout = (f, ms, ...rest) => { if (ms === 200) window.due = f; return set(f, ms, ...rest); }`)
	p.Visit(logOf(run, "only") + "&find=it")
	p.Wait("the search is due", `window.due`)
	p.Act(`const log = document.querySelector('.log'); new MutationObserver(() => { if (!log.isConnected) { window.gone = true; window.due(); } }).observe(document.querySelector('main'), { subtree: true, childList: true })`)
	p.Visit(task(run, "only") + "?tab=attempts")
	p.Wait("the log is gone", `window.gone`)
	p.Sees("Attempt 1") // the page must not show an error instead
}

func TestPendingNewsOfALogIsSentBeforeTheLogChanges(t *testing.T) {
	t.Parallel()
	p := newWorld(t).open("#/")
	script := `(async () => {
  const sent = [];
  const store = new m.Store('/nowhere', (news) => sent.push([news.kind, news.state, news.to].filter((v) => v !== undefined).join(' ')));
  store.open = () => {};
  store.append(new TextEncoder().encode('a line\n'));
  store.again();
  await new Promise((done) => setTimeout(done, 300));
  return sent.join(', ');
})()`
	if got, want := module[string](p, "task/store.js", script), "span live 7, again"; got != want {
		t.Errorf("sent was %q, want %q", got, want)
	}
}

func TestAnAnswerThatIsOlderThanAChangeDoesNotUndoIt(t *testing.T) {
	t.Parallel()
	p := newWorld(t).open("#/")
	script := `(async () => {
  const real = window.fetch;
  let answer;
  window.fetch = (url, ...rest) => !String(url).includes('/tasks/t') ? real(url, ...rest)
    : String(url).endsWith('/attempts') ? new Promise((done) => { answer = () => done(Response.json({ attempts: [{ id: 'a', number: 1, status: 'running' }, { id: 'b', number: 2, status: 'running' }] })); })
    : Promise.resolve(Response.json({ task: { prompt: 'Do it.' } }));
  const source = new m.Source('r', 't');
  const loaded = source.load();
  source.hear({ type: 'attempts', change: { run: 'r', task: 't', id: 'a', number: 1, status: 'failed' } });
  answer();
  await loaded;
  window.fetch = real;
  return source.attempts.all().map((a) => a.id + ' ' + a.status).join(', ');
})()`
	if got, want := module[string](p, "task/source.js", script), "a failed, b running"; got != want {
		t.Errorf("the attempts are %q, want %q", got, want)
	}
}

// leftAtOnce is a script that shows a part of a page and removes it before the first frame.
const leftAtOnce = `Promise.all(['task/logtab.js', 'task/source.js', 'pages/run.js', 'core/fleet.js', 'core/view.js', 'conversation/tab.js'].map((file) => import('/assets/' + file))).then(async ([{ LogTab }, { useTask }, run, { watchRun, releaseRun }, { html, render }, { ConversationTab }]) => {
  const began = [];
  const Real = Worker;
  window.Worker = class extends Real {
    constructor(...how) { super(...how); began.push(this); }
    terminate() { this.over = true; super.terminate(); }
  };
  const place = document.createElement('div');
  const used = [];
  const Task = ({ id }) => { used.push(useTask('r', id).detail); return null; };
  render(html` + "`<${LogTab} source=${{ url: '/v1/runs/r/tasks/t' }} task=${{ run: 'r', id: 't' }} />`" + `, place);
  render(html` + "`<${ConversationTab} source=${{ url: '/v1/runs/r/tasks/t', prompt: { value: '' } }} task=${{ run: 'r', id: 't' }} attempts=${[]} side='' />`" + `, place);
  for (const id of ['t', 'u']) render(html` + "`<${Task} key=${id} id=${id} />`" + `, place);
  render(html` + "`<${run.Page} run='r' />`" + `, place);
  render(null, place);
  window.Worker = Real;
  await new Promise((done) => setTimeout(done, 50));
  const next = watchRun('r');
  releaseRun(next);
  return began.map((w) => w.over ? 'over' : 'left').join() + ', ' + (used[0] === used[1] ? 'same' : 'another') + ', ' + (used[0] === next ? 'kept' : 'released');
})`

func TestAPageThatIsLeftAtOnceLeavesNothing(t *testing.T) {
	t.Parallel()
	p := newWorld(t).open("#/")
	if got, want := eval[string](p, leftAtOnce), "over,over, same, released"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestTypedFiltersStayInTheirPagesAddress(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.worker("one")
	run := w.submit(`
name: left
tasks:
  - {id: only, agent: fake, prompt: "fake: say here it is"}
`)
	w.ends(run)
	p := w.open(logOf(run, "only"))
	p.Wait("the log", `document.querySelector('.logtab .find input')`)
	p.Act(`const i = document.querySelector('.find input'); i.value = 'here'; i.dispatchEvent(new Event('input', {bubbles: true})); location.hash = '#/runs'; setTimeout(() => { window.after = location.hash; }, 500)`)
	p.Wait("a while has passed", `window.after`)
	if got := eval[string](p, `window.after`); got != "#/runs" {
		t.Errorf("the address is %s", got)
	}

	p.Visit("#/runs/" + run + "/replay")
	p.Wait("the replay", `document.querySelector('.replay-page')`)
	p.Act(`const [set, clear] = [setTimeout, clearTimeout]; window.due = new Set(); window.setTimeout = (f, ms, ...rest) => { const id = set(f, ms, ...rest); if (ms === 300) due.add(id); return id; }; window.clearTimeout = (id) => { due.delete(id); clear(id); }`)
	p.Click("To the last")
	p.Wait("the address is to follow", `due.size > 0`)
	p.Act(`const page = document.querySelector('.replay-page'); new MutationObserver(() => { if (!page.isConnected) window.left ??= due.size; }).observe(document.querySelector('main'), { subtree: true, childList: true }); location.hash = '#/runs'`)
	p.Wait("the replay is left", `window.left !== undefined`)
	if n := eval[int](p, `window.left`); n > 0 {
		t.Error("the address is still to follow when the page is another one")
	}
}

func TestALateFilterDoesNotBringTheUserBackToThePageThatWasLeft(t *testing.T) {
	t.Parallel()
	p := newWorld(t).open("#/")
	// Between a navigation and its event, a timer of the old page changes the query.
	got := eval[string](p, `import('/assets/core/route.js').then(({ setQuery, query }) => new Promise((done) => {
  addEventListener('hashchange', () => setTimeout(() => { setQuery({ status: 'failed' }); done(location.hash + ' ' + query('status')); }, 0), { once: true });
  location.hash = '#/runs';
  setQuery({ find: 'late' });
}))`)
	if want := "#/runs?status=failed failed"; got != want {
		t.Errorf("the address is %s, want %s", got, want)
	}
}
