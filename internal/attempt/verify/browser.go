package verify

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/inspector"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// browser is a headless browser for a single check of a page. It has a temporary profile. gaffer
// communicates with the browser over two pipes. So the browser opens no port, and exits by itself
// if gaffer dies.
type browser struct {
	group   *processGroup
	output  *output
	profile string
	conn    *chromedp.PipeConn
	client  *chromedp.Browser
	page    context.Context // chromedp's context of the page
	fail    context.CancelCauseFunc

	mu     sync.Mutex
	errors []string // uncaught errors of the page's scripts
}

// startBrowser starts the browser at path and opens an empty page. If ctx ends, all
// calls to the browser fail. The caller must close the browser, even after an error.
func startBrowser(ctx context.Context, path string) (*browser, error) {
	b := &browser{}
	var err error
	if b.profile, err = os.MkdirTemp(shortTemp(os.TempDir()), "gaffer-browser-"); err != nil {
		return b, err
	}
	if err := b.startProcess(path); err != nil {
		return b, fmt.Errorf("start %s: %w", filepath.Base(path), err)
	}
	ctx, b.fail = context.WithCancelCause(ctx)
	b.client, err = chromedp.NewBrowserTransport(ctx, b.conn, chromedp.WithBrowserErrorf(discard), chromedp.WithBrowserLogf(discard))
	if err != nil {
		return b, err
	}
	b.page, _ = chromedp.NewContext(ctx, func(c *chromedp.Context) { c.Browser = b.client }) // no cancel is needed: the context ends with ctx
	// Use a timer and not a context with a deadline. At the deadline, the context would end the
	// browser even if it had started in time.
	late := time.AfterFunc(browserStart, func() { b.fail(fmt.Errorf("the browser did not start within %s", browserStart)) })
	defer late.Stop()
	if err := chromedp.Do(b.page, chromedp.EmulateViewport(viewWidth, viewHeight)); err != nil {
		return b, fmt.Errorf("open an empty page: %w", b.reason(err))
	}
	b.handleEvents()
	return b, nil
}

func discard(string, ...any) {}

// startProcess starts the browser at path. The browser reads messages from file descriptor 3, which
// is a pipe, and writes messages to file descriptor 4, which is another pipe.
func (b *browser) startProcess(path string) error {
	theirIn, ourOut, err := os.Pipe()
	if err != nil {
		return err
	}
	ourIn, theirOut, err := os.Pipe()
	if err != nil {
		_, _ = theirIn.Close(), ourOut.Close()
		return err
	}
	b.conn = chromedp.NewPipeConn(&messageReader{File: ourIn}, ourOut)
	defer func() { _, _ = theirIn.Close(), theirOut.Close() }()
	cmd := exec.Command(path, browserFlags(b.profile, os.Getuid() == 0)...)
	// Keep all files of the browser in its profile, which is deleted later.
	cmd.Env = append(os.Environ(), "TMPDIR="+b.profile, "XDG_CONFIG_HOME="+b.profile, "XDG_CACHE_HOME="+b.profile, "BREAKPAD_DUMP_LOCATION="+b.profile)
	cmd.ExtraFiles = []*os.File{theirIn, theirOut}
	if b.output, err = captureOutput(cmd); err != nil {
		return err
	}
	b.group, err = startProcessGroup(cmd)
	return err
}

// maxMessage is the maximum size of a message from a browser, in bytes. Screenshots are the largest
// messages that gaffer expects, and are much smaller.
const maxMessage = 64 << 20

// messageReader reads messages that each end with a zero byte. It fails at a message that is too
// large: a page can log text of any length, and chromedp keeps a whole message in memory.
type messageReader struct {
	*os.File
	size int // bytes read since the last zero byte
}

// Read implements io.Reader.
func (r *messageReader) Read(p []byte) (int, error) {
	n, err := r.File.Read(p)
	if end := bytes.LastIndexByte(p[:n], 0); end >= 0 {
		r.size = n - end - 1
	} else {
		r.size += n
	}
	if r.size > maxMessage {
		return 0, errors.New("the browser sent a message that is too large")
	}
	return n, err
}

// maxErrors is the maximum number of script errors of a page that are kept. They are added to the
// output of a failed check.
const maxErrors = 5

