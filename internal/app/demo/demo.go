// Package demo runs an example fleet: a project in a temporary folder, real gaffer processes (such
// as workers and a build), and agents that need no language model. It deletes everything at the
// end, unless the user wants to keep the folder.
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

// Folder is the path of a demo's root folder.
type Folder string

// markerFile is the name of a file in every demo folder. The [Cleaner] refuses to delete a folder
// without this file.
const markerFile = ".gaffer-demo"

// Create creates the folder of a demo with the files of its project.
func Create() (Folder, error) {
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
	if err := os.WriteFile(filepath.Join(string(f), markerFile), nil, 0o600); err != nil {
		return err
	}
	return f.writeFiles()
}

// writeFiles writes the files of the demo's project.
func (f Folder) writeFiles() error {
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
		if err := os.WriteFile(f.projectFile(file.Name()), text, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// projectFile returns the path at which the file with this name is written in the demo's project.
func (f Folder) projectFile(name string) string {
	if name == "spec.md" {
		return filepath.Join(f.Project(), ".fctry", name)
	}
	return filepath.Join(f.Project(), name)
}

// Project returns the path of the project's root.
func (f Folder) Project() string { return filepath.Join(string(f), "shop") }

// State returns the value of XDG_STATE_HOME in the demo.
func (f Folder) State() string { return filepath.Join(string(f), "state") }

// VariablesFile returns the path of a shell script that sets the environment variables for commands
// that use the demo's server.
func (f Folder) VariablesFile() string { return filepath.Join(string(f), "env") }

func (f Folder) home() string { return filepath.Join(string(f), "home") }
func (f Folder) logs() string { return filepath.Join(string(f), "logs") }
func (f Folder) temp() string { return filepath.Join(string(f), "tmp") }

// FolderVar is the name of an environment variable that gaffer sets in all processes that a
// [Processes] starts. Its value is the path of the demo's folder.
const FolderVar = "GAFFER_DEMO"

// trustVar is the name of an environment variable that lets gaffer run the agents that the demo's
// gaffer.yaml names.
const trustVar = "GAFFER_TRUST"

// inheritedVars returns the names of the environment variables whose values a demo copies from the
// user's environment.
func inheritedVars() []string { return []string{"PATH", "LANG", "LC_ALL", "TZ"} }

// Getenv returns a function that looks up variables in a demo's environment. The demo has its own
// home folder, and does not see the user's settings, servers and databases. outside looks up
// variables in the user's environment.
func (f Folder) Getenv(outside func(string) string) func(string) string {
	own := map[string]string{
		"HOME": f.home(), "XDG_STATE_HOME": f.State(), "TMPDIR": f.temp(), "GAFFER_PROJECT": f.Project(), trustVar: "all",
		"GIT_CONFIG_NOSYSTEM": "1", FolderVar: string(f),
	}
	for _, name := range inheritedVars() {
		own[name] = outside(name)
	}
	return func(name string) string { return own[name] }
}

// environ returns the variables of [Folder.Getenv] that have a value, each as NAME=value. The list
// is for the field Env of exec.Cmd.
func (f Folder) environ(outside func(string) string) (list []string) {
	getenv := f.Getenv(outside)
	for _, name := range append(inheritedVars(), "HOME", "XDG_STATE_HOME", "TMPDIR", "GAFFER_PROJECT", trustVar, "GIT_CONFIG_NOSYSTEM", FolderVar) {
		if value := getenv(name); value != "" {
			list = append(list, name+"="+value)
		}
	}
	return list
}

// WriteVariables writes the shell script at the path that VariablesFile returns. server is the URL
// of the demo's server.
func (f Folder) WriteVariables(server string) error {
	text := fmt.Sprintf("export XDG_STATE_HOME='%s' GAFFER_PROJECT='%s' GAFFER_SERVER='%s'\n", f.State(), f.Project(), server)
	return os.WriteFile(f.VariablesFile(), []byte(text), 0o600)
}
