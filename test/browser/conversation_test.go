package browser

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"gaffer/fleet"
)

// logOf returns the hash of a task's log.
func logOf(run, id string) string { return task(run, id) + "?tab=log" }

// block returns a script that finds the block of the conversation that contains a text.
func block(text string) string {
	return `[...document.querySelectorAll('.dialogue .block')].find((b) => b.innerText.includes(` + quoted(text) + `))`
}

func (p *page) seesBlock(text string) {
	p.Helper()
	p.Wait("the conversation says "+text, block(text))
}

// types replaces the text of the focused input.
func (p *page) types(text string) {
	p.Helper()
	p.Act(`const i = document.activeElement; i.value = ` + quoted(text) + `; i.dispatchEvent(new Event('input', { bubbles: true }))`)
}

// prints submits a run with a task that prints these texts, and returns its id.
func (w *world) prints(texts map[string]string) string {
	w.Helper()
	plan := "name: recorded\ntasks:\n"
	for name, text := range texts {
		file := filepath.Join(w.dir, name+".txt")
		w.must(os.WriteFile(file, []byte(text), 0o600))
		plan += fmt.Sprintf("  - {id: %s, name: Output of %s, shell: \"cat '%s'\"}\n", name, name, file)
	}
	return w.submit(plan)
}

func TestATaskIsAConversation(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.worker("one")
	run := w.submit(`
name: shop
defaults: {agent: fake, retries: 1}
tasks:
  - id: api
    name: Build the API
    prompt: |
      Build the API on the schema.
      fake: say I read the **schema** first.\n\n- customers\n- orders
      fake: tool for i in $(seq 1 60); do printf '\033[32mok\033[0m route %s\n' $i; done
      fake: tool echo no such table >&2; exit 3
      fake: usage 21200 3300 0.14
      fake: on-attempt 1 say I forgot the file.
      fake: unless-attempt 1 tool touch api.go
      fake: unless-attempt 1 say The API is built.
    verify: test -f api.go
`)
	w.ends(run)
	p := w.open(task(run, "api"))
	p.Wait("Markdown is drawn", `document.querySelector('.dialogue .prose strong')?.innerText === 'schema' && document.querySelectorAll('.dialogue .prose li').length >= 2`)
	p.Wait("the title", `document.title === 'Build the API · shop · gaffer'`)

	// Attempts end with their outcome, cost and checks.
	p.Wait("both attempts", `document.querySelector('.boundary[aria-label="Attempt 2"]')`)
	p.seesBlock("check failed")
	p.Wait("the last attempt", `document.querySelector('.dialogue .tail')?.innerText.match(/complete[\s\S]*Attempt 2[\s\S]*24.5k tokens · \$0.14[\s\S]*check passed/)`)

	// A tool has one line; its result unfolds.
	tool := `[...document.querySelectorAll('.b-tool')].findLast((b) => b.innerText.includes('seq 1 60'))`
	p.Wait("the tool has one line", tool+`?.offsetHeight < 40 && `+tool+`.innerText.includes('60 lines')`)
	p.Act(tool + `.querySelector('.fold').click()`)
	p.Wait("the result, with its colours", tool+`.innerText.includes('ok route 40') && `+tool+`.querySelector('.output .a-2') && !`+tool+`.innerText.includes('route 41')`)
	p.Click("Show all, 20 more lines")
	p.Wait("all of it", tool+`.innerText.includes('ok route 60')`)
	p.Wait("a failure says why", `[...document.querySelectorAll('.b-tool')].some((b) => b.innerText.includes('failed') && b.querySelector('.reason')?.innerText.includes('no such table'))`)

	p.Act(`const s = document.querySelector('[aria-label="Go to an attempt"]'); s.value = [...s.options].find((o) => o.text === 'Attempt 1').value; s.dispatchEvent(new Event('change', { bubbles: true }))`)
	p.Wait("the first attempt is in sight", `((b) => b && Math.abs(b.getBoundingClientRect().top - document.querySelector('.dialogue').getBoundingClientRect().top) < 60)(document.querySelector('.boundary[aria-label="Attempt 1"]'))`)
	p.Accessible("the conversation of a task")
	p.everywhere("conversation-fake")
	p.Size(390, 844)
	p.fits("a conversation")
	p.Wait("the input is above the navigation", `((space) => space > 0 && space < 40)(document.querySelector('.bottom').getBoundingClientRect().top - document.querySelector('.composer').getBoundingClientRect().bottom)`)
	p.Shot("conversation-fake-390")
	p.Size(1280, 800)
	for _, name := range []string{"log", "attempts", "prompt", "checks"} {
		p.Visit(task(run, "api") + "?tab=" + name)
		p.Wait("the tab", `document.querySelector('.tabs [aria-current]').innerText.toLowerCase().startsWith(`+quoted(name)+`) && document.querySelector('.log .l, .try, .prompt, .check')`)
		p.Accessible("the tab " + name + " of a task")
	}
	p.Visit(task(run, "api") + "?tab=attempts")
	p.Click("its conversation")
	p.Wait("the attempt is in sight", `location.hash.endsWith('?attempt=1') && document.querySelector('.boundary[aria-label="Attempt 1"]')`)
}

