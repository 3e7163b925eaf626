package server

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"gaffer/internal/api/credential"
)

// behind returns a function that changes the options: the server gets the host name build.example
// and trusts the proxies.
func behind(t *testing.T, proxies ...string) func(*Options) {
	t.Helper()
	trusted, err := ParseProxies(proxies)
	if err != nil {
		t.Fatal(err)
	}
	return func(o *Options) { o.Hosts, o.Proxies = append(o.Hosts, "build.example"), trusted }
}

// forwarded sends a request as a proxy does that replaces the Host header.
func (w *world) forwarded(method, path, body string, headers map[string]string) reply {
	w.t.Helper()
	q := w.request(method, path, body)
	for name, value := range headers {
		q.Header.Set(name, value)
	}
	return w.do(q)
}

func TestForwardedHeadersCountOnlyFromATrustedProxy(t *testing.T) {
	for name, c := range map[string]struct {
		proxies []string
		trusted bool
	}{
		"no proxy is named":       {nil, false},
		"another one is named":    {[]string{"10.0.0.2", "192.0.2.0/24"}, false},
		"its address is named":    {[]string{"10.0.0.2", "127.0.0.1"}, true},
		"its range is named":      {[]string{"127.0.0.0/30"}, true},
		"as IPv4 in IPv6":         {[]string{"::ffff:127.0.0.1"}, true},
		"a range without it, too": {[]string{"127.0.0.8/29"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := start(t, behind(t, c.proxies...))
			headers := map[string]string{
				"X-Forwarded-For": "198.51.100.7, 203.0.113.9", "X-Forwarded-Host": "build.example", "X-Forwarded-Proto": "https",
				"Origin": "https://build.example", "Authorization": "Bearer " + w.tokens[credential.Admin],
			}
			got := w.forwarded("POST", "/v1/login", "", headers)
			if !c.trusted {
				w.wants("a page of build.example", got, 403, "foreign_origin")
				if strings.Contains(w.log.String(), "203.0.113.9") {
					t.Errorf("the log believes the header: %s", w.log)
				}
				return
			}
			if got.status != 201 {
				t.Fatalf("a page of build.example: %d %s", got.status, got.body)
			}
			if log := w.log.String(); !strings.Contains(log, `"from":"203.0.113.9"`) {
				t.Errorf("the log does not name the client: %s", log)
			}
			path, _ := got.field("path").(string)
			login := w.forwarded("GET", path, "", headers)
			cookie := login.header.Get("Set-Cookie")
			if login.status != 303 || !strings.HasPrefix(cookie, "gaffer-443=") || !strings.Contains(cookie, "; Secure") {
				t.Fatalf("the cookie of a client that came by TLS: %d %q", login.status, cookie)
			}
			// A second coordinator, on another port behind the same proxy, accepts the same cookie.
			value, _, _ := strings.Cut(cookie, ";")
			w.serve(behind(t, c.proxies...))
			delete(headers, "Authorization")
			headers["Cookie"] = value
			if got := w.forwarded("GET", "/v1/agents", "", headers); got.status != 200 {
				t.Errorf("at another coordinator behind the proxy: %d %s", got.status, got.body)
			}
		})
	}
}

func TestTheClientIsTheNearestAddressThatIsNoTrustedProxy(t *testing.T) {
	for forwarded, want := range map[string]string{
		"":                                      "127.0.0.1",
		"203.0.113.9":                           "203.0.113.9",
		"203.0.113.9:4711":                      "203.0.113.9",
		"[2001:db8::1]:4711":                    "2001:db8::1",
		"2001:db8::1":                           "2001:db8::1",
		"127.0.0.1, 203.0.113.9":                "203.0.113.9", // the client itself may have written 127.0.0.1
		"203.0.113.9, 10.0.0.2, 10.0.0.3":       "203.0.113.9",
		"10.0.0.2, 10.0.0.3":                    "10.0.0.2",
		"203.0.113.9, unknown":                  "127.0.0.1",
		"203.0.113.9, , 198.51.100.7 ,10.0.0.2": "198.51.100.7",
	} {
		w := start(t, behind(t, "127.0.0.1", "10.0.0.0/8"))
		got := w.forwarded("GET", "/v1/agents", "", map[string]string{"X-Forwarded-For": forwarded, "Authorization": "Bearer " + w.tokens[credential.Viewer]})
		if got.status != 200 {
			t.Fatalf("%d %s", got.status, got.body)
		}
		if log := w.log.String(); !strings.Contains(log, `"from":"`+want+`"`) && !strings.Contains(log, `"from":"`+want+`:`) {
			t.Errorf("%q: want %s in %s", forwarded, want, log)
		}
	}
}

