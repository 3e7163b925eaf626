package dashboard

import (
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"path"
	"regexp"
	"strings"
	"testing"
)

func site(t *testing.T) *Site {
	t.Helper()
	s, err := New()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func get(s *Site, path string, header ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodGet, path, nil)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w
}

var importMap = regexp.MustCompile(`(?s)<script type="importmap">(.*?)</script>`)

func TestBrowsersRunOnlyTheFilesAndTheImportMap(t *testing.T) {
	w := get(site(t), "/")
	script := importMap.FindStringSubmatch(w.Body.String())
	if script == nil {
		t.Fatal("the page has no import map")
	}
	sum := sha256.Sum256([]byte(script[1]))
	policy := w.Header().Get("Content-Security-Policy")
	for _, want := range []string{"default-src 'none'", "script-src 'self' 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "';", "style-src 'self'", "frame-ancestors 'none'", "base-uri 'none'"} {
		if !strings.Contains(policy, want) {
			t.Errorf("the policy lacks %s: %s", want, policy)
		}
	}
	if strings.Contains(policy, "unsafe") || strings.Contains(policy, "http") {
		t.Errorf("the policy allows too much: %s", policy)
	}
}

// imports matches each static or dynamic import of a module, and captures the imported path. It
// does not match the words "from" and "import" in a library's list of keywords.
var imports = regexp.MustCompile(`\b(?:from|import|new \w*Worker)\s*\(?\s*['"]([\w./@][^'"<>\s]*)['"]`)

func TestEveryImportedModuleExists(t *testing.T) {
	s := site(t)
	var names struct{ Imports map[string]string }
	if err := json.Unmarshal([]byte(importMap.FindStringSubmatch(string(s.index.plain))[1]), &names); err != nil {
		t.Fatal(err)
	}
	for name, a := range s.assets {
		if path.Ext(name) != ".js" {
			continue
		}
		for _, m := range imports.FindAllStringSubmatch(string(a.plain), -1) {
			to := m[1]
			switch {
			case names.Imports[to] != "":
				to = strings.TrimPrefix(names.Imports[to], "/assets/")
			case strings.HasPrefix(to, "/assets/"):
				to = strings.TrimPrefix(to, "/assets/")
			default:
				to = path.Join(path.Dir(name), to)
			}
			if !s.Has(to) {
				t.Errorf("%s loads %s, which is not there", name, m[1])
			}
		}
	}
	for _, m := range regexp.MustCompile(`(?:href|src)="/assets/([^"]+)"`).FindAllStringSubmatch(string(s.index.plain), -1) {
		if !s.Has(m[1]) {
			t.Errorf("the page loads %s, which is not there", m[1])
		}
	}
}

func TestTheDashboardCanBeInstalledAsAnApp(t *testing.T) {
	s := site(t)
	link := regexp.MustCompile(`<link rel="manifest" href="([^"]+)">`).FindStringSubmatch(string(s.index.plain))
	if link == nil {
		t.Fatal("the page has no manifest")
	}
	w := get(s, link[1])
	if kind := w.Header().Get("Content-Type"); kind != "application/manifest+json" {
		t.Errorf("the manifest is %s", kind)
	}
	var manifest struct {
		Name, Display, Scope string
		Start                string `json:"start_url"`
		Icons                []struct{ Src, Type, Sizes string }
	}
	if err := json.Unmarshal(w.Body.Bytes(), &manifest); err != nil {
		t.Fatal(err)
	}
	if manifest.Name != "gaffer" || manifest.Display != "standalone" || manifest.Scope != "/" || manifest.Start != "/#/" {
		t.Errorf("the manifest is %+v", manifest)
	}
	sizes := ""
	for _, icon := range manifest.Icons {
		sizes += icon.Sizes + " "
		if w := get(s, icon.Src); w.Code != http.StatusOK || w.Header().Get("Content-Type") != icon.Type {
			t.Errorf("%s: %d %s, want %s", icon.Src, w.Code, w.Header().Get("Content-Type"), icon.Type)
		}
	}
	if !strings.Contains(sizes, "192x192") || !strings.Contains(sizes, "512x512") { // browsers want both
		t.Errorf("the icons have the sizes %s", sizes)
	}
}

// The service worker shows notifications. If it handled requests, it could answer with old data.
func TestTheServiceWorkerHandlesNoRequests(t *testing.T) {
	s := site(t)
	worker := string(s.assets["core/notify-worker.js"].plain)
	if !strings.Contains(worker, "notificationclick") || strings.Contains(worker, "fetch") || strings.Contains(worker, "caches") {
		t.Errorf("the service worker is:\n%s", worker)
	}
}

// Agents choose names of tasks, so text must never be rendered as markup.
func TestNoModuleTurnsTextIntoMarkup(t *testing.T) {
	unsafe := regexp.MustCompile(`innerHTML|outerHTML|insertAdjacentHTML|document\.write|dangerouslySetInnerHTML|\beval\(|new Function|javascript:|setAttribute\('style'|https?://`)
	for name, a := range site(t).assets {
		if strings.HasPrefix(name, "lib/") || path.Ext(name) != ".js" {
			continue
		}
		for _, found := range unsafe.FindAllString(string(a.plain), -1) {
			t.Errorf("%s has %s", name, found)
		}
	}
}

func TestTheModulesOfTheFirstViewArePreloaded(t *testing.T) {
	page := string(site(t).index.plain)
	for _, name := range []string{"app.js", "core/fleet.js", "core/source.js", "pages/fleet.js", "lib/preact.js"} {
		if !strings.Contains(page, `<link rel="modulepreload" href="/assets/`+name+`">`) {
			t.Errorf("%s is not asked for at once", name)
		}
	}
	if strings.Contains(page, "pages/replay.js") || strings.Contains(page, "lib/dagre.js") {
		t.Error("pages that are shown later are asked for at once")
	}
}

func TestAnAssetIsSentInTheRequestedEncoding(t *testing.T) {
	s := site(t)
	plain := get(s, "/assets/app.js")
	if kind := plain.Header().Get("Content-Type"); plain.Code != http.StatusOK || !strings.HasPrefix(kind, "text/javascript") {
		t.Errorf("%d %s", plain.Code, kind)
	}
	zipped := get(s, "/assets/app.js", "Accept-Encoding", "br, gzip")
	r, err := gzip.NewReader(zipped.Body)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(r)
	if err != nil || string(text) != plain.Body.String() {
		t.Errorf("zipped it is another: %v", err)
	}
	if w := get(s, "/assets/app.js", "Accept-Encoding", "gzip;q=0"); w.Header().Get("Content-Encoding") != "" {
		t.Error("gzip was sent to who does not take it")
	}
	if w := get(s, "/assets/app.js", "If-None-Match", plain.Header().Get("ETag")); w.Code != http.StatusNotModified || w.Body.Len() > 0 {
		t.Errorf("asked again: %d", w.Code)
	}
	for _, none := range []string{"/assets/", "/assets/index.html", "/assets/../dashboard.go", "/assets/nothing.js"} {
		if w := get(s, none); w.Code != http.StatusNotFound {
			t.Errorf("%s: %d", none, w.Code)
		}
	}
}