func TestAnOpenQuestionIsAnsweredInItsPlace(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.worker("one")
	run := w.submit(`
name: paint
defaults: {agent: fake, answer_timeout: 1h}
tasks:
  - id: door
    prompt: |
      Paint the door.
      fake: say Before the question.
      fake: ask Which colour? | red | green
      fake: permission Bash rm -rf old-paint
      fake: say The door is painted.
`)
	p := w.open(task(run, "door"))
	p.Wait("the question is in the conversation", `document.querySelector('.b-ask .question')?.innerText.includes('Which colour?')`)
	p.Shot("conversation-question")
	p.Accessible("a conversation with a question")
	p.Press("q")
	p.Wait("the first answer is focused", `document.activeElement.innerText === 'red'`)
	p.Press(tab, enter)
	p.Wait("who answered what", `[...document.querySelectorAll('.inquiry')].some((q) => q.innerText.match(/Which colour\?[\s\S]*answered green by/) && q.querySelector('.option.chosen')?.innerText === 'green')`)
	p.Wait("the next question", `document.querySelector('.b-ask .question')?.innerText.includes('Bash: rm -rf old-paint')`)
	p.Click("deny")
	p.seesBlock("The door is painted.")
	p.Wait("the permission was denied", `[...document.querySelectorAll('.inquiry')].some((q) => q.innerText.includes('Asked for permission') && q.innerText.match(/deny|denied/))`)
	w.ends(run)
}

func TestAPinnedQuestionKeepsWhatIsTyped(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.worker("one")
	run := w.submit(`
name: paint
defaults: {agent: fake, answer_timeout: 1h}
tasks:
  - id: door
    prompt: |
      fake: tool for i in $(seq 1 3); do echo $i; done
` + strings.Repeat("      fake: say One of many sentences, which together are longer than the screen.\n", 60) + `
      fake: ask Which colour?
`)
	p := w.open(task(run, "door"))
	p.Wait("the question", `document.querySelector('.b-ask .question input')`)
	p.Act(`const i = document.querySelector('.b-ask input'); i.focus(); i.value = 'dark gr'; i.dispatchEvent(new Event('input', { bubbles: true }))`)
	p.Act(`document.querySelector('.dialogue').scrollTop = 0`)
	p.Wait("the beginning is shown", `document.querySelector('.dialogue .block[data-index="0"]')`)
	p.Click("Follow ↓")
	p.Wait("the text is still there", `document.querySelector('.b-ask input').value === 'dark gr'`)
	w.must(w.client().Runs.Cancel(w.Context(), run, "", "it was looked at"))
	w.ends(run)
}

