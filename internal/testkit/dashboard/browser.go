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

// Browser is a running Chromium. All tests of a package share one; each test uses separate profiles
// without cookies.
type Browser struct {
	ctx context.Context
	end func()
}

// program returns the name of the browser's program: the Chromium without windows if it is
// installed, because it needs a third less processor time, or else the ordinary Chromium.
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
		chromedp.Flag("force-prefers-reduced-motion", true), // otherwise the signs of running agents are drawn 60 times a second
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
