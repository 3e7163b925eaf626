package verify

import (
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
	"time"
	"unicode/utf8"

	"gaffer/workflow"
)

// Check is a condition that must hold when a chunk is done. Exactly one of Command, File and URL
// must be set.
type Check struct {
	// Name is shown to users in the build's list of events. If Name is empty, users see a text that
	// is made from the other fields.
	Name string `json:"name,omitempty"`

	// Command is a shell command that must exit with 0. After the command has exited, gaffer also
	// ends the processes that are left in the command's process group.
	Command string `json:"command,omitempty"`

	// File must exist in the work folder. It is a relative path of a file or folder, or
	// a pattern with * ? [a-z] that must match at least one name.
	File string `json:"file,omitempty"`

	// URL must answer over http or https. If [Request.Serve] is set, URL may contain {port}, which
	// is replaced by a free port that the server should listen on.
	URL    string `json:"url,omitempty"`
	Status int    `json:"status,omitempty"` // HTTP status that URL must answer with; 0 means 200
	// Contains is text that the page must contain. In the full mode, if the page is HTML or
	// Screenshot is set, the text is searched with a browser, in the document after its scripts
	// have run. Otherwise the text is searched in the server's response. In the comparison, every
	// sequence of white space counts as one space.
	Contains   string `json:"contains,omitempty"`
	Screenshot bool   `json:"screenshot,omitempty"` // take a picture of the page

	// Timeout is the time limit for one try. Zero means 60 s for a command and 20 s for a file or
	// URL. The time to start a browser does not count. If [Request.Serve] is set, Timeout is also
	// the limit, counted separately, for how long the server may take until it listens.
	Timeout Duration `json:"timeout,omitempty"`
}

const (
	commandTimeout = 60 * time.Second
	otherTimeout   = 20 * time.Second
	maxTimeout     = 24 * time.Hour
)

// Duration is a time.Duration with a text form such as "30s".
type Duration time.Duration

// MarshalText returns the duration in a form such as "1m30s".
func (d Duration) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

// UnmarshalText parses the text with time.ParseDuration.
func (d *Duration) UnmarshalText(text []byte) error {
	parsed, err := time.ParseDuration(string(text))
	if err != nil {
		return &RequestError{Problem: fmt.Sprintf("duration %q is not one, want such as 30s or 2m", shorten(string(text)))}
	}
	*d = Duration(parsed)
	return nil
}

// RequestError reports an invalid request or check.
type RequestError struct {
	What    string // what is invalid, such as `check 2 "page answers"`; may be empty
	Problem string
}

func (e *RequestError) Error() string {
	if e.What == "" {
		return e.Problem
	}
	return e.What + ": " + e.Problem
}

// Invalid returns true, so that commands exit with code 5 and the server answers with status 400.
func (e *RequestError) Invalid() bool { return true }

// Validate returns a [*RequestError] if the request is invalid.
func (r Request) Validate() error {
	switch r.Mode {
	case "", workflow.Full, workflow.Reduced, workflow.Minimal:
	default:
		return &RequestError{Problem: fmt.Sprintf("mode is %q, want full, reduced, minimal or nothing", shorten(r.Mode))}
	}
	if len(r.Checks) == 0 {
		return &RequestError{Problem: "no checks, want at least one"}
	}
	if strings.Contains(r.Serve, "\x00") {
		return &RequestError{Problem: "serve has a zero byte"}
	}
	if problem := checkDuration("retryAfter", r.RetryAfter); problem != "" {
		return &RequestError{Problem: problem}
	}
	for i, c := range r.Checks {
		problem := c.problem()
		switch {
		case problem != "":
		case c.Screenshot && r.Screenshot == "":
			problem = "wants a screenshot, and the request names no file for it"
		case strings.Contains(c.URL, portPlaceholder) && r.Serve == "":
			problem = "has " + portPlaceholder + ", and the request serves nothing"
		}
		if problem != "" {
			return &RequestError{What: fmt.Sprintf("check %d %q", i+1, c.title()), Problem: problem}
		}
	}
	return nil
}

// Validate returns a [*RequestError] if the check is invalid.
func (c Check) Validate() error {
	if problem := c.problem(); problem != "" {
		return &RequestError{What: fmt.Sprintf("check %q", c.title()), Problem: problem}
	}
	return nil
}

func (c Check) problem() string {
	kinds := 0
	for _, s := range []string{c.Command, c.File, c.URL} {
		if s != "" {
			kinds++
		}
	}
	switch all := c.Name + c.Command + c.File + c.URL + c.Contains; {
	case kinds == 0:
		return "has none of command, file and url, want one"
	case kinds > 1:
		return "has more than one of command, file and url, want one"
	case !utf8.ValidString(all) || strings.Contains(all, "\x00"):
		return "has text that is not UTF-8 or has a zero byte"
	case c.URL == "" && (c.Status != 0 || c.Contains != "" || c.Screenshot):
		return "has status, contains or screenshot, which only a url can have"
	case c.Status != 0 && (c.Status < 200 || c.Status > 599):
		return fmt.Sprintf("status is %d, want one from 200 to 599", c.Status)
	case c.File != "" && !filepath.IsLocal(c.File):
		return fmt.Sprintf("file is %q, want a path within the work folder", shorten(c.File))
	}
	if problem := checkURL(c.URL); problem != "" {
		return problem
	}
	return checkDuration("timeout", c.Timeout)
}

func checkURL(text string) string {
	if text == "" {
		return ""
	}
	u, err := url.Parse(strings.ReplaceAll(text, portPlaceholder, "1"))
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		return fmt.Sprintf("url is %q, want one that begins with http:// or https:// and a host", shorten(text))
	}
	return ""
}

func checkDuration(what string, d Duration) string {
	if d < 0 || time.Duration(d) > maxTimeout {
		return fmt.Sprintf("%s is %s, want 0s to %s", what, time.Duration(d), maxTimeout)
	}
	return ""
}

// title returns the check's name for display, as one printable line. If the check has no name,
// title makes one from the other fields.
func (c Check) title() string {
	name := c.Name
	switch {
	case strings.TrimSpace(name) != "":
	case c.Command != "":
		name = c.Command
	case c.File != "":
		name = c.File + " exists"
	case c.Contains != "":
		name = fmt.Sprintf("%s shows %q", c.URL, c.Contains)
	case c.URL != "":
		name = fmt.Sprintf("%s answers %d", c.URL, c.status())
	}
	return shorten(strings.Join(strings.Fields(printable(name)), " "))
}

func (c Check) status() int {
	if c.Status == 0 {
		return 200
	}
	return c.Status
}

func (c Check) timeout() time.Duration {
	switch {
	case c.Timeout > 0:
		return time.Duration(c.Timeout)
	case c.Command != "":
		return commandTimeout
	}
	return otherTimeout
}

func (c Check) needsBrowser() bool { return c.URL != "" && (c.Contains != "" || c.Screenshot) }

// runsIn reports whether this check is made in the given mode. In the minimal mode, only checks
// with a Command are made.
func (c Check) runsIn(mode string) bool { return mode != workflow.Minimal || c.Command != "" }