func TestAConversationIsFollowedUntilTheUserScrollsUp(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.worker("one")
	gate := filepath.Join(w.dir, "gate")
	run := w.submit(`
name: follow
defaults: {agent: fake}
tasks:
  - id: talker
    prompt: |
` + strings.Repeat("      fake: say A sentence of the agent that takes one line of the conversation.\n", 60) + `
      fake: tool while [ ! -e ` + gate + `1 ]; do sleep 0.05; done
      fake: say The first new one.
      fake: say The second new one.
      fake: tool while [ ! -e ` + gate + `2 ]; do sleep 0.05; done
      fake: say That was all.
`)
	end := `((el) => el.scrollTop + el.clientHeight >= el.scrollHeight - 2)(document.querySelector('.dialogue'))`
	p := w.open(task(run, "talker"))
	p.seesBlock(gate + "1")
	p.Wait("the end is in sight", end)
	if n := eval[int](p, `document.querySelectorAll('.dialogue .block').length`); n > 60 {
		t.Errorf("%d blocks are in the page", n)
	}
	p.Act(`document.querySelector('.dialogue').scrollTop = 700`)
	p.Wait("following has stopped", `document.querySelector('.toend')`)
	at := `((el) => Math.round([...el.querySelectorAll('.block')].map((b) => b.getBoundingClientRect()).find((r) => r.bottom > el.getBoundingClientRect().top).top))(document.querySelector('.dialogue'))`
	top := eval[int](p, at)
	w.must(os.WriteFile(gate+"1", nil, 0o600))
	p.Sees("3 new messages ↓")
	if now := eval[int](p, at); now != top {
		t.Errorf("the first block was at %d and is at %d", top, now)
	}
	p.Shot("conversation-new-messages")
	p.Click("3 new messages ↓")
	p.seesBlock("The second new one.")
	p.Wait("the end is in sight", end+" && !document.querySelector('.toend')")
	w.must(os.WriteFile(gate+"2", nil, 0o600))
	p.seesBlock("That was all.")
	p.Wait("the end is followed", end)
	w.ends(run)
}

func TestAConversationContinuesAfterTheServerWasAway(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.worker("one")
	gate := filepath.Join(w.dir, "gate")
	run := w.submit(`
name: away
defaults: {agent: fake}
tasks:
  - id: talker
    prompt: |
      Wait for me.
      fake: say Before it all.
      fake: tool while [ ! -e ` + gate + ` ]; do sleep 0.05; done
      fake: say After it all.
`)
	p := w.open(task(run, "talker"))
	p.Wait("the first message", `[...document.querySelectorAll('.b-say')].some((b) => b.innerText.includes('Before it all.'))`)
	w.restart(func() { w.must(os.WriteFile(gate, nil, 0o600)) })
	p.Wait("the second message", `[...document.querySelectorAll('.b-say')].some((b) => b.innerText.includes('After it all.'))`)
	p.Wait("the tool has returned", `!document.querySelector('.b-tool .k-running')`)
	if n := eval[int](p, `[...document.querySelectorAll('.b-say')].filter((b) => b.innerText.includes('Before it all.')).length`); n != 1 {
		t.Errorf("the first message is there %d times", n)
	}
	w.ends(run)
}

