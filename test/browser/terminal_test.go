package browser

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"gaffer/fleet"
)

// dispatch starts a fake agent in tmux, and returns the id of its run.
func (w *world) dispatch(bead string, steps ...string) string {
	w.Helper()
	if _, err := exec.LookPath("tmux"); err != nil {
		w.Fatal(err)
	}
	cmd := w.command("dispatch", bead, "-", "--agent", "fake", "--tmux", "--detach", "--json", "--retries", "0")
	cmd.Stdin = strings.NewReader("fake: " + strings.Join(steps, "\nfake: ") + "\n")
	text, err := cmd.Output()
	var out struct{ Run string }
	if err == nil {
		err = json.Unmarshal(text, &out)
	}
	if err != nil || out.Run == "" {
		w.Fatalf("dispatch: %v, %s", err, text)
	}
	return out.Run
}

var secret = regexp.MustCompile(`gft_\S+`)

// as logs a new browser profile in with a new token, and shows the page with this hash.
func (w *world) as(name, role, hash string) *page {
	w.Helper()
	text, err := w.command("token", "create", "--name", name, "--role", role).CombinedOutput()
	token := secret.FindString(string(text))
	if err != nil || token == "" {
		w.Fatalf("token: %v\n%s", err, text)
	}
	other := *w
	other.token = token
	p := w.tabAt(other.loginURL())
	p.Visit(hash)
	return p
}

// onScreen is a script that returns the text of the terminal.
const onScreen = `document.querySelector('.xterm-rows')?.innerText.replaceAll('\u00a0', ' ')`

// shows waits until the terminal shows a text.
func (p *page) shows(text string) {
	p.Helper()
	p.Wait("the terminal shows "+text, fmt.Sprintf("%s?.includes(%s)", onScreen, quoted(text)))
}

// keyboard waits until the page says who types.
func (p *page) keyboard(words string) {
	p.Helper()
	p.Wait("the keyboard: "+words, fmt.Sprintf("document.querySelector('.terminal .keyboard')?.innerText.includes(%s)", quoted(words)))
}

const typed = `document.activeElement?.matches('.xterm-helper-textarea')`

// pictured saves pictures of the terminal on screens of three sizes.
func (p *page) pictured(name string) {
	p.Helper()
	const near = `document.querySelector('.terminal').scrollIntoView({ block: 'end' })`
	for _, width := range []int64{1280, 1920, 390} {
		p.Size(width, 800)
		p.Wait("the terminal fits", `document.documentElement.scrollWidth <= innerWidth`)
		for _, dark := range []bool{false, true} {
			p.Dark(dark)
			p.Act(near)
			p.Shot(fmt.Sprintf("%s-%d%s", name, width, map[bool]string{true: "-dark"}[dark]))
		}
	}
	p.Dark(false)
	p.Size(1280, 800)
}

func TestAnAgentsTerminalIsWatchedAndTypedIn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	run := w.dispatch("bd-42", "say I read the settings of the server first.", "ask Which port? | 8080 | 9090", "ask Which host?", "say All is set.")
	p := w.as("ann", "operator", task(run, "bd-42"))
	if p.Holds(`performance.getEntriesByType('resource').some((r) => r.name.includes('xterm'))`) {
		t.Error("the terminal is loaded before it is shown")
	}
	p.Click("Terminal")
	p.shows("Which port?")
	p.keyboard("watching")
	p.pictured("terminal-watching")
	p.Wait("the terminal fills its place, and no more", `(() => { const [place, drawn] = ['.screen', '.xterm-screen'].map((c) => document.querySelector(c).getBoundingClientRect()); return drawn.right <= place.right && drawn.bottom <= place.bottom && drawn.width > place.width - 40; })()`)
	p.Accessible("terminal")
	p.Act(`document.querySelector('.xterm-screen').dispatchEvent(new MouseEvent('mousedown', { bubbles: true })); document.querySelector('.xterm-helper-textarea').focus()`)
	p.Press("2", enter)
	p.Press("k") // also while the terminal has the focus
	p.keyboard("you type")
	p.Wait("the terminal has the focus", typed)
	p.pictured("terminal-typing")
	p.Press("2", enter)
	p.shows(`The answer to "Which port?" is "9090".`) // the agent gets what was typed, and nothing else
	p.shows("Which host?")
	// The keys of the page reach the terminal: Esc does not go back, and Ctrl-K opens no palette.
	p.Press(kb.Escape, "g", "f")
	p.Do(chromedp.KeyEvent("k", chromedp.KeyModifiers(chromedp.ModifierCtrl)))
	p.shows("^[gf^K")
	p.keyboard("you type")
	if p.Holds(`document.querySelector('dialog[open]')`) {
		t.Error("the palette is open")
	}
	p.Do(chromedp.KeyEvent(kb.Escape, chromedp.KeyModifiers(chromedp.ModifierCtrl|chromedp.ModifierShift)))
	p.keyboard("watching")
	p.Wait("the terminal has lost the focus", "!"+typed)

	bob := w.as("bob", "operator", task(run, "bd-42")+"?tab=terminal")
	bob.shows("Which host?")
	p.Click("Take the keyboard")
	p.keyboard("you type")
	bob.keyboard("ann types")
	bob.Click("Take the keyboard from ann")
	bob.keyboard("you type")
	p.keyboard("bob types")
	p.Press("x")
	p.pictured("terminal-other")
	p.Click("Take the keyboard from bob")
	p.keyboard("you type")
	p.Press(kb.Backspace, kb.Backspace, kb.Backspace, kb.Backspace) // Escape, g, f and Ctrl-K are in the line
	p.Press("localhost", enter)
	for _, one := range []*page{p, bob} {
		one.Sees("attempt 1 complete", "The agent has ended, and its terminal with it.")
		one.shows("Which host?") // the last screen
		one.keyboard("closed")
	}
	p.pictured("terminal-ended")
	p.Accessible("ended terminal")
	if got := w.ends(run); got.Status != fleet.Complete {
		t.Errorf("the run is %s", got.Status)
	}
	for _, name := range []string{"ann", "bob"} {
		if log := w.server.text(); !strings.Contains(log, "took the keyboard") || !strings.Contains(log, `"name":"browser of `+name+`"`) {
			t.Errorf("the log does not say that %s took the keyboard:\n%s", name, log)
		}
	}
}

