package report

import (
	"bytes"
	"fmt"
	"html"
	"image"
	"image/color"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"gaffer/internal/testkit/testenv"
	"gaffer/ledger"
)

func pageOf(t *testing.T, q ledger.Query) string {
	t.Helper()
	var b bytes.Buffer
	if err := HTML(&b, reportOf(t, q), Source{Ledger: "/home/me/state", Version: "1.2.3"}); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestAPageLoadsNothingElse(t *testing.T) {
	records(t)
	text := pageOf(t, ledger.Query{Cost: cost})
	for _, foreign := range []string{"<script", "<link", "<iframe", "<img", "@import", "url(", "http:", "https:", " src=", " href=", "javascript:"} {
		if strings.Contains(text, foreign) {
			t.Errorf("the page has %q", foreign)
		}
	}
}

func TestTextOfRecordsIsEscapedOnAPage(t *testing.T) {
	records(t)
	text := pageOf(t, ledger.Query{})
	for _, shown := range []string{"&lt;script&gt;alert(1)&lt;/script&gt;", "日本語モデルの名前", "a &#34;quoted&#34; &lt;/svg&gt; reason�"} {
		if !strings.Contains(text, shown) {
			t.Errorf("the page does not show %s", shown)
		}
	}
	for _, r := range text {
		if r < ' ' && r != '\n' || r == '\u202e' {
			t.Errorf("the page has the character %q", r)
		}
	}
}

func TestTheTableBehindAChartHasItsNumbers(t *testing.T) {
	records(t)
	r := reportOf(t, ledger.Query{Cost: cost})
	p := newPage(r, Source{})
	for _, c := range append(p.Charts, p.Outcome) {
		if len(c.Table.Rows) < len(c.Rows) {
			t.Errorf("%s has %d bars and %d rows", c.ID, len(c.Rows), len(c.Table.Rows))
		}
		for _, row := range c.Table.Rows {
			if len(row) != len(c.Table.Head) {
				t.Errorf("%s: %v below %v", c.ID, row, c.Table.Head)
			}
		}
	}
	if want := len(r.Statistics.ByWeek) + 2; len(p.WeekTable.Rows) != want {
		t.Errorf("%d rows of weeks, want %d with the earlier and the undated ones", len(p.WeekTable.Rows), want)
	}
}

func TestOneWeekIsNoTrend(t *testing.T) {
	records(t)
	since, err := ledger.ParseSince("1d", now)
	if err != nil {
		t.Fatal(err)
	}
	if text := pageOf(t, ledger.Query{Since: since}); strings.Contains(text, "Trend by week") {
		t.Error("the page has a trend")
	}
}

func TestARoundedAxisIsNotBelowItsLargestValue(t *testing.T) {
	for n, want := range map[float64]float64{0: 1, 0.3: 0.4, 1: 1, 1.1: 2, 17: 20, 41: 50, 81: 100, 99999: 100000} {
		if got := roundUp(n); got < n || got/want > 1.0001 || want/got > 1.0001 {
			t.Errorf("nice(%v) = %v, want %v", n, got, want)
		}
	}
	if got := roundUpSeconds(2825); got != 3000 {
		t.Errorf("niceSeconds(2825) = %v", got)
	}
}

// browser opens a file in chromium and returns chromium's output. It uses a separate profile
// folder, and kills all processes that chromium leaves.
func browser(t *testing.T, file string, args ...string) string {
	t.Helper()
	home := homeOf(t)
	args = append([]string{
		"--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
		"--disable-component-update", "--disable-sync", "--disable-extensions", "--disable-breakpad", "--disable-crash-reporter",
		"--hide-scrollbars", "--user-data-dir=" + filepath.Join(home, "profile"),
	}, args...)
	cmd := exec.Command("chromium", append(args, "file://"+file)...)
	cmd.Env = append(os.Environ(), "HOME="+home, "TMPDIR="+home, "XDG_CONFIG_HOME="+home, "XDG_CACHE_HOME="+home)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	var out, talk bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &talk
	cmd.WaitDelay = 10 * time.Second
	if err := cmd.Start(); err != nil {
		t.Fatalf("%v; on Debian, apt-get install chromium", err)
	}
	late := time.AfterFunc(2*time.Minute, func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) })
	err := cmd.Wait()
	late.Stop()
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // kills what a crashed browser has left behind
	if err != nil {
		t.Fatalf("chromium: %v\n%s", err, talk.String())
	}
	return out.String()
}

// homeOf returns a new folder for the browser. At the end of the test it is deleted, once the
// browser's last processes do not use it any more.
func homeOf(t *testing.T) string {
	t.Helper()
	home, err := os.MkdirTemp("", "gaffer-browser-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		testenv.Wait(t, "the browser to let go of its folder", func() error { return os.RemoveAll(home) })
	})
	return home
}