func TestEditsAreSmallDiffsAndTheAgentsListIsShown(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.worker("one", "--slots", "5")
	run := w.prints(map[string]string{"claude": recording(t, "claude"), "codex": recording(t, "codex"), "server": recording(t, "server"), "gemini": recording(t, "gemini"), "opencode": recording(t, "opencode")})
	w.ends(run)
	p := w.open("#/")
	for name, list := range map[string]string{"claude": "0 of 1 done", "codex": "2 of 2 done", "server": "1 of 3 done", "gemini": "0 of 2 done", "opencode": "1 of 2 done"} {
		p.Visit(task(run, name))
		p.Wait(name+" has a diff", `[...document.querySelectorAll('.edit')].some((e) => e.querySelector('.del')?.innerText.includes('Println("hello")') && e.querySelector('.ins')?.innerText.includes('name := "world"'))`)
		p.Wait(name+" has colours", `document.querySelector('.edit .h-string')`)
		p.Wait(name+" has a list", `document.querySelector('.todos')?.innerText.includes(`+quoted(list)+`)`)
		if name == "claude" {
			p.Wait("lines have the file's numbers", `document.querySelector('.edit .del .n').dataset.n === '6'`)
		}
		p.Accessible("a conversation of " + name)
	}
	p.Visit(task(run, "claude"))
	p.seesBlock("Change the greeting.")
	p.everywhere("conversation-claude")
	p.Size(390, 844)
	p.Visit(task(run, "server"))
	p.Wait("on a phone, the list is one line with what is done now", `((list) => list && !list.open && list.innerText.includes('1 of 3 done') && list.innerText.includes('Change the greeting') && !list.innerText.includes('Test it'))(document.querySelector('.todos'))`)
	p.fits("a conversation with a list")
	p.Shot("conversation-list-390")
}

func TestAConversationShowsEveryKindOfBlock(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.worker("one")
	file := filepath.Join(w.dir, "rich.txt")
	w.must(os.WriteFile(file, []byte(recording(t, "rich")), 0o600))
	gate := filepath.Join(w.dir, "gate")
	run := w.submit(fmt.Sprintf("name: shop\ntasks:\n  - {id: limits, name: Limit the requests, shell: \"cat '%s'; while [ ! -e '%s' ]; do sleep 0.05; done\"}\n", file, gate))
	p := w.open(task(run, "limits"))
	p.seesBlock("RFC 6585")
	kinds := func(want string) string {
		return `[...new Set([...document.querySelectorAll('.dialogue .block')].map((b) => b.className.match(/b-(\w+)/)[1]))].sort().join() === ` + quoted(want)
	}
	p.Size(1280, 2000) // all blocks are in sight
	p.Wait("all kinds", kinds("begin,note,say,think,tool,user"))
	p.Wait("a sub-agent's blocks are marked", `document.querySelectorAll('.from-sub').length === 2`)
	p.Wait("retries are one block", `[...document.querySelectorAll('.note')].some((n) => n.innerText.includes('2 of 10') && n.innerText.includes('2 times'))`)
	p.Wait("thoughts are folded", `[...document.querySelectorAll('.b-think')].every((b) => b.offsetHeight < 40 && !b.innerText.includes('token bucket'))`)
	p.Act(`document.querySelector('.b-think .fold').click()`)
	p.Wait("they unfold", `document.querySelector('.b-think').innerText.includes('A token bucket for each customer')`)
	p.Wait("all is in sight: the end is followed again", `!document.querySelector('.toend')`)
	p.Wait("the tool that runs is marked", `[...document.querySelectorAll('.b-tool')].at(-1).innerText.includes('running')`)
	p.Wait("the list", `document.querySelector('.todos').innerText.includes('2 of 4 done') && document.querySelector('.todo.k-running').innerText.includes('Answer 429')`)
	p.Wait("code has colours", `document.querySelector('.prose .code .h-keyword')`)
	p.Accessible("all kinds of blocks")
	p.Shot("conversation-rich-tall")
	p.Size(1280, 800)
	p.everywhere("conversation-rich")
	p.Size(390, 844)
	p.fits("all kinds of blocks")
	p.Wait("the end is followed in every size", `!document.querySelector('.toend')`)
	p.Shot("conversation-rich-390")
	w.must(os.WriteFile(gate, nil, 0o600))
	w.ends(run)
}

