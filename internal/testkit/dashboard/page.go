package dashboard

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"gaffer/internal/testkit/testenv"
)

// Page is a tab of a browser.
type Page struct {
	t   testing.TB
	ctx context.Context

	dark bool // the browser prefers the dark colour scheme

	mu     sync.Mutex
	errors []string // uncaught exceptions of the page's scripts, and errors in the browser's log
}

// Another opens an address in one more tab of the same browser profile.
func (p *Page) Another(url string) *Page {
	p.t.Helper()
	next := newPage(p.ctx, p.t)
	next.Do(chromedp.Navigate(url))
	next.Wait("the page is there", There)
	return next
}

// newPage opens an empty tab. If a script in the tab throws an exception that is not caught, or if
// the browser logs an error about the tab, the test fails at its end.
func newPage(in context.Context, t testing.TB, how ...chromedp.ContextOption) *Page {
	t.Helper()
	ctx, end := chromedp.NewContext(in, how...)
	p := &Page{t: t, ctx: ctx}
	// Open the tab without a timeout, because chromedp closes a tab when the context of the tab's
	// first action ends.
	if err := chromedp.Do(ctx); err != nil {
		t.Fatal(err)
	}
	p.Size(1280, 800)
	var listeners sync.WaitGroup
	listeners.Go(func() { p.recordExceptions(ctx) })
	listeners.Go(func() { p.recordLog(ctx) })
	t.Cleanup(func() {
		if t.Failed() {
			p.Shot("failed-" + strings.ReplaceAll(t.Name(), "/", "-"))
		}
		end()
		listeners.Wait()
		for _, e := range p.errors {
			t.Errorf("the page complains: %s", e)
		}
	})
	p.Do(Call(log.Enable, cdp.Empty{}))
	return p
}

// recordExceptions adds uncaught exceptions of the page's scripts to p.errors.
func (p *Page) recordExceptions(ctx context.Context) {
	for e, err := range chromedp.Events(ctx, runtime.ExceptionThrown) {
		if err != nil {
			return
		}
		p.complain(fmt.Sprint(e.ExceptionDetails.Text, " ", describe(e.ExceptionDetails.Exception)))
	}
}

func describe(o *runtime.RemoteObject) string {
	if o == nil {
		return ""
	}
	return o.Description
}

// recordLog adds the browser's log entries with the level error to p.errors, such as violations of
// the content security policy. It ignores network errors, because a test may stop the server.
func (p *Page) recordLog(ctx context.Context) {
	for e, err := range chromedp.Events(ctx, log.EntryAdded) {
		if err != nil {
			return
		}
		if e.Entry.Level == log.EntryLevelError && e.Entry.Source != log.EntrySourceNetwork {
			p.complain(string(e.Entry.Source) + ": " + e.Entry.Text)
		}
	}
}

func (p *Page) complain(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.errors = append(p.errors, text)
}

// Call returns an action that sends a command of the DevTools protocol to the browser.
func Call[P, R any](command cdp.Command[P, R], params P) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, command, params)
		return err
	})
}

// Do executes actions in the page.
func (p *Page) Do(steps ...chromedp.Action[chromedp.Void]) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, testenv.Patience)
	defer cancel()
	if err := chromedp.Do(ctx, steps...); err != nil {
		p.t.Fatal(err)
	}
}

// Visit shows another page of the dashboard: it sets the fragment of the URL to hash. It waits for
// the hashchange event, because the previous page is shown until then.
func (p *Page) Visit(hash string) {
	p.t.Helper()
	_ = Eval[bool](p, fmt.Sprintf(`new Promise((done) => {
  const before = location.href;
  addEventListener('hashchange', () => setTimeout(done, 0, true), { once: true });
  location.hash = %s;
  if (location.href === before) done(true);
})`, Quoted(hash)))
	p.Wait("the page is there", There)
}

// There is a script that returns true if the dashboard shows a page instead of its start screen.
const There = `document.querySelector('main') && !document.querySelector('.starting')`

// Size sets the size of the window.
func (p *Page) Size(width, height int64) { p.Do(chromedp.EmulateViewport(width, height)) }

// Dark sets whether the browser prefers the dark colour scheme.
func (p *Page) Dark(on bool) {
	p.dark = on
	value := "light"
	if on {
		value = "dark"
	}
	p.Do(Call(emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: value}}}))
}

