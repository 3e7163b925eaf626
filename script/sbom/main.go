// Command sbom prints the software bill of materials of a Go program as CycloneDX JSON. It lists
// the modules that the go command has recorded in the program's executable file. script/release
// runs it.
package main

import (
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"runtime/debug"
	"strings"
)

func main() {
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "usage: sbom PROGRAM VERSION TIME")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2], os.Args[3]); err != nil {
		fmt.Fprintln(os.Stderr, "sbom:", err)
		os.Exit(1)
	}
}

func run(program, version, time string) error {
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		return err
	}
	content, err := os.ReadFile(program)
	if err != nil {
		return err
	}
	b, err := describe(info, sha256.Sum256(content), version, time)
	if err != nil {
		return err
	}
	out := json.NewEncoder(os.Stdout)
	out.SetIndent("", "  ")
	return out.Encode(b)
}

// bom is a CycloneDX document, version 1.6, with the fields that a Go program needs.
type bom struct {
	Format       string       `json:"bomFormat"`
	SpecVersion  string       `json:"specVersion"`
	Version      int          `json:"version"`
	Metadata     metadata     `json:"metadata"`
	Components   []component  `json:"components"`
	Dependencies []dependency `json:"dependencies"`
}

type metadata struct {
	Timestamp string    `json:"timestamp"`
	Component component `json:"component"`
}

type component struct {
	Type    string `json:"type"`
	Ref     string `json:"bom-ref"`
	Name    string `json:"name"`
	Version string `json:"version"`
	Hashes  []hash `json:"hashes,omitempty"`
	PURL    string `json:"purl"`
}

type hash struct {
	Algorithm string `json:"alg"`
	Content   string `json:"content"`
}

type dependency struct {
	Ref       string   `json:"ref"`
	DependsOn []string `json:"dependsOn"`
}

// describe returns the bill of materials of a program. info is the program's build information, and
// sum is the SHA-256 checksum of its file.
func describe(info *debug.BuildInfo, sum [sha256.Size]byte, version, time string) (bom, error) {
	program := newComponent("application", info.Main.Path, version)
	program.Hashes = []hash{{"SHA-256", hex.EncodeToString(sum[:])}}
	b := bom{
		Format: "CycloneDX", SpecVersion: "1.6", Version: 1,
		Metadata: metadata{time, program},
		// The standard library is not in info.Deps, so add it here. Its version is that of the
		// compiler: info.GoVersion, such as "go1.26.8", without the prefix "go".
		Components: []component{newComponent("library", "std", strings.TrimPrefix(info.GoVersion, "go"))},
	}
	for _, module := range info.Deps {
		if module.Replace != nil {
			module = module.Replace
		}
		c := newComponent("library", module.Path, module.Version)
		h, err := moduleHash(module.Sum)
		if err != nil {
			return bom{}, fmt.Errorf("%s: %w", module.Path, err)
		}
		c.Hashes = []hash{h}
		b.Components = append(b.Components, c)
	}
	all := dependency{Ref: program.Ref}
	for _, c := range b.Components {
		all.DependsOn = append(all.DependsOn, c.Ref)
	}
	b.Dependencies = []dependency{all}
	return b, nil
}

func newComponent(kind, path, version string) component {
	purl := "pkg:golang/" + path + "@" + version
	return component{Type: kind, Ref: purl, Name: path, Version: version, PURL: purl}
}

// moduleHash converts the checksum of a module from the form in go.sum, which is "h1:" followed by
// a SHA-256 in base64.
func moduleHash(sum string) (hash, error) {
	encoded, ok := strings.CutPrefix(sum, "h1:")
	raw, err := base64.StdEncoding.DecodeString(encoded)
	if !ok || err != nil || len(raw) != sha256.Size {
		return hash{}, fmt.Errorf("the checksum %q is not h1: and a SHA-256", sum)
	}
	return hash{"SHA-256", hex.EncodeToString(raw)}, nil
}
