package verify

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// browser is a headless browser for a single check of a page, with a temporary profile.
// gaffer talks to it over two pipes. So it opens no port, and it exits by itself if
// gaffer dies.
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
	// Files that it would keep outside its profile must be deleted too.
	cmd.Env = append(os.Environ(), "TMPDIR="+profile, "XDG_CONFIG_HOME="+profile, "XDG_CACHE_HOME="+profile, "BREAKPAD_DUMP_LOCATION="+profile)
	if err := b.start(cmd); err != nil {
		b.close()
		return nil, fmt.Errorf("start %s: %w", filepath.Base(path), err)
	}
	return b, nil
}

// shortTemp returns a folder for temporary files whose path is short enough for the
// browser's sockets. The system allows socket paths of 108 bytes at most.
func shortTemp(dir string) string {
	const most = 40
	if len(dir) > most {
		return "/tmp"
	}
	return dir
}

// nowhere is a host name that never resolves.
const nowhere = "gaffer.invalid"

// browserFlags returns flags that restrict the browser to the page's own requests. By
// default it also contacts its vendor for updates, models and the time.
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
		flags = append(flags, "--no-sandbox") // the sandbox does not work for root
	}
	return append(flags, "about:blank")
}

// start starts the browser with its ends of the pipes as file descriptors 3 and 4.
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

// close kills the browser with all its processes and deletes its files. It returns the
// end of the browser's output.
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

// removeAll deletes a folder that dying processes may still write to.
func removeAll(dir string) {
	for range 20 {
		if os.RemoveAll(dir) == nil {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
}
