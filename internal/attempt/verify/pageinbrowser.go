package verify

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"image/png"
	"strings"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"gaffer/statefile/host"
)

// Size of the browser's window, in CSS pixels.
const (
	viewWidth  = 1280
	viewHeight = 900
)

const (
	// browserStart is the time limit for the start of a browser.
	browserStart = 30 * time.Second
	// textTimeout is how long a check waits for the expected text after the page has loaded.
	textTimeout = 5 * time.Second
	// pollInterval is the interval between two reads of a page.
	pollInterval = 100 * time.Millisecond
)

// pageState is what a page contained when it was read.
type pageState struct {
	Loaded bool   `json:"loaded"`
	Found  bool   `json:"found"`
	Text   string `json:"text"` // the beginning of the displayed text
}

// readState is a JavaScript function that searches the page for the text wanted, and returns a
// [pageState]. It searches the displayed text, the text content of the document, and the markup. In
// the last two it ignores scripts, styles and comments.
const readState = `(wanted => {
	const flat = s => s.replace(/\s+/g, " ");
	const shown = document.body ? document.body.innerText : "";
	const copy = document.documentElement.cloneNode(true);
	copy.querySelectorAll("script, style, template, noscript").forEach(e => e.remove());
	const walk = document.createTreeWalker(copy, NodeFilter.SHOW_COMMENT), comments = [];
	while (walk.nextNode()) comments.push(walk.currentNode);
	comments.forEach(e => e.remove());
	const found = [shown, copy.textContent, copy.outerHTML].some(s => flat(s).includes(wanted));
	return {loaded: document.readyState === "complete", found, text: shown.slice(0, 1500)};
})`

// tryInBrowser checks a page with a browser. path is the path of the browser's program. If path is
// empty, there is no browser, and the check fails. picture is the path for a screenshot. If picture
// is empty, no screenshot is taken. f is the result of fetching the page without a browser.
// tryInBrowser adds the problems that it finds to f, and returns f.
func tryInBrowser(ctx context.Context, c Check, path, picture string, f tryResult) tryResult {
	if path == "" {
		f.noBrowser = true
		return f.withProblem("there is no browser to look at it with")
	}
	b, err := startBrowser(ctx, path)
	if err != nil {
		f.noBrowser = true
		f.output += b.close()
		return f.withProblem(err.Error())
	}
	defer b.close()

	limited, cancel := context.WithTimeout(b.page, c.timeout())
	defer cancel()
	state, err := b.load(limited, c)
	switch {
	case err != nil:
		f = f.withProblem(b.reason(err).Error())
	case !state.Found:
		f.output = "the page shows:\n" + state.Text
		f = f.withProblem(fmt.Sprintf("the page does not have %q", collapseSpace(c.Contains)))
	}
	if picture != "" {
		if err := takeScreenshot(limited, picture); err != nil {
			f = f.withProblem(b.reason(err).Error())
		} else {
			f.picture = picture
		}
	}
	if thrown := b.scriptErrors(); !f.ok() && len(thrown) > 0 {
		f.output += "\nerrors of its scripts:\n" + strings.Join(thrown, "\n")
	}
	return f
}

// load opens the page of check c. It waits until the page has loaded and contains the text of the
// check. It stops waiting textTimeout after the page has loaded, or when the time for loading is
// over. It returns the last state of the page that it has read.
func (b *browser) load(ctx context.Context, c Check) (pageState, error) {
	// Loading may take three quarters of the check's time, so that some time is left for a
	// screenshot.
	ctx, cancel := context.WithTimeout(ctx, c.timeout()*3/4)
	defer cancel()
	opened, err := chromedp.Call(ctx, page.Navigate, page.NavigateParams{URL: c.URL})
	if err != nil {
		return pageState{}, fmt.Errorf("open the page: %w", err)
	}
	if opened.ErrorText != "" {
		return pageState{}, fmt.Errorf("open the page: %s", opened.ErrorText)
	}
	var last pageState
	var loaded time.Time
	for {
		state, err := stateOf(ctx, opened.FrameID, collapseSpace(c.Contains))
		if err == nil {
			last = state
		}
		if last.Loaded && loaded.IsZero() {
			loaded = time.Now()
		}
		if last.Loaded && (last.Found || time.Since(loaded) > textTimeout) {
			return last, nil
		}
		select {
		case <-ctx.Done():
			if b.page.Err() != nil {
				err = b.page.Err()
			}
			// err is nil if the last read of the page succeeded and only the time for loading is
			// over. The caller then judges the page by what it contains so far, even if it has not
			// loaded completely.
			return last, err
		case <-time.After(pollInterval):
		}
	}
}

// stateOf reads the state of the page and searches it for the text in the parameter wanted. It does
// so in an isolated JavaScript context, which the page's scripts cannot change. When the page
// navigates, that context is destroyed. So stateOf creates a new one on each call.
func stateOf(ctx context.Context, frame cdp.FrameID, wanted string) (pageState, error) {
	world, err := chromedp.Call(ctx, page.CreateIsolatedWorld, page.CreateIsolatedWorldParams{FrameID: frame, WorldName: "gaffer"})
	if err != nil {
		return pageState{}, fmt.Errorf("read the page: %w", err)
	}
	text, err := json.Marshal(wanted)
	if err != nil {
		return pageState{}, err
	}
	state, err := chromedp.Run(ctx, chromedp.Evaluate[pageState](readState+"("+string(text)+")", func(p *runtime.EvaluateParams) {
		p.ContextID = world.ExecutionContextID
	}))
	if err != nil {
		return pageState{}, fmt.Errorf("read the page: %w", err)
	}
	return state, nil
}

// takeScreenshot stores a screenshot of the page at path. It returns an error if the picture from
// the browser is not a valid PNG.
func takeScreenshot(ctx context.Context, path string) error {
	data, err := chromedp.Run(ctx, chromedp.CaptureScreenshot())
	if err != nil {
		return fmt.Errorf("take a screenshot: %w", err)
	}
	if _, err := png.Decode(bytes.NewReader(data)); err != nil {
		return fmt.Errorf("the picture: %w", err)
	}
	return writeFile(host.OS(), path, data)
}
