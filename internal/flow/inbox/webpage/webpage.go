// Package webpage fetches a page of the public web and returns its title and the beginning of its
// text. The address comes from an inbox item and is not trusted: neither host names nor redirects
// can make a fetch reach an address that is not on the public internet, such as a service on this
// machine's loopback interface or a cloud's metadata service.
package webpage

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"gaffer/internal/text/truncate"
)

// Limits of one fetch.
const (
	Timeout      = 10 * time.Second // time limit of the whole fetch, including redirects and body
	MaxSize      = 1 << 20          // maximum number of bytes of a page; the rest is ignored
	MaxRedirects = 5
)

// Page is the result of a fetch.
type Page struct {
	URL       string // address after all redirects
	Title     string
	Text      string // beginning of the page's text
	Truncated bool   // the page was larger than MaxSize
}

// Fetcher fetches pages. The zero value uses the machine's network.
type Fetcher struct {
	resolve func(ctx context.Context, host string) ([]netip.Addr, error)
	connect func(ctx context.Context, network, address string) (net.Conn, error)
	timeout time.Duration // used instead of Timeout if it is not zero
}

// Fetch fetches the page at an http or https address. It follows redirects. An error that wraps a
// [*RefusedError] means that the address or a redirect is not allowed.
func (f Fetcher) Fetch(ctx context.Context, address string) (Page, error) {
	u, err := url.Parse(address)
	if err != nil {
		return Page{}, &RefusedError{shorten(address), "is not an address"}
	}
	if err := checkURL(u); err != nil {
		return Page{}, err
	}
	timeout := cmp.Or(f.timeout, Timeout)
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	page, err := f.get(ctx, u)
	if err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return Page{}, fmt.Errorf("fetch %s: no answer within %s", shorten(address), timeout)
	}
	if err != nil {
		return Page{}, fmt.Errorf("fetch %s: %w", shorten(address), unwrapped(err))
	}
	return page, nil
}

func (f Fetcher) get(ctx context.Context, u *url.URL) (Page, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return Page{}, err
	}
	request.Header.Set("User-Agent", "gaffer")
	request.Header.Set("Accept", "text/html, text/*")
	client := f.client()
	defer client.CloseIdleConnections()
	response, err := client.Do(request)
	if err != nil {
		return Page{}, err
	}
	defer response.Body.Close()
	return read(response)
}

// client returns an HTTP client that uses no proxy. A proxy could connect to addresses that the
// method dial refuses. Also, the proxy itself often has an address that dial refuses.
func (f Fetcher) client() *http.Client {
	return &http.Client{
		Transport: &http.Transport{
			Proxy:                  nil,
			DialContext:            f.dial,
			DisableKeepAlives:      true,
			DisableCompression:     true, // do not accept compression: a small compressed body could become huge
			MaxResponseHeaderBytes: 64 << 10,
		},
		CheckRedirect: func(next *http.Request, via []*http.Request) error {
			if len(via) > MaxRedirects {
				return fmt.Errorf("redirected more than %d times", MaxRedirects)
			}
			return checkURL(next.URL)
		},
	}
}

func checkURL(u *url.URL) error {
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return &RefusedError{shorten(u.Redacted()), "is not http or https"}
	case u.Hostname() == "":
		return &RefusedError{shorten(u.Redacted()), "names no host"}
	case u.User != nil:
		return &RefusedError{shorten(u.Redacted()), "has a name or password in it"}
	}
	return nil
}

func read(response *http.Response) (Page, error) {
	if response.StatusCode < 200 || response.StatusCode > 299 {
		return Page{}, fmt.Errorf("it answered %d %s", response.StatusCode, http.StatusText(response.StatusCode))
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, MaxSize+1))
	if err != nil {
		return Page{}, err
	}
	kind, err := kindOf(response.Header.Get("Content-Type"), body)
	if err != nil {
		return Page{}, err
	}
	page := Page{URL: response.Request.URL.Redacted(), Truncated: len(body) > MaxSize}
	body = body[:min(len(body), MaxSize)]
	if kind == "text/html" {
		page.Title, page.Text = fromHTML(string(body))
	} else {
		page.Text = firstWords(string(body))
	}
	return page, nil
}

// kindOf returns the media type in a Content-Type header. If the header is empty, it detects the
// type from the body. It returns an error if the type is not text.
func kindOf(header string, body []byte) (string, error) {
	if header == "" {
		header = http.DetectContentType(body)
	}
	kind, _, err := mime.ParseMediaType(header)
	if err != nil || !strings.HasPrefix(kind, "text/") {
		return "", fmt.Errorf("it is %s, not text", shorten(header))
	}
	return kind, nil
}

// unwrapped returns err without the HTTP method and the address that package net/http adds to it.
func unwrapped(err error) error {
	if e, ok := errors.AsType[*url.Error](err); ok {
		return e.Err
	}
	return err
}

// shorten returns at most 200 characters of an untrusted text as valid UTF-8, for an error message.
func shorten(text string) string {
	return truncate.Chars(strings.ToValidUTF8(text, "\ufffd"), 200)
}
