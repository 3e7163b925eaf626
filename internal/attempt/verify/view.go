package verify

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"image/png"
	"strings"
	"time"

	"gaffer/statefile/host"
)

// Size of the window, in CSS pixels.
const (
	viewWidth  = 1280
	viewHeight = 900
)

const (
	// browserStart is the time limit for the start of a browser.
	browserStart = 30 * time.Second
	// settle is the time that text may take to appear after the page has loaded.
	settle = 5 * time.Second
	// lookAgain is the interval between two looks at a page.
	lookAgain = 100 * time.Millisecond
)

// look is the state of a page at a moment.
type look struct {
	Loaded bool   `json:"loaded"`
	Found  bool   `json:"found"`
	Text   string `json:"text"` // the beginning of the displayed text
}

// looking is JavaScript that searches for text in the document: in the displayed text,
// the source text and the markup. It ignores scripts, styles and comments.
const looking = `(wanted => {
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

// tryView checks a page with a browser. It keeps the problems in f.
func tryView(ctx context.Context, c Check, path, picture string, f finding) finding {
	if path == "" {
		f.noBrowser = true
		return f.and("there is no browser to look at it with")
	}
	b, err := startBrowser(path)
	if err != nil {
		f.noBrowser = true
		return f.and(err.Error())
	}
	if err := b.open(ctx); err != nil {
		f.noBrowser = true
		f.output += b.close()
		return f.and(err.Error())
	}
	f = b.view(ctx, c, picture, f)
	b.close()
	return f
}

// open creates an empty page.
func (b *browser) open(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, browserStart)
	defer cancel()
	var target struct {
		ID string `json:"targetId"`
	}
	if err := b.call(ctx, "Target.createTarget", map[string]any{"url": "about:blank"}, &target); err != nil {
		return err
	}
	var attached struct {
		ID string `json:"sessionId"`
	}
	if err := b.call(ctx, "Target.attachToTarget", map[string]any{"targetId": target.ID, "flatten": true}, &attached); err != nil {
		return err
	}
	b.session = attached.ID
	for _, step := range []struct {
		method string
		params map[string]any
	}{
		{"Page.enable", map[string]any{}},
		{"Runtime.enable", map[string]any{}},
		{"Emulation.setDeviceMetricsOverride", map[string]any{"width": viewWidth, "height": viewHeight, "deviceScaleFactor": 1, "mobile": false}},
	} {
		if err := b.call(ctx, step.method, step.params, &struct{}{}); err != nil {
			return err
		}
	}
	return nil
}

func (b *browser) view(ctx context.Context, c Check, picture string, f finding) finding {
	ctx, cancel := context.WithTimeout(ctx, c.timeout())
	defer cancel()
	seen, err := b.visit(ctx, c)
	switch {
	case err != nil:
		f = f.and(err.Error())
	case !seen.Found:
		f.output = "the page shows:\n" + seen.Text
		f = f.and(fmt.Sprintf("the page does not have %q", flat(c.Contains)))
	}
	if picture != "" {
		if err := b.photograph(ctx, picture); err != nil {
			f = f.and(err.Error())
		} else {
			f.picture = picture
		}
	}
	if !f.ok() && len(b.errors) > 0 {
		f.output += "\nerrors of its scripts:\n" + strings.Join(b.errors, "\n")
	}
	return f
}

// visit opens the page and waits until it has loaded and contains the text, or the time
// is up.
func (b *browser) visit(ctx context.Context, c Check) (look, error) {
	// A screenshot of a failure needs time too.
	ctx, cancel := context.WithTimeout(ctx, c.timeout()*3/4)
	defer cancel()
	var went struct {
		Frame string `json:"frameId"`
		Error string `json:"errorText"`
	}
	if err := b.call(ctx, "Page.navigate", map[string]any{"url": c.URL}, &went); err != nil {
		return look{}, err
	}
	if went.Error != "" {
		return look{}, fmt.Errorf("open the page: %s", went.Error)
	}
	return b.watch(ctx, went.Frame, flat(c.Contains))
}

func (b *browser) watch(ctx context.Context, frame, wanted string) (look, error) {
	var seen look
	var loaded time.Time
	for {
		now, err := b.look(ctx, frame, wanted)
		if err == nil {
			seen = now
		}
		if seen.Loaded && loaded.IsZero() {
			loaded = time.Now()
		}
		if seen.Loaded && (seen.Found || time.Since(loaded) > settle) {
			return seen, nil
		}
		select {
		case <-ctx.Done():
			return seen, err // a page that never finishes loading is judged by what it has
		case <-time.After(lookAgain):
		}
	}
}

// look runs in an isolated world, which the page's scripts cannot change. A navigation
// destroys that world, so each look creates one.
func (b *browser) look(ctx context.Context, frame, wanted string) (look, error) {
	var world struct {
		ID int `json:"executionContextId"`
	}
	if err := b.call(ctx, "Page.createIsolatedWorld", map[string]any{"frameId": frame, "worldName": "gaffer"}, &world); err != nil {
		return look{}, err
	}
	text, err := json.Marshal(wanted)
	if err != nil {
		return look{}, err
	}
	var answer struct {
		Result struct {
			Value look `json:"value"`
		} `json:"result"`
	}
	err = b.call(ctx, "Runtime.evaluate", map[string]any{
		"expression": looking + "(" + string(text) + ")", "contextId": world.ID, "returnByValue": true,
	}, &answer)
	return answer.Result.Value, err
}

// photograph takes a screenshot and stores it at path, if it is a valid picture.
func (b *browser) photograph(ctx context.Context, path string) error {
	var taken struct {
		Data []byte `json:"data"`
	}
	if err := b.call(ctx, "Page.captureScreenshot", map[string]any{"format": "png"}, &taken); err != nil {
		return err
	}
	if _, err := png.Decode(bytes.NewReader(taken.Data)); err != nil {
		return fmt.Errorf("the picture: %w", err)
	}
	return put(host.OS(), path, taken.Data)
}
