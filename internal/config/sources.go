package config

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"

	"gaffer/internal/yamldoc"
	"gaffer/statefile/lazyregexp"
)

// sourcesKey is the name of the section of the user's gaffer.yaml that defines the sources of work
// items, such as issue trackers, that a server watches. Each key in this section is the name of a
// source, which the user chooses.
const sourcesKey = "sources"

// WatchedSource is a source of work items, such as an issue tracker, that a server checks at
// regular intervals, to start runs for new items.
type WatchedSource struct {
	// From says where the work items are. For example, "gh:ada/shop label:agent" means the issues
	// of the GitHub repository ada/shop with the label "agent".
	From string
	// Plan is the path of a plan file with defaults for the tasks. A relative path starts at the
	// project's folder. Plan is empty if there is no such file.
	Plan string
	// Project is the absolute path of the project in which the runs work. Empty means the server's
	// own project.
	Project string
	Every   time.Duration // interval between two checks of the source
	Limit   int           // maximum number of work items in one run; 0 means the limit in the plan
}

// The default and the minimum of [WatchedSource.Every].
const (
	sourceEvery    = 10 * time.Minute
	minSourceEvery = 10 * time.Second
)

var sourceName = lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9_-]{0,59}$`)

// Sources returns the watched sources of work items that the user's file defines. The keys of the
// map are their names.
func (c *Config) Sources() map[string]WatchedSource {
	all := map[string]WatchedSource{}
	for name, v := range c.values {
		if v.watched != nil {
			all[strings.TrimPrefix(name, sourcesKey+".")] = *v.watched
		}
	}
	return all
}

// sources reads the watched sources of work items from n, the YAML value of the section "sources".
func (r *reader) sources(n ast.Node) error {
	if n == nil || n.Type() == ast.NullType {
		return nil
	}
	section, ok := n.(*ast.MappingNode)
	if !ok {
		return r.want(sourcesKey, n)
	}
	for _, pair := range section.Values {
		key := pair.Key.GetToken()
		name := sourcesKey + "." + key.Value
		watched, err := readSource(key.Value, pair.Value)
		if err != nil {
			return &Error{Origin: r.at(pair.Value.GetToken()), Err: keyError{name, err}, Next: "for example shop: {from: \"gh:ada/shop label:agent\", plan: night.yaml, every: 10m}"}
		}
		r.values = append(r.values, Value{
			Key:  Key{Name: name, Doc: "a source that 'gaffer serve' watches", Own: true},
			Text: strings.Join(strings.Fields(pair.Value.String()), " "), Origin: r.at(key), watched: &watched,
		})
	}
	return nil
}

func readSource(name string, n ast.Node) (w WatchedSource, err error) {
	var read struct {
		From    string `yaml:"from"`
		Plan    string `yaml:"plan"`
		Project string `yaml:"project"`
		Every   string `yaml:"every"`
		Limit   int    `yaml:"limit"`
	}
	if err := yamldoc.Decode(n, &read); err != nil {
		return w, err
	}
	w = WatchedSource{From: strings.TrimSpace(read.From), Plan: read.Plan, Project: read.Project, Every: sourceEvery, Limit: read.Limit}
	if read.Every != "" {
		if w.Every, err = time.ParseDuration(read.Every); err != nil {
			return w, fmt.Errorf("every: found %.40q, want a duration such as 10m", read.Every)
		}
	}
	switch {
	case !sourceName().MatchString(name):
		return w, errors.New("the name has other characters than letters, digits, - and _")
	case w.From == "":
		return w, errors.New("from is missing, the source that is watched")
	case w.Every < minSourceEvery:
		return w, fmt.Errorf("every: found %s, want %s at least", w.Every, minSourceEvery)
	case w.Project != "" && !filepath.IsAbs(w.Project):
		return w, fmt.Errorf("project: found %.200q, want an absolute path", w.Project)
	case w.Limit < 0 || w.Limit > 1000:
		return w, fmt.Errorf("limit: found %d, want 1 to 1000", w.Limit)
	}
	return w, nil
}
