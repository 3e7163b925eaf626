// Package dashboard controls gaffer's dashboard in a Chromium browser, for tests of the whole
// program. Only tests import it.
package dashboard

import (
	"context"
	"fmt"
	"os/exec"
	"testing"

	"github.com/chromedp/chromedp"
)

// Browser is a running Chromium. Several tests can share one Browser, because each call of
// [Browser.Open] uses a new profile without cookies.
type Browser struct {
	ctx context.Context
	end func()
}

// program returns the name of the Chromium program to start. It prefers chromium-headless-shell,
// which shows no windows. If that is not installed, it returns the ordinary Chromium.
func program() string {
	const withoutWindows = "chromium-headless-shell"
	if _, err := exec.LookPath(withoutWindows); err == nil {
		return withoutWindows
	}
	return "chromium"
}

// Start starts a Chromium that keeps its files in the folder dir.
func Start(dir string) (*Browser, error) {
	allocated, quit := chromedp.NewExecAllocator(context.Background(), append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(program()),
		chromedp.NoSandbox,
		chromedp.UserDataDir(dir),
		chromedp.Flag("disable-background-networking", true),
		chromedp.Flag("disable-component-update", true),
		chromedp.Flag("disable-sync", true),
		chromedp.Flag("disable-quic", true),
		chromedp.Flag("disable-gpu", true),
		chromedp.Flag("disable-dev-shm-usage", true),
		// Turn off animations. With animations, the dashboard would redraw its symbols for running
		// agents 60 times a second.
		chromedp.Flag("force-prefers-reduced-motion", true),
		chromedp.Flag("enable-precise-memory-info", true),
		chromedp.Flag("js-flags", "--expose-gc"),
	)...)
	ctx, end := chromedp.NewContext(allocated)
	b := &Browser{ctx, func() { end(); quit() }}
	if err := chromedp.Do(ctx); err != nil {
		b.Close()
		return nil, fmt.Errorf("start chromium: %w", err)
	}
	return b, nil
}

// Close ends the browser.
func (b *Browser) Close() { b.end() }

// Open opens an address in a new browser profile.
func (b *Browser) Open(t testing.TB, url string) *Page {
	t.Helper()
	p := newPage(b.ctx, t, chromedp.WithNewBrowserContext())
	p.Do(chromedp.Navigate(url))
	return p
}