func TestAViewerWatchesATerminalAndIsNotOfferedTheKeyboard(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	run := w.dispatch("bd-42", "ask Which port? | 8080 | 9090")
	p := w.as("eve", "viewer", task(run, "bd-42")+"?tab=terminal")
	p.shows("Which port?")
	p.keyboard("watching")
	p.Press("k")
	p.Act(`document.querySelector('.xterm-helper-textarea').focus()`)
	p.Press("k", "2", enter)
	if text := p.Text(); strings.Contains(text, "Take the keyboard") || strings.Contains(text, "you type") {
		t.Errorf("the page offers the keyboard:\n%s", text)
	}
	// The server refuses it, whatever the page does.
	got := eval[string](p, fmt.Sprintf(`new Promise((done) => {
  const s = new WebSocket(location.origin.replace('http', 'ws') + '/v1/runs/%s/tasks/bd-42/terminal');
  s.onopen = () => s.send(JSON.stringify({ type: 'keyboard', take: true }));
  s.onmessage = ({ data }) => { if (typeof data === 'string' && data.includes('"error"')) { s.close(); done(data); } };
})`, run))
	if !strings.Contains(got, "the role viewer may not type in a terminal") {
		t.Errorf("the server says %s", got)
	}
	if q := w.run(run).Tasks[0].Question; q == nil {
		t.Error("the question was answered")
	}
}

func TestATerminalReturnsWithItsServerAndWithTheNextAttempt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	run := w.dispatch("bd-42", "say before", "ask Which port? | 8080 | 9090", "fail it broke")
	p := w.open(task(run, "bd-42") + "?tab=terminal")
	p.shows("Which port?")
	w.restart(func() { p.keyboard("connection lost") })
	p.keyboard("watching")
	p.shows("Which port?")
	p.Click("Take the keyboard")
	p.keyboard("you type")
	p.Press("1", enter)
	p.Sees("attempt 1 failed", "it broke")
	p.shows("Which port?")
	p.pictured("terminal-failed")

	late := w.open(task(run, "bd-42") + "?tab=terminal")
	late.Sees("The agent has ended, and its terminal with it.", "it broke")
	late.Wait("there is no empty screen", `document.querySelector('.terminal .screen').hidden`)
}

// A machine that shares the database with others has no lock files of their runs.
func TestATerminalOnAnotherMachineNamesTheMachine(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	run := w.dispatch("bd-42", "say working", "hang")
	p := w.open(task(run, "bd-42") + "?tab=terminal")
	p.shows("working")
	locks, err := filepath.Glob(filepath.Join(w.home, ".local", "state", "gaffer", "runs", run+"*"))
	w.must(err)
	for _, file := range locks {
		w.must(os.Remove(file))
	}
	machine, err := os.Hostname()
	w.must(err)
	other := w.open(task(run, "bd-42") + "?tab=terminal")
	other.Sees("bd-42 runs on "+machine, "'gaffer attach bd-42' on "+machine, "The log has all of its output.")
	other.Wait("there is no empty screen", `document.querySelector('.terminal .screen').hidden`)
	other.pictured("terminal-elsewhere")
	other.Accessible("terminal on another machine")
}

