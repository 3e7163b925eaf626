package validate

import (
	"bufio"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"

	"gaffer/internal/cli/env"
	"gaffer/internal/exit"
	"gaffer/internal/text/display"
	"gaffer/ledger"
	"gaffer/statefile"
)

// summary counts the validated and repaired documents by result.
type summary struct {
	Files     int `json:"files"`
	Valid     int `json:"valid"`
	Irregular int `json:"irregular"`
	Invalid   int `json:"invalid"`
	Skipped   int `json:"skipped"` // files in a folder of records that are not records; not counted in Files
	Fixed     int `json:"fixed"`
	Refused   int `json:"refused"` // records that could not be repaired
}

// printer prints each finding when it arrives, so that memory use does not grow with the number of
// findings.
type printer struct {
	env      *env.Env
	opts     *options
	out      *bufio.Writer
	sum      summary
	section  string // key of the JSON list that is being written; empty before the first list
	progress *progress
}

func newPrinter(e *env.Env, o *options) *printer {
	return &printer{env: e, opts: o, out: bufio.NewWriter(e.Out), progress: newProgress(e)}
}

// fixed counts and prints the result of the repair of one record. It prints nothing if the record
// needed no repair.
func (p *printer) fixed(f ledger.Fix) error {
	p.progress.tick("repaired")
	f.Path, f.Backup = p.shown(f.Path), p.shown(f.Backup)
	switch f.Outcome {
	case ledger.Fixed:
		p.sum.Fixed++
	case ledger.Refused:
		p.sum.Refused++
	default:
		return nil
	}
	if p.opts.json {
		return p.item("fixes", f)
	}
	return p.line(fixStyle[f.Outcome], string(f.Outcome), f.String())
}

var fixStyle = map[ledger.Outcome]display.Style{ledger.Fixed: display.Green, ledger.Refused: display.Yellow}

// document counts one document and prints its findings.
func (p *printer) document(d document) error {
	p.progress.tick("checked")
	worst := p.count(d)
	for _, f := range d.Found {
		f.Path = p.shown(f.Path)
		if p.opts.json {
			if err := p.item("findings", f); err != nil {
				return err
			}
			continue
		}
		word, style := string(f.Severity), display.Yellow
		if f.Severity == statefile.Invalid {
			style = display.Red
		}
		if worst == "" { // the file was skipped, because it is not a run or result record
			word, style = "skipped", display.Faint
		}
		if err := p.line(style, word, f.String()); err != nil {
			return err
		}
	}
	return nil
}

func (p *printer) count(d document) (worst statefile.Severity) {
	if d.Skipped {
		p.sum.Skipped++
		return ""
	}
	p.sum.Files++
	worst = "valid"
	for _, f := range d.Found {
		if worst != statefile.Invalid {
			worst = f.Severity
		}
	}
	switch worst {
	case statefile.Invalid:
		p.sum.Invalid++
	case statefile.Irregular:
		p.sum.Irregular++
	default:
		p.sum.Valid++
	}
	return worst
}

func (p *printer) line(style display.Style, word, text string) error {
	p.progress.clear()
	_, err := fmt.Fprintf(p.out, "%s %s\n", p.env.Paint(p.env.Out, style, fmt.Sprintf("%-9s", word)), display.Printable(text))
	return err
}

// item appends v to the JSON list whose key is the parameter section. If this list is not the
// current one, item first ends the current list and starts this one.
func (p *printer) item(section string, v any) error {
	before := ",\n    "
	if p.section != section {
		before = p.open(section) + "\n    "
	}
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(p.out, "%s%s", before, text)
	return err
}

// open returns the JSON text that ends the current list, if any, and starts a list whose key is the
// parameter section.
func (p *printer) open(section string) string {
	before := "{"
	if p.section != "" {
		before = "\n  ],"
	}
	p.section = section
	return fmt.Sprintf("%s\n  %q: [", before, section)
}

// end prints the summary.
func (p *printer) end() error {
	p.progress.clear()
	if !p.opts.json {
		fmt.Fprintln(p.out, p.sum)
		return p.out.Flush()
	}
	if p.section != "findings" {
		fmt.Fprint(p.out, p.open("findings"))
	}
	text, err := json.Marshal(p.sum)
	if err != nil {
		return err
	}
	fmt.Fprintf(p.out, "\n  ],\n  \"summary\": %s\n}\n", text)
	return p.out.Flush()
}

// String returns the summary as one line.
func (s summary) String() string {
	text := fmt.Sprintf("%s: %s valid, %s irregular, %s invalid",
		files(s.Files), thousands(s.Valid), thousands(s.Irregular), thousands(s.Invalid))
	for _, more := range []struct {
		n    int
		word string
	}{{s.Skipped, "skipped"}, {s.Fixed, "fixed"}, {s.Refused, "not repairable"}} {
		if more.n > 0 {
			text += fmt.Sprintf(", %s %s", thousands(more.n), more.word)
		}
	}
	return text
}

// verdict returns an error if a document is invalid. With --strict, it also returns an error if a
// document is irregular, so that some programs may not understand it. The error determines the exit
// code.
func (p *printer) verdict() error {
	switch {
	case p.sum.Invalid > 0:
		return exit.Invalid(fmt.Errorf("%s of %s invalid", thousands(p.sum.Invalid), files(p.sum.Files)))
	case p.opts.strict && p.sum.Irregular > 0:
		return exit.Invalid(fmt.Errorf("%s of %s irregular, which --strict does not accept", thousands(p.sum.Irregular), files(p.sum.Files)))
	}
	return nil
}

// shown returns path relative to the current folder, or path itself if it is not below that folder.
func (p *printer) shown(path string) string {
	rel, err := filepath.Rel(p.env.Dir, path)
	if err != nil || path == "" || rel == ".." || strings.HasPrefix(rel, "../") {
		return path
	}
	return rel
}

func thousands(n int) string {
	text := fmt.Sprint(n)
	for at := len(text) - 3; at > 0; at -= 3 {
		text = text[:at] + "," + text[at:]
	}
	return text
}

func files(n int) string {
	if n == 1 {
		return "1 file"
	}
	return thousands(n) + " files"
}
