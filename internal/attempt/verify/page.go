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
	maxPage      = 8 << 20 // maximum number of bytes that are read from a response
)

// tryPage fetches the page at c.URL and checks the server's response. If full is true, it also uses
// a browser if the check asks for a screenshot, or for a text and the page is HTML. browser is the
// path of the browser program. picture is the path for the screenshot.
func tryPage(ctx context.Context, c Check, browser string, full bool, picture string) tryResult {
	began := time.Now()
	fetching, cancel := context.WithTimeout(ctx, c.timeout())
	defer cancel()
	response, err := fetch(fetching, c.URL)
	if err != nil {
		return tryResult{problem: err.Error()}
	}
	defer func() { _ = response.Body.Close() }() // ignore the error: the body was only read
	var f tryResult
	if response.StatusCode != c.status() {
		f.problem = fmt.Sprintf("answered %d, want %d", response.StatusCode, c.status())
		f.output = readUpTo(response.Body, maxOutput)
	}
	switch {
	case full && c.Screenshot, full && c.Contains != "" && isPage(response):
		c.Timeout = max(Duration(c.timeout()-time.Since(began)), 1) // the time limit of the check, less the time that fetching took
		return tryInBrowser(ctx, c, browser, picture, f)
	case f.ok() && c.Contains != "":
		return f.withProblem(missingText(readUpTo(response.Body, maxPage), c.Contains))
	}
	return f
}

// withProblem returns f with problem added to the problems that f already has. It returns f
// unchanged if problem is empty.
func (f tryResult) withProblem(problem string) tryResult {
	switch {
	case problem == "":
	case f.problem == "":
		f.problem = problem
	default:
		f.problem += "; " + problem
	}
	return f
}

// isPage reports whether the response is HTML. A response without a content type counts as HTML. In
// HTML, the expected text must be searched with a browser, because the displayed page may differ
// from the HTML source.
func isPage(response *http.Response) bool {
	kind, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type")) // an invalid content type counts as none
	return kind == "" || kind == "text/html" || kind == "application/xhtml+xml"
}

// readUpTo reads at most limit bytes. If reading fails, it returns what it has read so far.
func readUpTo(body io.Reader, limit int64) string {
	data, _ := io.ReadAll(io.LimitReader(body, limit))
	return string(data)
}

// missingText returns a description of the problem if body does not contain the text, and otherwise
// "". It searches body as it is, and also with HTML entities such as &amp; decoded.
func missingText(body, text string) string {
	text = collapseSpace(text)
	if strings.Contains(collapseSpace(body), text) || strings.Contains(collapseSpace(html.UnescapeString(body)), text) {
		return ""
	}
	return fmt.Sprintf("the answer does not have %q; it begins: %s", text, shorten(collapseSpace(body)))
}

// fetch requests a page. The caller must close the body of the response.
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