func TestSecurityEveryHostThatARequestNamesMustBeAllowed(t *testing.T) {
	w := start(t, behind(t, "127.0.0.1"))
	for name, c := range map[string]struct {
		host, forwarded string
		status          int
	}{
		"the proxy rewrites Host":              {w.addr, "build.example", 200},
		"with a port":                          {w.addr, "build.example:8443", 200},
		"the proxy passes Host on":             {"build.example", "build.example", 200},
		"the proxy tells no host":              {"build.example", "", 200},
		"a foreign host":                       {w.addr, "evil.example", 403},
		"a foreign host that a proxy appended": {w.addr, "build.example, evil.example", 403},
		"a page whose name points here":        {"evil.example", "build.example", 403},
	} {
		q := w.request("GET", "/v1/agents", "")
		q.Host = c.host
		q.Header.Set("Authorization", "Bearer "+w.tokens[credential.Viewer])
		if c.forwarded != "" {
			q.Header.Set("X-Forwarded-Host", c.forwarded)
		}
		if got := w.do(q); got.status != c.status || c.status == 403 && got.code() != "foreign_host" {
			t.Errorf("%s: %d %s, want %d", name, got.status, got.body, c.status)
		}
	}
	for origin, status := range map[string]int{"https://build.example": 200, "http://build.example": 200, "https://evil.example": 403, "http://" + w.addr: 403} {
		got := w.forwarded("GET", "/v1/agents", "", map[string]string{
			"X-Forwarded-Host": "build.example", "Origin": origin, "Authorization": "Bearer " + w.tokens[credential.Viewer],
		})
		if got.status != status {
			t.Errorf("a page of %s: %d %s, want %d", origin, got.status, got.body, status)
		}
	}
}

func TestSecurityOpenReadsAreNotForClientsBehindAProxy(t *testing.T) {
	for name, c := range map[string]struct {
		proxies   []string
		forwarded string
		status    int
	}{
		"a program of this machine":                 {nil, "", 200},
		"a client behind a proxy that is not named": {nil, "203.0.113.9", 401},
		"also if it says that it is of here":        {nil, "127.0.0.1", 401},
		"a client behind a trusted proxy":           {[]string{"127.0.0.1"}, "203.0.113.9", 401},
		"a program of this machine behind it":       {[]string{"127.0.0.1"}, "127.0.0.1", 200},
	} {
		trust := behind(t, c.proxies...)
		w := start(t, func(o *Options) { trust(o); o.OpenReads = true })
		headers := map[string]string{}
		if c.forwarded != "" {
			headers["X-Forwarded-For"] = c.forwarded
		}
		if got := w.forwarded("GET", "/v1/agents", "", headers); got.status != c.status {
			t.Errorf("%s: %d %s, want %d", name, got.status, got.body, c.status)
		}
	}
}

func TestHealthIsPublicAndContainsNoSecrets(t *testing.T) {
	w := start(t, nil)
	for _, host := range []string{"10.0.3.7:4870", "serve-1", "health.check.internal", "evil.example", w.addr} {
		for _, method := range []string{"GET", "HEAD"} {
			q := w.request(method, "/health", "")
			q.Host = host
			got := w.do(q)
			if got.status != 200 {
				t.Errorf("%s /health as %s: %d %s", method, host, got.status, got.body)
			}
			if method == "HEAD" {
				continue
			}
			var said map[string]any
			if err := json.Unmarshal([]byte(got.body), &said); err != nil {
				t.Fatal(err)
			}
			if names := slices.Sorted(maps.Keys(said)); fmt.Sprint(names) != "[ok state time]" {
				t.Errorf("it says %v: %s", names, got.body)
			}
		}
	}
	if status := rawStatus(t, w, "GET /health HTTP/1.0\r\n\r\n"); status != 200 {
		t.Errorf("a probe without Host: %d", status)
	}
	q := w.request("GET", "/health", "")
	q.Header.Set("Origin", "https://evil.example")
	w.wants("a foreign page", w.do(q), 403, "foreign_origin")
	q = w.request("GET", "/health", "")
	q.Host = "evil.example"
	q.Header.Set("Origin", "http://evil.example")
	w.wants("a page whose name leads here", w.do(q), 403, "foreign_host")
}

func TestATokenMayBeSentAsTheApiKeyOfOtherClients(t *testing.T) {
	w := start(t, nil)
	key := func(method, path, header string) reply {
		q := w.request(method, path, `{"name":"docs"}`)
		if header != "" {
			q.Header.Set("X-Api-Key", header)
		}
		return w.do(q)
	}
	admin, viewer := w.tokens[credential.Admin], w.tokens[credential.Viewer]
	for name, c := range map[string]struct {
		got    reply
		status int
	}{
		"a read":                      {key("GET", "/v1/agents", viewer), 200},
		"a change":                    {key("POST", "/v1/channels", admin), 201},
		"a change by a viewer":        {key("POST", "/v1/channels", viewer), 403},
		"a wrong key":                 {key("GET", "/v1/agents", "gft_wrong"), 401},
		"in the address":              {key("GET", "/v1/agents?api_key="+viewer, ""), 200},
		"wrong in the address":        {key("GET", "/v1/agents?api_key=wrong", ""), 401},
		"in the address for a change": {key("POST", "/v1/channels?api_key="+admin, ""), 401},
	} {
		if c.got.status != c.status {
			t.Errorf("%s: %d %s, want %d", name, c.got.status, c.got.body, c.status)
		}
	}
	stream := follow(w, "?last_event_id=0&api_key="+viewer, func(r *http.Request) { r.Header.Del("Authorization") })
	defer stream.close()
	if stream.resp.StatusCode != http.StatusOK {
		t.Errorf("the stream: %d", stream.resp.StatusCode)
	}
	if strings.Contains(w.log.String(), viewer) || strings.Contains(w.log.String(), admin) {
		t.Error("a key is in the log")
	}
}

func TestProxiesAreNamedByAddress(t *testing.T) {
	for _, bad := range []string{"", "proxy", "10.0.0", "0.0.0.0/0", "::/0", "10.0.0.0/33", "fe80::1%eth0"} {
		if list, err := ParseProxies([]string{"10.0.0.2", bad}); err == nil {
			t.Errorf("%q: %v", bad, list)
		}
	}
}