// Quoted returns a text as a JavaScript string literal.
func Quoted(text string) string {
	data, _ := json.Marshal(text) // encoding a string never fails
	return string(data)
}

// Eval runs a script in the page and returns the script's value.
func Eval[V any](p *Page, script string) V {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, testenv.Patience)
	defer cancel()
	value, err := chromedp.Run(ctx, chromedp.Evaluate[V](script, chromedp.EvalAwaitPromise))
	if err != nil {
		p.t.Fatalf("%s: %v", script, err)
	}
	return value
}

// Act runs a script in the page and ignores the script's value.
func (p *Page) Act(script string) {
	p.t.Helper()
	_ = Eval[bool](p, "(() => { "+script+"; return true; })()")
}

// Holds reports whether a script in the page returns true.
func (p *Page) Holds(script string) bool {
	p.t.Helper()
	return Eval[bool](p, "!!("+script+")")
}

// may is like Holds, but returns false if the script cannot be run, for example while the page is
// navigating.
func (p *Page) may(script string) bool {
	ctx, cancel := context.WithTimeout(p.ctx, testenv.Patience)
	defer cancel()
	yes, err := chromedp.Run(ctx, chromedp.Evaluate[bool]("!!("+script+")", chromedp.EvalAwaitPromise))
	return yes && err == nil
}

// Wait waits until a script in the page returns true. condition describes, in the message of a
// failed test, what the test was waiting for.
func (p *Page) Wait(condition, script string) {
	p.t.Helper()
	testenv.Wait(p.t, condition, func() error {
		if p.may(script) {
			return nil
		}
		return pageError{p, script}
	})
}

// pageError says that a script in the page has not returned true. Its message contains the page's
// text, which is read only when the message is needed.
type pageError struct {
	page   *Page
	script string
}

func (e pageError) Error() string {
	return fmt.Sprintf("%s is not true; the page says:\n%s", e.script, e.page.Text())
}

// Text returns the visible text of the page.
func (p *Page) Text() string {
	p.t.Helper()
	return Eval[string](p, "document.body.innerText")
}

// Sees waits for each of the texts until the page shows it.
func (p *Page) Sees(texts ...string) {
	p.t.Helper()
	for _, text := range texts {
		p.Wait("the page says "+text, fmt.Sprintf("document.body.innerText.includes(%s)", Quoted(text)))
	}
}

// SeesNot waits until the page no longer shows a text.
func (p *Page) SeesNot(text string) {
	p.t.Helper()
	p.Wait("the page no longer says "+text, fmt.Sprintf("!document.body.innerText.includes(%s)", Quoted(text)))
}

// Click waits for a visible button, link, tab or summary element with this text or label, and
// clicks the first one.
func (p *Page) Click(text string) {
	p.t.Helper()
	find := fmt.Sprintf(`[...document.querySelectorAll('button,a,[role=tab],summary')].find((e) => e.offsetParent !== null && (e.innerText?.trim() === %[1]s || e.getAttribute('aria-label') === %[1]s))`, Quoted(text))
	p.Wait("there is "+text+" to click", find)
	p.Act(find + ".click()")
}

// Press presses keys, one after the other.
func (p *Page) Press(keys ...string) {
	p.t.Helper()
	for _, k := range keys {
		p.Do(chromedp.KeyEvent(k))
	}
}

// shots returns the folder for screenshots: the value of the environment variable SCREENSHOTS, or
// the test's artifact folder if the variable is empty.
func (p *Page) shots() string {
	if dir := os.Getenv("SCREENSHOTS"); dir != "" {
		return dir
	}
	return p.t.ArtifactDir()
}

// Shot saves a screenshot of the visible part of the page.
func (p *Page) Shot(name string) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, testenv.Patience)
	defer cancel()
	data, err := chromedp.Run(ctx, chromedp.CaptureScreenshot())
	if err != nil {
		p.t.Errorf("picture %s: %v", name, err)
		return
	}
	err = os.MkdirAll(p.shots(), 0o755)
	if err == nil {
		err = os.WriteFile(filepath.Join(p.shots(), name+".png"), data, 0o600)
	}
	if err != nil {
		p.t.Errorf("picture %s: %v", name, err)
	}
}