// artifacts returns the folder for screenshots that a developer may look at.
func artifacts(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("GAFFER_ARTIFACTS")
	if dir == "" {
		return t.ArtifactDir()
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestABrowserShowsTheChartsOfThePage(t *testing.T) {
	testenv.Integration(t)
	folder, err := filepath.Abs(artifacts(t)) // call it before the test changes the current folder
	if err != nil {
		t.Fatal(err)
	}
	records(t)
	r := reportOf(t, ledger.Query{Cost: cost})
	file := filepath.Join(t.TempDir(), "report.html")
	if err := os.WriteFile(file, []byte(pageOf(t, ledger.Query{Cost: cost})), 0o644); err != nil {
		t.Fatal(err)
	}
	dom := browser(t, file, "--dump-dom")
	if !strings.Contains(dom, "<title>Run report: 200 runs of 166 tasks") {
		t.Fatalf("no title in %.300s", dom)
	}
	checkBars(t, dom, r.Statistics)
	for _, c := range []struct {
		scheme, setting string
		width, height   int
		page            color.RGBA
		colors          []color.RGBA
	}{
		{"light", "1", 1280, 3200, rgb(0xf4f5f7), []color.RGBA{rgb(0x0f9d76), rgb(0xd9480f), rgb(0xf2b01e), rgb(0x5b6ee1), rgb(0x8a63d2)}},
		{"dark", "0", 400, 5400, rgb(0x12151b), []color.RGBA{rgb(0x2fbf95), rgb(0xf0703c), rgb(0xf5c04a), rgb(0x8291f2), rgb(0xa98be6)}},
	} {
		picture := filepath.Join(folder, fmt.Sprintf("report-%s-%d.png", c.scheme, c.width))
		browser(t, file, "--screenshot="+picture, fmt.Sprintf("--window-size=%d,%d", c.width, c.height), "--blink-settings=preferredColorScheme="+c.setting)
		checkPicture(t, picture, c.width, c.page, c.colors)
	}
}

var (
	chartOf = regexp.MustCompile(`(?s)<figure class="[^"]*chart" id="chart-([a-z-]+)">(.*?)</figure>`)
	barOf   = regexp.MustCompile(`<rect class="bar [a-z]+"`)
	dotOf   = regexp.MustCompile(`<line class="dot"`)
	rowOf   = regexp.MustCompile(`<tr>`)
	tipOf   = regexp.MustCompile(`<title>([^<]+)</title>`)
)

// checkBars checks that the browser's DOM contains the right number of bars.
func checkBars(t *testing.T, dom string, s ledger.Statistics) {
	t.Helper()
	weeks := func(of func(ledger.Week) int) (n int) {
		for _, w := range s.ByWeek {
			n += of(w)
		}
		return n
	}
	one := func(yes bool) int {
		if yes {
			return 1
		}
		return 0
	}
	parts := func(g ledger.Group) (n int) {
		for _, part := range partsOfGroup(g) {
			n += one(part > 0)
		}
		return n
	}
	want := map[string]int{
		"outcome": 5, "durations": 10, "reasons": len(s.FailureReasons),
		"weeks-runs":      weeks(func(w ledger.Week) int { return parts(w.Group) }),
		"weeks-success":   weeks(func(w ledger.Week) int { return one(w.Ended() > 0) }),
		"weeks-duration":  weeks(func(w ledger.Week) int { return one(w.AvgDuration > 0) }),
		"weeks-cost":      weeks(func(w ledger.Week) int { return one(amount(w.CostUSD) > 0) }),
		"costs-agents":    3,
		"costs-templates": 4,
	}
	for _, a := range s.ByAgent {
		want["agents"] += parts(a.Group)
	}
	for _, m := range s.ByModel {
		want["models"] += parts(m.Group)
	}
	for _, tpl := range s.ByTemplate {
		want["templates"] += parts(tpl.Group)
	}
	for _, tt := range s.TaskTypes {
		want["types"] += parts(tt.Group)
	}
	for _, a := range s.Retries.ByAttempts {
		want["retries"] += one(a.Done > 0) + one(a.Tasks > a.Done)
	}
	for _, found := range chartOf.FindAllStringSubmatch(dom, -1) {
		id, chart := found[1], found[2]
		if got := len(barOf.FindAllString(chart, -1)) + len(dotOf.FindAllString(chart, -1)); got != want[id] || got == 0 {
			t.Errorf("chart %s has %d bars, want %d", id, got, want[id])
		}
		if len(tipOf.FindAllString(chart, -1)) == 0 || !strings.HasPrefix(id, "weeks-") && len(rowOf.FindAllString(chart, -1)) < 2 {
			t.Errorf("chart %s has no tooltips or no table", id)
		}
		delete(want, id)
	}
	if len(want) > 0 {
		t.Errorf("no chart for %v", want)
	}
	if !strings.Contains(html.UnescapeString(dom), "<script>alert(1)</script>") || strings.Contains(dom, "<script>") {
		t.Error("the browser did not take the hostile name for text")
	}
}

func rgb(hex int) color.RGBA {
	return color.RGBA{uint8(hex >> 16), uint8(hex >> 8), uint8(hex), 255}
}

// checkPicture checks that the screenshot contains the colours of the charts.
func checkPicture(t *testing.T, path string, width int, page color.RGBA, colors []color.RGBA) {
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
	if got := picture.Bounds().Dx(); got != width {
		t.Errorf("%s is %d wide", path, got)
	}
	seen := pixels(picture)
	if len(seen) < 100 || seen[page] == 0 {
		t.Errorf("%s has %d colours, and %d pixels of the page's own", path, len(seen), seen[page])
	}
	for _, c := range colors {
		if seen[c] < 500 {
			t.Errorf("%s: %d pixels are %v", path, seen[c], c)
		}
	}
}

func pixels(picture image.Image) map[color.RGBA]int {
	seen := map[color.RGBA]int{}
	at := picture.Bounds()
	for y := at.Min.Y; y < at.Max.Y; y++ {
		for x := at.Min.X; x < at.Max.X; x++ {
			seen[color.RGBAModel.Convert(picture.At(x, y)).(color.RGBA)]++
		}
	}
	return seen
}
