// Package dashboard serves the dashboard, the web page of gaffer. The JavaScript modules, styles
// and libraries in the folder page are embedded as they are; there is no build step. The page
// contains no data; it requests all data from the server.
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

// Site is an [http.Handler] that serves the dashboard page at "/" and the files of the page below
// "/assets/".
type Site struct {
	index  asset
	policy string
	assets map[string]asset // files by their path below /assets/
}

// asset is an embedded file, prepared for HTTP responses.
type asset struct {
	kind   string
	plain  []byte
	zipped []byte // content compressed with gzip; nil if gzip does not make it smaller
	tag    string
}

// New returns the site with the embedded files.
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
	if zipped := gzipped(body); len(zipped) < len(body) {
		a.zipped = zipped
	}
	return a
}

// kindOf returns the content type for a file name. It does not use the MIME tables of the machine,
// because they may be wrong.
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
	case ".png":
		return "image/png"
	case ".webmanifest":
		return "application/manifest+json"
	case ".txt":
		return "text/plain; charset=utf-8"
	}
	return "application/octet-stream"
}

func gzipped(body []byte) []byte {
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return body
	}
	_, _ = w.Write(body) // ignore the error: writing to a buffer never fails
	_ = w.Close()
	return b.Bytes()
}

// compose returns the HTML of the page, with a preload link for each module that the page needs, so
// that a browser requests all modules at once. hash is the SHA-256 hash of the page's import map,
// in base64. Browsers use the import map only if the content security policy contains this hash.
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

// preload returns an HTML preload link for each of the modules in [modulesOf].
func (s *Site) preload() []byte {
	var b bytes.Buffer
	for _, name := range modulesOf(s.assets) {
		fmt.Fprintf(&b, "<link rel=\"modulepreload\" href=\"/assets/%s\">\n", name)
	}
	return b.Bytes()
}

// policy returns the content security policy of the page. The page may load files only from this
// server, and images also from data: URLs. It may run only scripts of this server and the import
// map with this hash.
func policy(hash string) string {
	return "default-src 'none'; script-src 'self' 'sha256-" + hash + "'; style-src 'self'; img-src 'self' data:; " +
		"connect-src 'self'; worker-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
}

// ServeHTTP implements [http.Handler].
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
	// Send the policy with every file: a web worker is subject to the policy that comes with its
	// script, not to the policy of the page.
	w.Header().Set("Content-Security-Policy", s.policy)
	a.send(w, r)
}

// Has reports whether the file with this name exists below "/assets/".
func (s *Site) Has(name string) bool {
	_, ok := s.assets[name]
	return ok
}

func (a asset) send(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Type", a.kind)
	h.Set("Cache-Control", "no-cache") // a browser may cache the file, but must revalidate it
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
		_, _ = w.Write(body) // ignore the error: the client may have disconnected
	}
}

// accepts reports whether an Accept-Encoding header names gzip and does not exclude it with q=0.
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