func TestABlockAndItsLineOfTheLogLinkToEachOther(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.worker("one")
	text := recording(t, "claude")
	run := w.prints(map[string]string{"long": strings.Repeat("a line before\n", 3000) + text})
	w.ends(run)
	p := w.open(task(run, "long"))
	p.seesBlock("Change the greeting.")
	p.Wait("its line is known", block("Change the greeting.")+`?.querySelector('.at')?.innerText === '3012'`)
	p.Act(block("Change the greeting.") + `.focus()`)
	p.Press("o")
	p.Wait("the line is marked in the log", `document.querySelector('.log .hit .n')?.dataset.n === '3012' && location.hash.endsWith('?tab=log&line=3012')`)
	p.Shot("log-line")
	p.Act(`[...document.querySelectorAll('.log .n')].find((n) => n.dataset.n === '3006').click()`)
	p.Wait("another line is marked", `document.querySelector('.log .hit .n')?.dataset.n === '3006'`)
	p.Click("Line 3,006 in the conversation")
	p.Wait("the line is a tool's result", `document.activeElement.matches('.b-tool') && document.activeElement.innerText.includes('greet.go')`)
	p.Visit(task(run, "long") + "?line=1500")
	p.Wait("the block with that line", `document.activeElement.matches('.b-text')`)
}

func TestTheOutputOfACommandIsShownAsInATerminal(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.worker("one")
	run := w.submit(`
name: plain
tasks:
  - id: build
    shell: |
      for i in $(seq 1 300); do printf '\033[32mok\033[0m   package %s\n' $i; done
      printf '` + "<script>" + `\n'
      printf 'no line end'
`)
	w.ends(run)
	p := w.open(task(run, "build"))
	p.seesBlock("no line end")
	p.Wait("colours", `getComputedStyle(document.querySelector('.terminal .a-2')).color !== getComputedStyle(document.querySelector('.terminal')).color`)
	p.Act(`document.querySelector('.dialogue').scrollTop -= 900`)
	p.Wait("blocks follow each other without a gap", `((all) => all.length >= 2 && Math.abs(all.at(-1).getBoundingClientRect().top - all.at(-2).getBoundingClientRect().bottom) < 1)([...document.querySelectorAll('.terminal')])`)
	if p.Holds(`document.querySelector('.writer')`) {
		t.Error("a command can be sent a message")
	}
	p.Accessible("the output of a command")
	p.harmless()
	p.everywhere("conversation-plain")
}

func TestAConversationIsUsedWithTheKeyboard(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.worker("one")
	run := w.submit(`
name: keys
defaults: {agent: fake}
tasks:
  - id: only
    prompt: |
      fake: say The first needle.
      fake: tool echo a needle in a result
      fake: say Nothing here.
      fake: say The last one.
`)
	w.ends(run)
	p := w.open(task(run, "only"))
	p.seesBlock("The last one.")
	p.Act(`[...document.querySelectorAll('.b-say')].find((b) => b.innerText.includes('Nothing here.')).focus()`)
	p.Press(kb.ArrowUp)
	p.Wait("the tool is focused", `document.activeElement.matches('.b-tool')`)
	p.Press(enter)
	p.Wait("it is unfolded", `document.activeElement.querySelector('.output')?.innerText.includes('a needle in a result')`)
	p.Press(enter)
	p.Wait("it is folded", `!document.activeElement.querySelector('.output')`)
	p.Press(kb.Home)
	p.Wait("the first block", `document.activeElement.dataset.index === '0'`)
	p.Press(kb.ArrowDown, kb.ArrowDown)
	p.Wait("two further", `document.activeElement.dataset.index === '2'`)
	p.Press("/")
	p.Wait("the search is focused", `document.activeElement.matches('[data-filter]')`)
	p.types("needle")
	p.Sees("of 3 messages") // the prompt, the first message and the result
	p.Press(enter)
	p.Wait("a match is marked", `document.querySelector('.block.hit mark')?.innerText === 'needle'`)
	p.Wait("it is in the address", `location.hash.includes('find=needle')`)
	p.Press(kb.Escape)
	p.Wait("the search is cleared", `!document.querySelector('.dialogue mark')`)
	p.Press(kb.Escape, "c")
	p.Wait("the input for a message", `document.activeElement.matches('.writer textarea')`)
}

