package verify

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// browser is one that runs for a single look at a page: nobody sees it, and it
// remembers nothing. It is spoken to over two pipes, so no port is opened, and
// it ends by itself when we die.
type browser struct {
	*devtools
	group   *group
	said    *output
	profile string
	pipes   []*os.File
}

// startBrowser starts the browser at path.
func startBrowser(path string) (*browser, error) {
	profile, err := os.MkdirTemp(shortTemp(os.TempDir()), "gaffer-browser-")
	if err != nil {
		return nil, err
	}
	b := &browser{profile: profile}
	cmd := exec.Command(path, browserFlags(profile, os.Getuid() == 0)...)
	// What it keeps outside its profile must go with it, too.
	cmd.Env = append(os.Environ(), "TMPDIR="+profile, "XDG_CONFIG_HOME="+profile, "XDG_CACHE_HOME="+profile, "BREAKPAD_DUMP_LOCATION="+profile)
	if err := b.start(cmd); err != nil {
		b.close()
		return nil, fmt.Errorf("start %s: %w", filepath.Base(path), err)
	}
	return b, nil
}

// shortTemp returns a folder for temporary files in which a socket of the
// browser still has a name that the system takes, with 108 bytes at most.
func shortTemp(dir string) string {
	const most = 40
	if len(dir) > most {
		return "/tmp"
	}
	return dir
}

// nowhere is a host that no network has.
const nowhere = "gaffer.invalid"

// browserFlags keeps the browser to itself and to what the page asks for: by
// default it also asks its maker for updates, models and the time.
func browserFlags(profile string, root bool) []string {
	flags := []string{
		"--headless", "--remote-debugging-pipe", "--user-data-dir=" + profile,
		"--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars", "--mute-audio",
		"--no-first-run", "--no-default-browser-check", "--disable-extensions", "--disable-default-apps",
		"--disable-quic", "--disable-background-networking", "--disable-sync", "--disable-breakpad", "--disable-domain-reliability",
		"--disable-component-update", "--component-updater=disable-pings,url-source=http://" + nowhere,
		"--disable-features=OptimizationHints,OptimizationGuideModelDownloading,OptimizationGuideFetching,NetworkTimeServiceQuerying",
		"--gaia-url=http://" + nowhere, "--host-resolver-rules=MAP " + nowhere + " ~NOTFOUND",
		fmt.Sprintf("--window-size=%d,%d", viewWidth, viewHeight),
	}
	if root {
		flags = append(flags, "--no-sandbox") // the sandbox refuses root
	}
	return append(flags, "about:blank")
}

// start runs the browser with the far ends of the pipes as its files 3 and 4.
func (b *browser) start(cmd *exec.Cmd) error {
	theirIn, ourOut, err := os.Pipe()
	if err != nil {
		return err
	}
	ourIn, theirOut, err := os.Pipe()
	if err != nil {
		_, _ = theirIn.Close(), ourOut.Close()
		return err
	}
	b.pipes = []*os.File{ourOut, ourIn}
	b.devtools = newDevtools(ourIn, ourOut)
	defer func() { _, _ = theirIn.Close(), theirOut.Close() }()
	cmd.ExtraFiles = []*os.File{theirIn, theirOut}
	if b.said, err = collect(cmd); err != nil {
		return err
	}
	b.group, err = startGroup(cmd)
	return err
}

// close ends the browser with all its processes and removes what it wrote. It
// returns the end of what the browser printed.
func (b *browser) close() string {
	if b.group != nil {
		b.group.end(0)
	}
	for _, p := range b.pipes {
		_ = p.Close()
	}
	if b.devtools != nil {
		b.devtools.close()
	}
	words := ""
	if b.said != nil {
		words = b.said.end()
	}
	removeAll(b.profile)
	return words
}

// removeAll removes a folder in which processes may be dying.
func removeAll(dir string) {
	for range 20 {
		if os.RemoveAll(dir) == nil {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
}
