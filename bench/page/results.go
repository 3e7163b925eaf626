package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"gaffer/bench/figure"
)

// results is the content of the JSON file beside a page: all figures of the page.
type results struct {
	Sections []measured `json:"sections"`
}

// measured is the last measurement of one section of a page. Each section can be measured again on
// its own.
type measured struct {
	Name    string          `json:"name"`
	Command string          `json:"command"`
	Date    string          `json:"date"`
	Commit  string          `json:"commit"`
	Seconds int             `json:"seconds"`
	Machine machine         `json:"machine"`
	Error   string          `json:"error,omitempty"` // why the measurement failed; empty if it succeeded
	Figures []figure.Figure `json:"figures"`
}

// machine holds the properties of a machine that influence the measured values.
type machine struct {
	CPU      string `json:"cpu"`
	Cores    int    `json:"cores"`
	MemoryMB int    `json:"memory_mb"`
	Kernel   string `json:"kernel"`
	Go       string `json:"go"`
	Files    int    `json:"files"` // maximum number of open files per process
	Load     string `json:"load"`  // 1-minute load average right after the measurement
}

// String describes the machine without its load, which differs between sections.
func (m machine) String() string {
	return fmt.Sprintf("%d cores (%s), %d MB of memory, Linux %s, %s, at most %d open files in a process", m.Cores, m.CPU, m.MemoryMB, m.Kernel, m.Go, m.Files)
}

func thisMachine() machine {
	m := machine{CPU: "unknown CPU", Cores: runtime.NumCPU(), Go: runtime.Version(), Kernel: "unknown", Files: openFiles()}
	if model := valueOf("/proc/cpuinfo", "model name"); model != "" {
		m.CPU = model
	}
	kb, _ := strconv.Atoi(strings.TrimSuffix(valueOf("/proc/meminfo", "MemTotal"), " kB"))
	m.MemoryMB = kb / 1024
	if text, err := os.ReadFile("/proc/sys/kernel/osrelease"); err == nil {
		m.Kernel = strings.TrimSpace(string(text))
	}
	if text, err := os.ReadFile("/proc/loadavg"); err == nil {
		m.Load, _, _ = strings.Cut(string(text), " ")
	}
	return m
}

// openFiles returns the hard limit of open files per process, or 0 if it is unknown.
func openFiles() int {
	var r syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &r); err != nil {
		return 0
	}
	return int(r.Max)
}

// valueOf searches a file for the first line that consists of the given name, a colon and a value.
// It returns the value, or "" if there is no such line.
func valueOf(path, name string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(text)) {
		if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// commit returns the id of the checked-out commit, or "unknown". It appends "+" to the id if
// tracked files have changed since that commit, or if git status fails.
func commit() string {
	id, err := exec.Command("git", "rev-parse", "--short=12", "HEAD").Output()
	if err != nil {
		return "unknown"
	}
	// Leave out the folder docs: this command writes there, and that does not change the program.
	changed, err := exec.Command("git", "status", "--porcelain", "--untracked-files=no", "--", ".", ":!docs").Output()
	text := strings.TrimSpace(string(id))
	if err != nil || len(changed) > 0 {
		text += "+"
	}
	return text
}

// load reads a results file. If the file does not exist, load returns empty results and no error.
func load(path string) (r results, err error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return r, nil
	}
	if err != nil {
		return r, err
	}
	if err := json.Unmarshal(data, &r); err != nil {
		return r, fmt.Errorf("%s: %w", path, err)
	}
	return r, nil
}

// save writes a results file: each figure on its own line, so that a diff shows which have changed.
func (r results) save(path string) error {
	var out bytes.Buffer
	out.WriteString("{\"sections\": [")
	for i, s := range r.Sections {
		figures := s.Figures
		s.Figures = nil
		head, err := json.Marshal(s)
		if err != nil {
			return err
		}
		if i > 0 {
			out.WriteString(",")
		}
		out.WriteString("\n" + strings.TrimSuffix(string(head), "null}") + "[")
		for n, f := range figures {
			line, err := json.Marshal(f)
			if err != nil {
				return err
			}
			if n > 0 {
				out.WriteString(",")
			}
			out.WriteString("\n  " + string(line))
		}
		out.WriteString("\n]}")
	}
	out.WriteString("\n]}\n")
	return os.WriteFile(path, out.Bytes(), 0o644)
}

// put stores the results of a section in place of its earlier results. It rounds the values to four
// significant digits, and sorts the sections in the given order.
func (r *results) put(m measured, order []string) {
	for i, f := range m.Figures {
		m.Figures[i].Value = significant(f.Value, 4)
	}
	r.Sections = slices.DeleteFunc(r.Sections, func(s measured) bool { return s.Name == m.Name })
	r.Sections = append(r.Sections, m)
	slices.SortStableFunc(r.Sections, func(a, b measured) int {
		return slices.Index(order, a.Name) - slices.Index(order, b.Name)
	})
}

func (r results) section(name string) (measured, bool) {
	i := slices.IndexFunc(r.Sections, func(s measured) bool { return s.Name == name })
	if i < 0 {
		return measured{}, false
	}
	return r.Sections[i], true
}

// significant rounds v to n significant digits. It returns 0 if v is infinite or not a number.
func significant(v float64, n int) float64 {
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(v, 'g', n, 64), 64)
	if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
		return 0
	}
	return rounded
}

func today() string { return time.Now().UTC().Format(time.DateOnly) }