func TestAMessageIsShownWhereItWasDelivered(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.worker("one", "--slots", "2")
	gate := filepath.Join(w.dir, "gate")
	run := w.submit(`
name: talk
defaults: {agent: fake}
tasks:
  - id: busy
    prompt: |
      fake: say I begin.
      fake: tool while [ ! -e ` + gate + ` ]; do sleep 0.05; done
      fake: say After the tool.
`)
	p := w.open(task(run, "busy"))
	p.seesBlock("I begin.")
	p.Act(`document.querySelector('.writer textarea').focus()`)
	p.Do(chromedp.KeyEvent("Please hurry.\n"))
	p.Sees("waits until the agent takes it", "Withdraw")
	p.Shot("conversation-pending")
	w.must(os.WriteFile(gate, nil, 0o600))
	p.Wait("it is delivered", `[...document.querySelectorAll('.b-user .mine')].some((m) => m.innerText.includes('Please hurry.') && m.innerText.includes('✓ delivered'))`)
	p.SeesNot("Withdraw")
	w.ends(run)
	order := eval[string](p, `[...document.querySelectorAll('.dialogue .block')].map((b) => b.innerText).join('\n')`)
	if strings.Index(order, "I begin.") > strings.Index(order, "Please hurry.") {
		t.Errorf("the message is not where it was delivered:\n%s", order)
	}
}

func TestAViewerOfAConversationIsOfferedNoInput(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.worker("one")
	run := w.submit(`
name: look
defaults: {agent: fake, answer_timeout: 1h}
tasks:
  - {id: only, prompt: "fake: say here it is\nfake: ask Which colour? | red | green"}
`)
	until(w, "the agent asks", func() (fleet.Run, bool) { r := w.run(run); return r, r.Tasks[0].Question != nil })
	var made struct {
		Token struct {
			Secret string `json:"secret"`
		} `json:"token"`
	}
	w.must(json.Unmarshal(w.post("/v1/tokens", map[string]any{"role": "viewer", "name": "wall"}), &made))
	admin := w.token
	w.token = made.Token.Secret
	p := w.open(task(run, "only"))
	p.seesBlock("here it is")
	p.Wait("the question", `document.querySelector('.b-ask .question')?.innerText.includes('red · green')`)
	if p.Holds(`document.querySelector('.writer, .question button, .question input, .taskhead button')`) {
		t.Error("a viewer is offered to act")
	}
	w.token = admin
	w.must(w.client().Runs.Cancel(w.Context(), run, "", "it was looked at"))
	w.ends(run)
}

// mixed returns the output of many programs, with this number of lines.
func mixed(lines int) string {
	var b strings.Builder
	line := func(v any) {
		text, _ := json.Marshal(v) // encoding strings never fails
		b.Write(text)
		b.WriteByte('\n')
	}
	type object = map[string]any
	result := strings.Repeat("ok   shop/package  0.012s\n", 12)
	for i := 0; i < lines/10; i++ {
		id := fmt.Sprintf("toolu_%d", i)
		line(object{"type": "assistant", "session_id": "s", "message": object{"content": []object{{"type": "text", "text": fmt.Sprintf("Step %d: I look at **package %d**.\n\n- its tests\n- its `main`", i, i)}}}})
		line(object{"type": "assistant", "session_id": "s", "message": object{"content": []object{{"type": "tool_use", "id": id, "name": "Bash", "input": object{"command": fmt.Sprintf("go test ./package%d", i)}}}}})
		line(object{"type": "user", "session_id": "s", "message": object{"content": []object{{"type": "tool_result", "tool_use_id": id, "content": result}}}, "tool_use_result": object{"stdout": result}})
		line(object{"type": "item.started", "item": object{"id": "c" + id, "type": "command_execution", "command": "/bin/bash -lc 'go vet'", "status": "in_progress"}})
		line(object{"type": "item.completed", "item": object{"id": "c" + id, "type": "command_execution", "command": "/bin/bash -lc 'go vet'", "aggregated_output": "fine\n", "exit_code": 0, "status": "completed"}})
		line(object{"type": "message", "role": "assistant", "content": "Some ", "delta": true})
		line(object{"type": "message", "role": "assistant", "content": fmt.Sprintf("text of step %d", i), "delta": true})
		line(object{"type": "assistant", "session_id": "s", "message": object{"content": []object{{"type": "tool_use", "id": "e" + id, "name": "Edit", "input": object{"file_path": "main.go", "old_string": "a\nb", "new_string": fmt.Sprintf("a\nc%d", i)}}}}})
		line(object{"type": "user", "session_id": "s", "message": object{"content": []object{{"type": "tool_result", "tool_use_id": "e" + id, "content": "done"}}}})
		fmt.Fprintf(&b, "\x1b[32mplain\x1b[0m line of step %d%s\n", i, map[bool]string{true: " with the treasure"}[i == lines/40])
	}
	b.WriteString("the end\n")
	return b.String()
}

