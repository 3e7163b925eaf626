// Command page makes docs/benchmarks.md and docs/scale.md, with their plots, from the figures that
// the benchmark commands wrote. It stores the figures in docs/benchmarks.json and docs/scale.json.
//
//	page record -page benchmarks -section run -figures FILE   stores the figures of a section, and writes the page
//	page write -page benchmarks                               writes the page again
package main

import (
	"flag"
	"fmt"
	"log"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"gaffer/bench/figure"
)

func main() {
	log.SetFlags(0)
	if err := run(os.Args[1:]); err != nil {
		log.Fatal(err)
	}
}

func run(args []string) error {
	if len(args) == 0 || args[0] != "record" && args[0] != "write" {
		return fmt.Errorf("usage: page record|write -page NAME")
	}
	var m measured
	flags := flag.NewFlagSet("page", flag.ContinueOnError)
	docs := flags.String("docs", "docs", "the folder of the pages")
	name := flags.String("page", "", "the page: benchmarks or scale")
	figures := flags.String("figures", "", "the file with the figures of the section")
	flags.StringVar(&m.Name, "section", "", "the section that was measured")
	flags.StringVar(&m.Command, "command", "", "the command that measured it")
	flags.StringVar(&m.Error, "error", "", "why the measurement did not come to its end")
	flags.IntVar(&m.Seconds, "seconds", 0, "how long it took")
	if err := flags.Parse(args[1:]); err != nil {
		return err
	}
	i := slices.IndexFunc(pages(), func(p page) bool { return p.name == *name })
	if i < 0 {
		return fmt.Errorf("there is no page %q", *name)
	}
	p := pages()[i]
	file := filepath.Join(*docs, p.name+".json")
	r, err := load(file)
	if err != nil {
		return err
	}
	if args[0] == "record" {
		if !slices.Contains(p.order(), m.Name) {
			return fmt.Errorf("page %s has no section %q, only %s", p.name, m.Name, strings.Join(p.order(), ", "))
		}
		if m.Figures, err = readFigures(*figures); err != nil {
			return err
		}
		m.Date, m.Commit, m.Machine = today(), commit(), thisMachine()
		r.put(m, p.order())
		if err := r.save(file); err != nil {
			return err
		}
		// Make the page from the saved file, not from the values in memory, because a test also
		// makes the page from the saved file and compares both.
		if r, err = load(file); err != nil {
			return err
		}
	}
	return write(p, r, *docs)
}

func readFigures(path string) ([]figure.Figure, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	list, err := figure.Read(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return list, nil
}

// write writes a page and its plots, and deletes plots that the page no longer has.
func write(p page, r results, docs string) error {
	text, plots := render(p, r)
	if err := os.WriteFile(filepath.Join(docs, p.name+".md"), []byte(text), 0o644); err != nil {
		return err
	}
	images := filepath.Join(docs, imageDir)
	if err := os.MkdirAll(images, 0o755); err != nil {
		return err
	}
	old, err := filepath.Glob(filepath.Join(images, p.name+"-*.svg"))
	if err != nil {
		return err
	}
	for _, path := range old {
		if _, ok := plots[filepath.Base(path)]; !ok {
			if err := os.Remove(path); err != nil {
				return err
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(plots)) {
		if err := os.WriteFile(filepath.Join(images, name), []byte(plots[name]), 0o644); err != nil {
			return err
		}
	}
	return nil
}
