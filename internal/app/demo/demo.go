// Package demo is an example fleet: a project in a folder of its own, workers and
// commands as real processes, and agents without a model. It is for looking at, and
// leaves nothing behind.
package demo

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

//go:embed shop
var shop embed.FS

// Folder is where all of a demo is.
type Folder string

// sign is in every folder of a demo, so that no other is taken for one.
const sign = ".gaffer-demo"

// Make makes the folder of a demo, with the files of its project.
func Make() (Folder, error) {
	dir, err := os.MkdirTemp("", "gaffer-demo-")
	if err != nil {
		return "", err
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return "", err
	}
	f := Folder(dir)
	if err := f.fill(); err != nil {
		return "", errors.Join(err, os.RemoveAll(dir))
	}
	return f, nil
}

func (f Folder) fill() error {
	for _, dir := range []string{f.home(), f.logs(), f.temp(), f.Project()} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
	}
	if err := os.WriteFile(filepath.Join(string(f), sign), nil, 0o600); err != nil {
		return err
	}
	return f.lay()
}

// lay writes the files of the project.
func (f Folder) lay() error {
	ignored := strings.Join([]string{"coordination/", "state/", ".founder-mode/", ".fctry/", "out/", ""}, "\n")
	if err := os.WriteFile(filepath.Join(f.Project(), ".gitignore"), []byte(ignored), 0o600); err != nil {
		return err
	}
	for _, dir := range []string{".fctry", "out"} {
		if err := os.Mkdir(filepath.Join(f.Project(), dir), 0o700); err != nil {
			return err
		}
	}
	files, err := shop.ReadDir("shop")
	if err != nil {
		return err
	}
	for _, file := range files {
		text, err := fs.ReadFile(shop, path.Join("shop", file.Name()))
		if err != nil {
			return err
		}
		if err := os.WriteFile(f.placeOf(file.Name()), text, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// placeOf is where a file of the project is.
func (f Folder) placeOf(name string) string {
	if name == "spec.md" {
		return filepath.Join(f.Project(), ".fctry", name)
	}
	return filepath.Join(f.Project(), name)
}

// Project is the root of the project.
func (f Folder) Project() string { return filepath.Join(string(f), "shop") }

// State is what XDG_STATE_HOME is for everything in the demo.
func (f Folder) State() string { return filepath.Join(string(f), "state") }

// Variables is a file that a shell reads to ask the demo's server.
func (f Folder) Variables() string { return filepath.Join(string(f), "env") }

func (f Folder) home() string { return filepath.Join(string(f), "home") }
func (f Folder) logs() string { return filepath.Join(string(f), "logs") }
func (f Folder) temp() string { return filepath.Join(string(f), "tmp") }

// Mark is the variable that every process of a demo has, with its folder.
const Mark = "GAFFER_DEMO"

// trustVar lets gaffer run the agents that the demo's own gaffer.yaml names.
const trustVar = "GAFFER_TRUST"

// passed are the variables that a demo takes from outside.
func passed() []string { return []string{"PATH", "LANG", "LC_ALL", "TZ"} }

// Getenv is the environment of a demo: its own home, nothing of the person's
// settings, servers and databases.
func (f Folder) Getenv(outside func(string) string) func(string) string {
	own := map[string]string{
		"HOME": f.home(), "XDG_STATE_HOME": f.State(), "TMPDIR": f.temp(), "GAFFER_PROJECT": f.Project(), trustVar: "all",
		"GIT_CONFIG_NOSYSTEM": "1", Mark: string(f),
	}
	for _, name := range passed() {
		own[name] = outside(name)
	}
	return func(name string) string { return own[name] }
}

// environ is the same for a process.
func (f Folder) environ(outside func(string) string) (list []string) {
	getenv := f.Getenv(outside)
	for _, name := range append(passed(), "HOME", "XDG_STATE_HOME", "TMPDIR", "GAFFER_PROJECT", trustVar, "GIT_CONFIG_NOSYSTEM", Mark) {
		if value := getenv(name); value != "" {
			list = append(list, name+"="+value)
		}
	}
	return list
}

// Explain writes the file with the variables.
func (f Folder) Explain(server string) error {
	text := fmt.Sprintf("export XDG_STATE_HOME='%s' GAFFER_PROJECT='%s' GAFFER_SERVER='%s'\n", f.State(), f.Project(), server)
	return os.WriteFile(f.Variables(), []byte(text), 0o600)
}