// handleEvents starts goroutines that handle events of the page until the page's context ends. They
// close dialogs, because dialogs block the page. They collect script errors in b.errors. If the
// page crashes, they make all calls to the browser fail.
func (b *browser) handleEvents() {
	target := chromedp.FromContext(b.page).Target
	dialogs := cdp.Events(b.page, target, page.JavascriptDialogOpening)
	crashes := cdp.Events(b.page, target, inspector.TargetCrashed)
	exceptions := cdp.Events(b.page, target, runtime.ExceptionThrown)
	go func() {
		for _, err := range dialogs {
			if err == nil {
				// Ignore the error: if the dialog stays open, the page stays blocked until the
				// check reaches its time limit.
				_, _ = cdp.Call(b.page, target, page.HandleJavaScriptDialog, page.HandleJavaScriptDialogParams{Accept: true})
			}
		}
	}()
	go func() {
		for _, err := range crashes {
			if err == nil {
				b.fail(errors.New("the page crashed the browser"))
			}
		}
	}()
	go func() {
		for thrown, err := range exceptions {
			if err != nil || thrown.ExceptionDetails == nil {
				continue
			}
			text := thrown.ExceptionDetails.Text
			if e := thrown.ExceptionDetails.Exception; e != nil && e.Description != "" {
				text = e.Description
			}
			b.mu.Lock()
			if text != "" && len(b.errors) < maxErrors {
				b.errors = append(b.errors, text)
			}
			b.mu.Unlock()
		}
	}()
}

// scriptErrors returns the first uncaught errors of the page's scripts, at most maxErrors.
func (b *browser) scriptErrors() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.errors)
}

// reason explains err, the error of a call to the browser. If the page's context has ended, reason
// returns the cause, such as the error that was passed to b.fail. Otherwise it returns err.
func (b *browser) reason(err error) error {
	if err != nil && b.page.Err() != nil {
		return context.Cause(b.page)
	}
	return err
}

// shortTemp returns dir, or /tmp if the path dir is too long. The browser creates sockets
// below this folder, and the system allows socket paths of only about 100 bytes.
func shortTemp(dir string) string {
	const maxLength = 40
	if len(dir) > maxLength {
		return "/tmp"
	}
	return dir
}

// unresolvable is a host name that never has an address.
const unresolvable = "gaffer.invalid"

// browserFlags returns the browser's command line flags. Many of them restrict the browser to the
// page's own requests. Without them, the browser would also contact its vendor, for example for
// updates, machine-learning models and the time. The parameter profile is the path of the browser's
// profile folder. The parameter root says whether gaffer runs as root.
func browserFlags(profile string, root bool) []string {
	flags := []string{
		"--headless", "--remote-debugging-pipe", "--user-data-dir=" + profile,
		"--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars", "--mute-audio",
		"--no-first-run", "--no-default-browser-check", "--disable-extensions", "--disable-default-apps",
		"--disable-quic", "--disable-background-networking", "--disable-sync", "--disable-breakpad", "--disable-domain-reliability",
		"--disable-component-update", "--component-updater=disable-pings,url-source=http://" + unresolvable,
		"--disable-features=OptimizationHints,OptimizationGuideModelDownloading,OptimizationGuideFetching,NetworkTimeServiceQuerying",
		"--gaia-url=http://" + unresolvable, "--host-resolver-rules=MAP " + unresolvable + " ~NOTFOUND",
		fmt.Sprintf("--window-size=%d,%d", viewWidth, viewHeight),
	}
	if root {
		flags = append(flags, "--no-sandbox") // the browser's sandbox does not work for root
	}
	return append(flags, "about:blank")
}

// close kills all processes of the browser and deletes its files. It returns the last part of the
// browser's output.
func (b *browser) close() string {
	if b.fail != nil {
		b.fail(context.Canceled)
	}
	if b.group != nil {
		b.group.end(0)
	}
	if b.conn != nil {
		_ = b.conn.Close()
	}
	if b.client != nil {
		<-b.client.LostConnection // closed when the goroutine that reads the pipe has ended
	}
	text := ""
	if b.output != nil {
		text = b.output.end()
	}
	if b.profile != "" {
		removeAll(b.profile)
	}
	return text
}

// removeAll deletes a folder. If that fails, for example because dying processes still write to the
// folder, removeAll tries again for a second.
func removeAll(dir string) {
	for range 20 {
		if os.RemoveAll(dir) == nil {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
}
