// Package dashboard is the page that people see in a browser: modules, styles and
// the libraries that they need, embedded as they are. There is no build step; what
// is in the folder is what browsers load. It holds no data: the page asks the
// server for that.
package dashboard

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"strings"
)

//go:embed page
var files embed.FS

// Site serves the page at "/" and what it loads below "/assets/".
type Site struct {
	index  asset
	policy string
	assets map[string]asset // by their path below /assets/
}

// asset is a file as it is sent.
type asset struct {
	kind   string
	plain  []byte
	zipped []byte // nil if that is not smaller
	tag    string
}

// New returns the site.
func New() (*Site, error) { return newSite(files) }

func newSite(files fs.FS) (*Site, error) {
	s := &Site{assets: map[string]asset{}}
	err := fs.WalkDir(files, "page", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		body, err := fs.ReadFile(files, name)
		if err != nil {
			return err
		}
		s.assets[strings.TrimPrefix(name, "page/")] = newAsset(name, body)
		return nil
	})
	if err != nil {
		return nil, err
	}
	body, hash, err := s.compose()
	if err != nil {
		return nil, fmt.Errorf("index.html: %w", err)
	}
	s.index, s.policy = newAsset("index.html", body), policy(hash)
	delete(s.assets, "index.html")
	return s, nil
}

func newAsset(name string, body []byte) asset {
	sum := sha256.Sum256(body)
	a := asset{kind: kindOf(name), plain: body, tag: `"` + hex.EncodeToString(sum[:8]) + `"`}
	if zipped := zip(body); len(zipped) < len(body) {
		a.zipped = zipped
	}
	return a
}

// kindOf does not ask the machine's own tables, which may say anything.
func kindOf(name string) string {
	switch path.Ext(name) {
	case ".js":
		return "text/javascript; charset=utf-8"
	case ".css":
		return "text/css; charset=utf-8"
	case ".html":
		return "text/html; charset=utf-8"
	case ".svg":
		return "image/svg+xml"
	case ".txt":
		return "text/plain; charset=utf-8"
	}
	return "application/octet-stream"
}

func zip(body []byte) []byte {
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return body
	}
	_, _ = w.Write(body) // a buffer takes everything
	_ = w.Close()
	return b.Bytes()
}

// compose fills the page in with a link to each module that it will need, so that
// a browser asks for all of them at once, and with the map of their names. Browsers
// run that map only because the policy names its hash.
func (s *Site) compose() (body []byte, hash string, err error) {
	page := s.assets["index.html"].plain
	begin, end := []byte(`<script type="importmap">`), []byte(`</script>`)
	from := bytes.Index(page, begin)
	if from < 0 {
		return nil, "", fmt.Errorf("has no import map")
	}
	script, _, ok := bytes.Cut(page[from+len(begin):], end)
	if !ok {
		return nil, "", fmt.Errorf("its import map has no end")
	}
	sum := sha256.Sum256(script)
	return bytes.Replace(page, []byte("<!--preload-->"), s.preload(), 1), base64.StdEncoding.EncodeToString(sum[:]), nil
}

// preload links the modules that the first picture needs.
func (s *Site) preload() []byte {
	var b bytes.Buffer
	for _, name := range first(s.assets) {
		fmt.Fprintf(&b, "<link rel=\"modulepreload\" href=\"/assets/%s\">\n", name)
	}
	return b.Bytes()
}

// policy lets the page load nothing but what this server has, and run nothing but
// its files and the import map.
func policy(hash string) string {
	return "default-src 'none'; script-src 'self' 'sha256-" + hash + "'; style-src 'self'; img-src 'self' data:; " +
		"connect-src 'self'; worker-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
}

// ServeHTTP answers for "/" and for paths below "/assets/".
func (s *Site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/" {
		w.Header().Set("Content-Security-Policy", s.policy)
		s.index.send(w, r)
		return
	}
	a, ok := s.assets[strings.TrimPrefix(r.URL.Path, "/assets/")]
	if !ok {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Security-Policy", s.policy) // that of a worker is its own
	a.send(w, r)
}

// Has reports whether there is a file below "/assets/".
func (s *Site) Has(name string) bool {
	_, ok := s.assets[name]
	return ok
}

func (a asset) send(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Type", a.kind)
	h.Set("Cache-Control", "no-cache") // it may be kept, and is asked for before it is used
	h.Set("ETag", a.tag)
	h.Set("Vary", "Accept-Encoding")
	if r.Header.Get("If-None-Match") == a.tag {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	body := a.plain
	if a.zipped != nil && accepts(r.Header.Get("Accept-Encoding")) {
		h.Set("Content-Encoding", "gzip")
		body = a.zipped
	}
	h.Set("Content-Length", fmt.Sprint(len(body)))
	w.WriteHeader(http.StatusOK)
	if r.Method != http.MethodHead {
		_, _ = w.Write(body) // whoever has gone away cannot be told
	}
}

// accepts reports whether a browser takes gzip.
func accepts(header string) bool {
	for part := range strings.SplitSeq(header, ",") {
		name, params, _ := strings.Cut(strings.TrimSpace(part), ";")
		if name == "gzip" {
			_, p, err := mime.ParseMediaType("a/b;" + params)
			return params == "" || err == nil && p["q"] != "0"
		}
	}
	return false
}
