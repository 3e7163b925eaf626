package verify_test

import (
	"fmt"
	"image/color"
	"image/png"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"gaffer/internal/attempt/verify"
	"gaffer/internal/testkit/testenv"
	"gaffer/workflow"
)

// pages starts a web server with pages that are hard to check.
func pages(t *testing.T) *httptest.Server {
	t.Helper()
	mux := http.NewServeMux()
	for path, body := range map[string]string{
		"/script": `<body style="background:#246"><p id=x>Six &amp; <b>no</b>des</p><script>x.append(" ad" + "ded")</script>`,
		"/later":  `<body><p id=x>-</p><script>setTimeout(() => x.textContent = "la" + "te", 1000)</script>`,
		"/live":   `<body><p id=x>-</p><script>new EventSource("/events").onmessage = e => x.textContent = "got " + e.data</script>`,
		"/alert":  `<body><script>alert(1); confirm(2); document.body.append("af" + "ter")</script>`,
		"/liar": `<body>quiet<!-- hidden one --><style>/* hidden one */</style><script>
			String.prototype.includes = () => true // hidden one
			throw new TypeError("bro" + "ken here")</script>`,
		"/forever": `<body>stuck<script>for(;;);</script>`,
		"/moves":   `<body><script>setTimeout(() => location = "/script", 300)</script>`,
	} {
		mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<!doctype html>", body) })
	}
	mux.HandleFunc("/events", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, "data: news\n\n")
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	})
	mux.HandleFunc("/json", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"ok": true}`)
	})
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s
}

// tools returns the programs of this machine. It fails the test if there is no browser, since these
// tests would prove nothing without one.
func tools(t *testing.T) verify.Tools {
	t.Helper()
	// The browser's profile must not outlive a check. Leftovers are visible in a folder that only
	// this test uses.
	dir, err := os.MkdirTemp("/tmp", "verify-")
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", dir)
	t.Setenv("HOME", dir)
	t.Cleanup(func() {
		noProcess(t, dir)
		if left := list(t, dir); left != "" {
			t.Errorf("left behind: %s", left)
		}
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	found := verify.FindTools()
	if found.Browser == "" {
		t.Fatalf("no browser: %s", found.Missing)
	}
	return found
}

func TestABrowserSeesWhatScriptsAdd(t *testing.T) {
	testenv.Integration(t)
	site, found := pages(t), tools(t)
	for _, c := range []struct{ path, text string }{
		{"/script", "Six & nodes added"},
		{"/script", `id="x"`},
		{"/later", "late"},
		{"/live", "got news"},
		{"/alert", "after"},
		{"/moves", "nodes  added"},
		{"/json", `"ok": true`},
	} {
		t.Run(c.path, func(t *testing.T) {
			o := run(t, verify.Request{Checks: []verify.Check{{URL: site.URL + c.path, Contains: c.text}}}, found)
			if !o.Passed || o.Mode != workflow.Full || o.Checks[0].Retried {
				t.Errorf("%+v", o)
			}
		})
	}
}

func TestTheReducedModeDoesNotSeeWhatScriptsAdd(t *testing.T) {
	site := pages(t)
	o := run(t, verify.Request{Screenshot: filepath.Join(t.TempDir(), "a.png"), Checks: []verify.Check{
		{URL: site.URL + "/script", Contains: "nodes added"},
		{URL: site.URL + "/script", Contains: "Six & <b>no</b>des"},
		{URL: site.URL + "/json", Contains: `"ok": true`, Screenshot: true},
	}}, verify.Tools{})
	if results(o) != "fail pass pass" || o.Mode != workflow.Reduced || o.Screenshot != "" {
		t.Errorf("%+v", o)
	}
	if o.Summary != "2/3 checks passed (reduced: no browser found)" {
		t.Errorf("summary %q", o.Summary)
	}
}

// The browser takes the proxy from its environment: requests that leave the machine go to the
// proxy, and requests to the machine itself do not.
func TestAPageWithoutTheText(t *testing.T) {
	testenv.Integration(t)
	var strangers atomic.Value
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.Contains(r.Host, "gaffer.invalid") {
			strangers.Store(r.Method + " " + r.Host)
		}
		http.Error(w, "no", http.StatusForbidden)
	}))
	defer proxy.Close()
	for _, name := range []string{"http_proxy", "https_proxy", "all_proxy"} {
		t.Setenv(name, proxy.URL)
	}
	o := run(t, verify.Request{Checks: []verify.Check{{URL: pages(t).URL + "/liar", Contains: "hidden one"}}}, tools(t))
	t.Run("fails though its source has it", func(t *testing.T) {
		if o.Passed || o.Mode != workflow.Full || !strings.Contains(o.Details[0].Output, `does not have "hidden one"`) {
			t.Errorf("%+v", o)
		}
	})
	t.Run("says what it shows and what its scripts died of", func(t *testing.T) {
		for _, want := range []string{"quiet", "TypeError: broken here"} {
			if !strings.Contains(o.Details[0].Output, want) {
				t.Errorf("no %q in %+v", want, o)
			}
		}
	})
	t.Run("is all that the browser talked to", func(t *testing.T) {
		if who := strangers.Load(); who != nil {
			t.Errorf("spoke to %v", who)
		}
	})
}

func TestAPageThatNeverFinishesLoadingIsCheckedInTime(t *testing.T) {
	testenv.Integration(t)
	began := time.Now()
	o := run(t, verify.Request{Checks: []verify.Check{{URL: pages(t).URL + "/forever", Contains: "x", Timeout: verify.Duration(4 * time.Second)}}}, tools(t))
	if took := time.Since(began); o.Passed || took > testenv.Patience {
		t.Errorf("took %s: %+v", took, o)
	}
}

func TestAPageThatCrashesTheBrowserFailsAtOnce(t *testing.T) {
	testenv.Integration(t)
	found := tools(t)
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, "<!doctype html>stuck")
		if strings.HasPrefix(r.UserAgent(), "Mozilla") { // a request of the browser, not the first request, which gaffer makes itself
			time.AfterFunc(300*time.Millisecond, func() { killRenderers(t) })
		}
	}))
	defer site.Close()
	limit := verify.Duration(10 * testenv.Patience)
	o := run(t, verify.Request{Mode: workflow.Full, Checks: []verify.Check{{URL: site.URL, Contains: "x", Timeout: limit}}}, found)
	if o.Passed || !strings.Contains(o.Details[0].Output, "the page crashed the browser") {
		t.Errorf("%+v", o)
	}
}

func killRenderers(t *testing.T) {
	t.Helper()
	for _, line := range running(t, os.Getenv("TMPDIR"), "--type=renderer") {
		pid, err := strconv.Atoi(strings.Split(line, "/")[2])
		if err != nil {
			t.Error(err)
			continue
		}
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
}

func TestAScreenshotIsAPictureOfThePage(t *testing.T) {
	testenv.Integration(t)
	site, found := pages(t), tools(t)
	path := filepath.Join(t.TempDir(), ".fctry", "verification", "chunk-3-dag.png")
	o := run(t, verify.Request{Screenshot: path, Checks: []verify.Check{
		{URL: site.URL + "/script", Screenshot: true},
		{URL: site.URL + "/absent", Screenshot: true},
	}}, found)
	if results(o) != "pass fail" || o.Screenshot != path {
		t.Fatalf("%+v", o)
	}
	second := strings.TrimSuffix(path, ".png") + "-2.png"
	if o.Details[1].Screenshot != second {
		t.Errorf("no picture of what failed: %+v", o.Details[1])
	}
	if n := colours(t, path); n < 3 {
		t.Errorf("%d colours", n)
	}
	if names := list(t, filepath.Dir(path)); names != "chunk-3-dag-2.png chunk-3-dag.png" {
		t.Errorf("the folder has %s", names)
	}
}

func colours(t *testing.T, path string) int {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	picture, err := png.Decode(f)
	if err != nil {
		t.Fatal(err)
	}
	if size := picture.Bounds().Size(); size.X != 1280 || size.Y != 900 {
		t.Errorf("size %v", size)
	}
	seen := map[color.Color]bool{}
	for x := range 1280 {
		for y := range 100 {
			seen[picture.At(x, y)] = true
		}
	}
	return len(seen)
}

func TestABrowserRunsWhereverTemporaryFilesAre(t *testing.T) {
	found := tools(t)
	long := filepath.Join(t.TempDir(), strings.Repeat("long", 20))
	if err := os.Mkdir(long, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", long)
	o := run(t, verify.Request{Mode: workflow.Full, Checks: []verify.Check{{URL: pages(t).URL + "/script", Contains: "added"}}}, found)
	if !o.Passed {
		t.Errorf("%+v", o)
	}
}

func TestChecksContinueWithoutABrowserThatDoesNotRun(t *testing.T) {
	site := pages(t)
	broken := filepath.Join(t.TempDir(), "chromium")
	if err := os.WriteFile(broken, []byte("#!/bin/sh\necho no usable sandbox\nexit 1\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	checks := []verify.Check{{URL: site.URL + "/script", Contains: "Six"}, {Command: "true"}}
	o := run(t, verify.Request{Checks: checks}, verify.Tools{Browser: broken})
	if !o.Passed || o.Mode != workflow.Reduced || !strings.Contains(o.Summary, "the browser does not run") {
		t.Errorf("%+v", o)
	}
	o = run(t, verify.Request{Checks: checks, Mode: workflow.Full}, verify.Tools{Browser: broken})
	if results(o) != "fail pass" || o.Mode != workflow.Full || !strings.Contains(o.Details[0].Output, "no usable sandbox") {
		t.Errorf("forced: %+v", o)
	}
}

func TestTheBrowserEndsIfGafferIsKilled(t *testing.T) {
	dir, err := os.MkdirTemp("/tmp", "verify-") // the folder for files that the killed process leaves
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	t.Setenv("TMPDIR", dir)
	path := request(t, verify.Request{Mode: workflow.Full, Checks: []verify.Check{{URL: pages(t).URL + "/forever", Contains: "never"}}})
	process, err := os.StartProcess(os.Args[0], []string{os.Args[0], path}, &os.ProcAttr{Env: append(os.Environ(), "VERIFY_AS_PROGRAM=1")})
	if err != nil {
		t.Fatal(err)
	}
	testenv.Wait(t, "a browser with a page", func() error {
		if len(running(t, dir, "--type=renderer")) == 0 {
			return fmt.Errorf("there are %q", running(t, dir))
		}
		return nil
	})
	if err := process.Kill(); err != nil {
		t.Fatal(err)
	}
	if _, err := process.Wait(); err != nil {
		t.Fatal(err)
	}
	noProcess(t, dir)
}