func TestAConversationOfAHundredThousandLinesIsFast(t *testing.T) {
	t.Parallel()
	const lines = 100_000
	w := newWorld(t, "--log-limit", "400")
	w.worker("one")
	text := mixed(lines)
	run := w.prints(map[string]string{"long": text})
	w.ends(run)
	until(w, "all of the log", func() (string, bool) {
		end := w.logEnd(run, "long")
		return end, strings.HasSuffix(end, "the end\n")
	})
	p := w.open("#/")
	heap := func() int {
		p.Helper()
		return eval[int](p, `(() => { gc(); return Math.round(performance.memory.usedJSHeapSize / 1e6); })()`)
	}
	before := heap()
	p.Act(`window.late = 0; let last = performance.now(); window.watch = setInterval(() => { const now = performance.now(); window.late = Math.max(window.late, now - last - 50); last = now; }, 50)`)
	began := time.Now()
	p.Visit(task(run, "long"))
	p.seesBlock("the end")
	first := time.Since(began)
	p.Wait("the whole log was read", `document.querySelector('.size')?.innerText.includes('100,001 lines')`)
	whole := time.Since(began)
	p.Wait("the end is still in sight", `((el) => el.scrollTop + el.clientHeight >= el.scrollHeight - 2)(document.querySelector('.dialogue'))`)

	for _, part := range []float64{0, 0.25, 0.5, 0.75, 0.1} {
		p.Act(fmt.Sprintf(`((el) => { el.scrollTop = %g * (el.scrollHeight - el.clientHeight); })(document.querySelector('.dialogue'))`, part))
		p.Wait(fmt.Sprint("blocks about ", part), fmt.Sprintf(`((b) => b && Math.abs(b.innerText.match(/tep (\d+)/)?.[1] - %g) < %d)([...document.querySelectorAll('.dialogue .block')].find((b) => /tep \d+/.test(b.innerText)))`, part*lines/10, lines/100))
	}
	if n := eval[int](p, `document.querySelectorAll('.dialogue .block').length`); n > 120 {
		t.Errorf("%d blocks are in the page", n)
	}

	search := time.Now()
	p.Act(`document.querySelector('[data-filter]').focus()`)
	p.types("the treasure")
	p.Wait("it is found", `document.querySelector('.block.hit')?.innerText.includes('with the treasure')`)
	found := time.Since(search)
	after := heap()
	t.Logf("%d lines, %.0f MB: the end was there after %s, the whole after %s, a text was found after %s; the page was late by at most %d ms; its heap grew from %d to %d MB",
		lines, float64(len(text))/1e6, first.Round(time.Millisecond), whole.Round(time.Millisecond), found.Round(time.Millisecond), eval[int](p, `Math.round(window.late)`), before, after)
	if after > before+60 {
		t.Errorf("the heap went from %d to %d MB", before, after)
	}
}
