package verify

import (
	"context"
	"fmt"
	"html"
	"io"
	"mime"
	"net/http"
	"strings"
	"time"
)

const (
	maxRedirects = 5
	maxPage      = 8 << 20 // how much of an answer is read
)

// tryPage fetches a page and, in the full mode, looks at it with a browser.
func tryPage(ctx context.Context, c Check, browser string, full bool, picture string) finding {
	began := time.Now()
	fetching, cancel := context.WithTimeout(ctx, c.timeout())
	defer cancel()
	response, err := fetch(fetching, c.URL)
	if err != nil {
		return finding{problem: err.Error()}
	}
	defer func() { _ = response.Body.Close() }() // nothing was written
	var f finding
	if response.StatusCode != c.status() {
		f.problem = fmt.Sprintf("answered %d, want %d", response.StatusCode, c.status())
		f.output = beginning(response.Body, outputEnd)
	}
	switch {
	case full && c.Screenshot, full && c.Contains != "" && isPage(response):
		c.Timeout = max(Duration(c.timeout()-time.Since(began)), 1) // what is left
		return tryView(ctx, c, browser, picture, f)
	case f.ok() && c.Contains != "":
		return f.and(lacks(beginning(response.Body, maxPage), c.Contains))
	}
	return f
}

// and adds a problem, if it is one.
func (f finding) and(problem string) finding {
	switch {
	case problem == "":
	case f.problem == "":
		f.problem = problem
	default:
		f.problem += "; " + problem
	}
	return f
}

// isPage tells what a browser shows differently from what was sent.
func isPage(response *http.Response) bool {
	kind, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type")) // one that cannot be read is none
	return kind == "" || kind == "text/html" || kind == "application/xhtml+xml"
}

// beginning reads up to a number of bytes. An answer that goes on for ever is
// taken as far as it came.
func beginning(body io.Reader, most int64) string {
	data, _ := io.ReadAll(io.LimitReader(body, most))
	return string(data)
}

// lacks says so if a body does not have the text, written out or as HTML writes
// it.
func lacks(body, text string) string {
	text = flat(text)
	if strings.Contains(flat(body), text) || strings.Contains(flat(html.UnescapeString(body)), text) {
		return ""
	}
	return fmt.Sprintf("the answer does not have %q; it begins: %s", text, shorten(flat(body)))
}

// fetch asks for a page. The caller closes its body.
func fetch(ctx context.Context, url string) (*http.Response, error) {
	client := &http.Client{
		Transport: &http.Transport{Proxy: http.ProxyFromEnvironment, DisableKeepAlives: true},
		CheckRedirect: func(_ *http.Request, via []*http.Request) error {
			if len(via) > maxRedirects {
				return fmt.Errorf("more than %d redirects", maxRedirects)
			}
			return nil
		},
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Accept", "text/html, */*;q=0.9")
	return client.Do(request)
}