func TestATaskWithoutATerminalSaysSo(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id, _ := w.local("name: plain\ntasks:\n  - {id: one, shell: \"true\"}\n")
	p := w.open(task(id, "one") + "?tab=terminal")
	p.Sees("Log", "Attempts")
	if strings.Contains(p.Text(), "Terminal") {
		t.Error("a task without a terminal has a tab for it")
	}
}

// The sequences reach a screen only if tmux were to pass them on.
func TestSecurityOutputInATerminalDoesNothingOutsideIt(t *testing.T) {
	t.Parallel()
	p := newWorld(t).open("#/")
	sequences := []string{
		"\x1b]0;evil\x07", "\x1b]2;evil\x1b\\", // titles
		"\x1b]52;c;ZXZpbA==\x07", "\x1b]52;c;?\x07", // clipboard
		"\x1b]8;;javascript:alert(1)\x07click\x1b]8;;\x07", "\x1b]8;;https://evil.example\x07click\x1b]8;;\x07", // links
		"\x1b]10;?\x07", "\x1b]11;?\x07", "\x1b]4;1;?\x07", "\x1b]4;1;rgb:ff/ff/ff\x07", // colours
		"\x1b[c", "\x1b[>c", "\x1b[>q", "\x1b[5n", "\x1b[6n", "\x1b[?6n", "\x1b[?1$p", "\x1bP$qm\x1b\\", "\x1bP+q544e\x1b\\", "\x05", // requests for a reply
		"\x1b[21t", "\x1b[20t", "\x1b[18t", "\x1b[8;5;5t", "\x1b[3;1;1t", // the window
		"\x1b[?1000h\x1b[?1003h\x1b[?1006h", "\x1b[?2004h", "\x1b[?1004h", // reports of the mouse, of pasted text and of the focus
		"\x07", "\x1b]1337;File=inline=1:AAAA\x07", "\x1b]777;notify;a;b\x07", "\x1b]9;evil\x07", "<img src=x onerror=alert(1)>",
	}
	text, err := json.Marshal(sequences)
	p.must(err)
	got := module[string](p, "terminal/screen.js", fmt.Sprintf(`(async () => {
  const host = Object.assign(document.createElement('div'), { className: 'screen' });
  Object.assign(host.style, { width: '600px', height: '300px' });
  document.body.append(host);
  const before = { title: document.title, sheets: document.adoptedStyleSheets.length, hash: location.hash };
  let typed = '';
  const screen = new m.Screen(host, { keys: (keys) => { typed += new TextDecoder().decode(keys); }, chord: () => false });
  const sequences = %s;
  const print = async () => { for (const s of sequences) await new Promise((done) => screen.write(new TextEncoder().encode(s), done)); };
  await print();
  const box = host.querySelector('.xterm-screen').getBoundingClientRect();
  for (const type of ['mousemove', 'mousedown', 'mouseup', 'click']) {
    for (let x = 5; x < 200; x += 20) host.querySelector('.xterm-screen').dispatchEvent(new MouseEvent(type, { bubbles: true, clientX: box.x + x, clientY: box.y + 5 }));
  }
  screen.reset();
  screen.type(true); // a reply must not become an answer to the agent
  await print();
  screen.type(false);
  await new Promise((done) => setTimeout(done, 100));
  const after = { typed, title: document.title === before.title, hash: location.hash === before.hash, links: host.querySelectorAll('a, img, iframe, script').length,
    linked: host.querySelectorAll('[class*=underline]').length, size: [screen.term.cols, screen.term.rows] };
  screen.end();
  after.sheets = document.adoptedStyleSheets.length === before.sheets;
  host.remove();
  return JSON.stringify(after);
})()`, text))
	if want := `{"typed":"","title":true,"hash":true,"links":0,"linked":0,"size":[80,24],"sheets":true}`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// A page that shows a flood of output must stay usable, and must end with the last line.
func TestATerminalKeepsUpWithAFlood(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	run := w.dispatch("bd-42", "ask Ready? | yes | no", "tool seq -f 'line %.0f of the flood' 200000", "say The flood is over.", "ask Which port?")
	p := w.open(task(run, "bd-42") + "?tab=terminal")
	p.shows("Ready?")
	p.Press("k")
	p.keyboard("you type")
	p.Press("1", enter)
	p.shows("Which port?")
	p.shows("The flood is over.")
}
