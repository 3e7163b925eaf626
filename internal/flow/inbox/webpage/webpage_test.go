package webpage

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// site is a server on this machine that the fetcher considers public. Host names resolve to public
// addresses, which pass every check. Only the connection itself is redirected to the server.
type site struct {
	*httptest.Server
	names map[string]string // address that each host name resolves to
	hits  atomic.Int64
}

func newSite(t *testing.T, handler http.HandlerFunc) *site {
	t.Helper()
	s := &site{names: map[string]string{"example.com": "93.184.216.34", "six.example": "2606:2800:220:1::1"}}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.hits.Add(1)
		handler(w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *site) fetcher() Fetcher {
	return Fetcher{
		resolve: func(_ context.Context, host string) ([]netip.Addr, error) {
			if a, ok := s.names[host]; ok {
				return []netip.Addr{netip.MustParseAddr(a)}, nil
			}
			return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
		},
		connect: func(ctx context.Context, network, address string) (net.Conn, error) {
			at, err := netip.ParseAddrPort(address)
			if err != nil || !Public(at.Addr()) {
				return nil, fmt.Errorf("asked to connect to %s", address)
			}
			return new(net.Dialer).DialContext(ctx, network, s.Listener.Addr().String())
		},
	}
}

const page = `<!DOCTYPE html><html><head><title>
  Patterns &amp; <b>practice</b> &#27;[31m</title><style>p { color: red }</style></head>
<body><script>alert("<p>no</p>")</script><!-- no > no --><h1>First</h1><p>text  with &lt;tags&gt; 3 < 4</p></body>`

func TestAPageGivesItsTitleAndFirstText(t *testing.T) {
	s := newSite(t, func(w http.ResponseWriter, r *http.Request) {
		if r.UserAgent() != "gaffer" || len(r.Cookies()) > 0 {
			t.Errorf("request %+v", r.Header)
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprint(w, page)
	})
	for _, address := range []string{"http://example.com/a", "http://six.example", "http://93.184.216.34:8080/"} {
		got, err := s.fetcher().Fetch(t.Context(), address)
		want := Page{URL: address, Title: "Patterns & <b>practice</b> [31m", Text: "First text with <tags> 3 4"}
		if err != nil || got != want {
			t.Errorf("%s: %+v, %v", address, got, err)
		}
	}
}

func TestRedirectsAreFollowedAndEachIsChecked(t *testing.T) {
	s := newSite(t, func(w http.ResponseWriter, r *http.Request) {
		if to := r.URL.Query().Get("to"); to != "" {
			http.Redirect(w, r, to, http.StatusFound)
			return
		}
		var n int
		if _, err := fmt.Sscanf(r.URL.Path, "/%d", &n); err == nil && n > 0 {
			http.Redirect(w, r, fmt.Sprintf("/%d", n-1), http.StatusFound)
			return
		}
		w.Header().Set("Content-Type", "text/plain")
		fmt.Fprint(w, "arrived")
	})
	s.names["inside.example"], s.names["localhost"] = "10.0.0.7", "127.0.0.1"
	if got, err := s.fetcher().Fetch(t.Context(), "http://example.com/5"); err != nil || got.Text != "arrived" || got.URL != "http://example.com/0" {
		t.Errorf("five: %+v, %v", got, err)
	}
	if _, err := s.fetcher().Fetch(t.Context(), "http://example.com/6"); err == nil || !strings.Contains(err.Error(), "redirected more than 5 times") {
		t.Errorf("six: %v", err)
	}
	for _, to := range []string{
		s.URL, "http://localhost:1/", "http://169.254.169.254/latest/meta-data/", "http://[::1]/", "http://inside.example/",
		"file:///etc/passwd", "gopher://example.com/", "http://user:secret@example.com/",
	} {
		before := s.hits.Load()
		_, err := s.fetcher().Fetch(t.Context(), "http://example.com/?to="+url.QueryEscape(to))
		refused, ok := errors.AsType[*RefusedError](err)
		if !ok || strings.Contains(refused.Error(), "secret") {
			t.Errorf("%s: %v", to, err)
		}
		if n := s.hits.Load() - before; n != 1 {
			t.Errorf("%s: %d requests", to, n)
		}
	}
}

// TestThisMachineIsNeverReached fetches addresses of this machine, where a server must not receive
// a request.
func TestThisMachineIsNeverReached(t *testing.T) {
	s := newSite(t, func(http.ResponseWriter, *http.Request) {})
	port := s.Listener.Addr().(*net.TCPAddr).Port
	fetch := func(f Fetcher, hosts ...string) {
		for _, host := range hosts {
			if _, err := f.Fetch(t.Context(), fmt.Sprintf("http://%s:%d/", host, port)); err == nil {
				t.Errorf("%s was fetched", host)
			}
		}
	}
	fetch(Fetcher{}, "127.0.0.1", "localhost", "127.1.2.3", "[::1]", "[::]", "0.0.0.0", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]",
		"[64:ff9b::7f00:1]", "[64:ff9b::127.0.0.1]", "[fe80::1%25lo]")
	// This resolver returns loopback for every name, as some resolvers do for numbers such as
	// 127.1.
	lax := Fetcher{resolve: func(context.Context, string) ([]netip.Addr, error) {
		return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, nil
	}}
	fetch(lax, "LOCALHOST", "localhost.", "127.1", "2130706433", "0x7f000001", "0177.0.0.1")
	if n := s.hits.Load(); n > 0 {
		t.Errorf("%d requests came through", n)
	}
}

// TestTheAddressThatIsDialledIsChecked simulates a name that resolves to a public address during
// the check, and to another address during the connection.
func TestTheAddressThatIsDialledIsChecked(t *testing.T) {
	s := newSite(t, func(http.ResponseWriter, *http.Request) {})
	_, err := Fetcher{}.open(t.Context(), "tcp", s.Listener.Addr().String())
	if _, refused := errors.AsType[*RefusedError](err); !refused {
		t.Errorf("dialled: %v", err)
	}
	for _, address := range []string{"", "/run/socket", "127.0.0.1", "example.com:80"} {
		if checkDial("tcp", address, nil) == nil {
			t.Errorf("%q may be dialled", address)
		}
	}
	if err := checkDial("tcp", "93.184.216.34:80", nil); err != nil {
		t.Error(err)
	}
}

func TestANameIsRefusedIfAnyOfItsAddressesIsNotPublic(t *testing.T) {
	s := newSite(t, func(http.ResponseWriter, *http.Request) {})
	f := s.fetcher()
	f.resolve = func(context.Context, string) ([]netip.Addr, error) {
		return []netip.Addr{netip.MustParseAddr("93.184.216.34"), netip.MustParseAddr("127.0.0.1")}, nil
	}
	_, err := f.Fetch(t.Context(), "http://example.com/")
	if want := "example.com (127.0.0.1) is not on the public internet"; err == nil || !strings.Contains(err.Error(), want) || s.hits.Load() > 0 {
		t.Errorf("%v, %d requests", err, s.hits.Load())
	}
}

func TestOnlyAddressesOfThePublicInternetArePublic(t *testing.T) {
	for _, text := range []string{
		"0.0.0.0", "0.1.2.3", "10.1.2.3", "100.64.0.1", "100.127.255.255", "127.0.0.1", "169.254.169.254", "172.16.0.1", "172.31.255.255",
		"192.0.0.8", "192.0.2.1", "192.168.1.1", "198.18.0.1", "198.19.255.255", "198.51.100.1", "203.0.113.1", "224.0.0.1", "239.1.1.1",
		"240.0.0.1", "255.255.255.255", "::", "::1", "::ffff:10.0.0.1", "::ffff:127.0.0.1", "::127.0.0.1", "::ffff:0:127.0.0.1",
		"64:ff9b::10.0.0.1", "64:ff9b:1::1", "100::1", "2001::1", "2001:db8::1", "2002:7f00:1::1", "3fff::1", "5f00::1",
		"fc00::1", "fd12:3456::1", "fe80::1", "fe80::1%eth0", "fec0::1", "ff02::1", "2606:2800:220:1::1%eth0",
	} {
		if Public(netip.MustParseAddr(text)) {
			t.Errorf("%s is taken for public", text)
		}
	}
	for _, text := range []string{"1.1.1.1", "8.8.8.8", "93.184.216.34", "100.63.255.255", "172.32.0.1", "192.169.0.1", "223.255.255.255", "2606:2800:220:1::1", "2a00:1450::1", "::ffff:8.8.8.8"} {
		if !Public(netip.MustParseAddr(text)) {
			t.Errorf("%s is taken for one that is not public", text)
		}
	}
	if Public(netip.Addr{}) {
		t.Error("no address is taken for public")
	}
}

func TestAnAddressThatIsNoWebPageIsRefusedWithoutARequest(t *testing.T) {
	for _, address := range []string{
		"", "example.com", "//example.com", "ftp://example.com", "file:///etc/passwd", "http://", "http:///path", "http://a b/",
		"https://user@example.com/", "javascript:alert(1)", "http://" + strings.Repeat("x", 5000), "http://\x00",
	} {
		_, err := Fetcher{resolve: func(context.Context, string) ([]netip.Addr, error) { return nil, errors.New("no name") }}.Fetch(t.Context(), address)
		if err == nil || len(err.Error()) > 500 {
			t.Errorf("%q: %v", address, err)
		}
	}
}

func TestAProxyIsNotAsked(t *testing.T) {
	s := newSite(t, func(http.ResponseWriter, *http.Request) {})
	t.Setenv("HTTP_PROXY", s.URL)
	t.Setenv("http_proxy", s.URL)
	if proxy := (Fetcher{}).client().Transport.(*http.Transport).Proxy; proxy != nil {
		t.Error("there is a proxy")
	}
}

func TestOnlyTextOfAGoodAnswerIsTaken(t *testing.T) {
	answers := map[string]struct {
		status     int
		kind, body string
		want       string
	}{
		"/plain":    {200, "text/plain", "a\nb", ""},
		"/markdown": {200, "text/markdown; charset=utf-8", "# a", ""},
		"/silent":   {200, "", "<html><title>x</title>", ""},
		"/json":     {200, "application/json", "{}", "it is application/json, not text"},
		"/image":    {200, "image/png", "x", "it is image/png, not text"},
		"/bytes":    {200, "", "\x00\x01\x02\x03\xff", "it is application/octet-stream, not text"},
		"/odd":      {200, ";;;", "x", "not text"},
		"/latin":    {200, "image/\xff", "x", "it is image/\ufffd, not text"},
		"/absent":   {404, "text/html", "x", "it answered 404 Not Found"},
		"/broken":   {500, "text/html", "x", "it answered 500 Internal Server Error"},
	}
	s := newSite(t, func(w http.ResponseWriter, r *http.Request) {
		a := answers[r.URL.Path]
		w.Header()["Content-Type"] = nil
		if a.kind != "" {
			w.Header().Set("Content-Type", a.kind)
		}
		w.WriteHeader(a.status)
		fmt.Fprint(w, a.body)
	})
	for path, a := range answers {
		_, err := s.fetcher().Fetch(t.Context(), "http://example.com"+path)
		if (err == nil) != (a.want == "") || err != nil && !strings.Contains(err.Error(), a.want) {
			t.Errorf("%s: %v, want %q", path, err, a.want)
		}
	}
	if _, err := s.fetcher().Fetch(t.Context(), "http://nowhere.example/"); err == nil || !strings.Contains(err.Error(), "no such host") {
		t.Errorf("an unknown name: %v", err)
	}
}

func TestAnEndlessPageIsCutAndAStalledOneTimesOut(t *testing.T) {
	release := make(chan struct{})
	s := newSite(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		if r.URL.Path == "/stall" {
			fmt.Fprint(w, "<title>slow")
			w.(http.Flusher).Flush()
			<-release
			return
		}
		for r.Context().Err() == nil {
			if _, err := fmt.Fprint(w, strings.Repeat("word ", 1000)); err != nil {
				return
			}
		}
	})
	defer close(release)
	got, err := s.fetcher().Fetch(t.Context(), "http://example.com/endless")
	if err != nil || !got.Truncated || len([]rune(got.Text)) != maxPageText {
		t.Errorf("endless: truncated %v, %d characters, %v", got.Truncated, len([]rune(got.Text)), err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.fetcher().Fetch(ctx, "http://example.com/stall"); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	hasty := s.fetcher()
	hasty.timeout = 300 * time.Millisecond
	if _, err := hasty.Fetch(t.Context(), "http://example.com/stall"); err == nil || !strings.Contains(err.Error(), "no answer within 300ms") {
		t.Errorf("stalled: %v", err)
	}
}

func FuzzAnyPageGivesALittlePlainText(f *testing.F) {
	for _, seed := range []string{page, "<", "<title", "<title>", "<script>", "<!--", "a<b", "</title><title>x</title>", "&#0;&amp;", "\xff<p>\xfe"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		title, first := fromHTML(text)
		for _, s := range []string{title, first, firstWords(text)} {
			if n := len([]rune(s)); n > maxPageText || strings.ContainsAny(s, "\x1b\n\x00") || !strings.EqualFold(s, strings.ToValidUTF8(s, "")) {
				t.Errorf("%q of %q", s, text)
			}
		}
	})
}
