package browser

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"gaffer/internal/testkit/testenv"
)

// page is a logged-in tab in its own browser profile.
type page struct {
	*world
	ctx context.Context

	mu     sync.Mutex
	errors []string // errors in the page
}

// open logs a new browser in and shows a page. Errors in the page fail the test at
// its end.
func (w *world) open(hash string) *page {
	w.Helper()
	p := w.tabAt(w.loginURL())
	p.visit(hash)
	return p
}

// tabAt opens an address in a new browser profile.
func (w *world) tabAt(url string) *page {
	w.Helper()
	p := w.tab(browser, chromedp.WithNewBrowserContext())
	p.do(chromedp.Navigate(url))
	return p
}

// another opens one more tab of the same browser.
func (p *page) another(hash string) *page {
	p.Helper()
	next := p.tab(p.ctx)
	next.do(chromedp.Navigate(p.url + "/" + hash))
	next.wait("the page is there", there)
	return next
}

// tab opens an empty tab, and records its errors.
func (w *world) tab(in context.Context, how ...chromedp.ContextOption) *page {
	w.Helper()
	ctx, end := chromedp.NewContext(in, how...)
	p := &page{world: w, ctx: ctx}
	w.must(chromedp.Do(ctx)) // the tab lives as long as the context of its first step
	p.size(1280, 800)
	var listeners sync.WaitGroup
	listeners.Go(func() { p.recordExceptions(ctx) })
	listeners.Go(func() { p.recordLog(ctx) })
	w.Cleanup(func() {
		if w.Failed() {
			p.shot("failed-" + strings.ReplaceAll(w.Name(), "/", "-"))
		}
		end()
		listeners.Wait()
		for _, e := range p.errors {
			w.Errorf("the page complains: %s", e)
		}
	})
	p.do(call(log.Enable, cdp.Empty{}))
	return p
}

// recordExceptions records uncaught exceptions of the page's scripts.
func (p *page) recordExceptions(ctx context.Context) {
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

// recordLog records log entries with the level error, such as violations of the page's
// policy. It ignores network errors, because the server may be down.
func (p *page) recordLog(ctx context.Context) {
	for e, err := range chromedp.Events(ctx, log.EntryAdded) {
		if err != nil {
			return
		}
		if e.Entry.Level == log.EntryLevelError && e.Entry.Source != log.EntrySourceNetwork {
			p.complain(string(e.Entry.Source) + ": " + e.Entry.Text)
		}
	}
}

func (p *page) complain(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.errors = append(p.errors, text)
}

// call returns an action that sends a command to the browser.
func call[P, R any](command cdp.Command[P, R], params P) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, command, params)
		return err
	})
}

func (p *page) do(steps ...chromedp.Action[chromedp.Void]) {
	p.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	if err := chromedp.Do(ctx, steps...); err != nil {
		p.Fatal(err)
	}
}

// visit shows another page of the dashboard. It waits for the hashchange event,
// because the previous page is shown until then.
func (p *page) visit(hash string) {
	p.Helper()
	_ = eval[bool](p, fmt.Sprintf(`new Promise((done) => {
  const before = location.href;
  addEventListener('hashchange', () => setTimeout(done, 0, true), { once: true });
  location.hash = %s;
  if (location.href === before) done(true);
})`, quoted(hash)))
	p.wait("the page is there", there)
}

// there is a script that reports whether a page is shown.
const there = `document.querySelector('main') && !document.querySelector('.starting')`

func (p *page) size(width, height int64) { p.do(chromedp.EmulateViewport(width, height)) }

// dark sets the preferred colour scheme.
func (p *page) dark(on bool) {
	value := "light"
	if on {
		value = "dark"
	}
	p.do(call(emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: value}}}))
}

func quoted(text string) string {
	data, _ := json.Marshal(text) // encoding a string never fails
	return string(data)
}

// eval returns the value of a script in the page.
func eval[V any](p *page, script string) V {
	p.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	value, err := chromedp.Run(ctx, chromedp.Evaluate[V](script, chromedp.EvalAwaitPromise))
	if err != nil {
		p.Fatalf("%s: %v", script, err)
	}
	return value
}

// act runs a script in the page.
func (p *page) act(script string) {
	p.Helper()
	_ = eval[bool](p, "(() => { "+script+"; return true; })()")
}

// holds reports whether a script's value is true.
func (p *page) holds(script string) bool {
	p.Helper()
	return eval[bool](p, "!!("+script+")")
}

// may is like holds for a page that may be navigating.
func (p *page) may(script string) bool {
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	yes, err := chromedp.Run(ctx, chromedp.Evaluate[bool]("!!("+script+")", chromedp.EvalAwaitPromise))
	return yes && err == nil
}

// wait waits until a script's value is true.
func (p *page) wait(what, script string) {
	p.Helper()
	testenv.Wait(p, what, func() error {
		if p.may(script) {
			return nil
		}
		return pageError{p, script}
	})
}

// pageError reads the page's text only when a wait has failed.
type pageError struct {
	page   *page
	script string
}

func (e pageError) Error() string {
	return fmt.Sprintf("%s is not true; the page says:\n%s", e.script, e.page.text())
}

// text returns all text of the page.
func (p *page) text() string {
	p.Helper()
	return eval[string](p, "document.body.innerText")
}

// sees waits until the page shows the texts.
func (p *page) sees(texts ...string) {
	p.Helper()
	for _, text := range texts {
		p.wait("the page says "+text, fmt.Sprintf("document.body.innerText.includes(%s)", quoted(text)))
	}
}

// seesNot waits until the page no longer shows a text.
func (p *page) seesNot(text string) {
	p.Helper()
	p.wait("the page no longer says "+text, fmt.Sprintf("!document.body.innerText.includes(%s)", quoted(text)))
}

// click clicks the first button, link or tab with that text or label.
func (p *page) click(text string) {
	p.Helper()
	find := fmt.Sprintf(`[...document.querySelectorAll('button,a,[role=tab],summary')].find((e) => e.offsetParent !== null && (e.innerText?.trim() === %[1]s || e.getAttribute('aria-label') === %[1]s))`, quoted(text))
	p.wait("there is "+text+" to click", find)
	p.act(find + ".click()")
}

// press sends keyboard events.
func (p *page) press(keys ...string) {
	p.Helper()
	for _, k := range keys {
		p.do(chromedp.KeyEvent(k))
	}
}

const (
	tab   = kb.Tab
	enter = kb.Enter
)

// shots returns the folder for screenshots.
func (p *page) shots() string {
	if dir := os.Getenv("SCREENSHOTS"); dir != "" {
		return dir
	}
	return p.ArtifactDir()
}

// shot takes a screenshot of the visible part.
func (p *page) shot(name string) {
	p.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	data, err := chromedp.Run(ctx, chromedp.CaptureScreenshot())
	if err != nil {
		p.Errorf("picture %s: %v", name, err)
		return
	}
	p.must(os.MkdirAll(p.shots(), 0o755))
	p.must(os.WriteFile(filepath.Join(p.shots(), name+".png"), data, 0o600))
}
