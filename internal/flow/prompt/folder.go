package prompt

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"unicode/utf8"

	"gaffer/statefile"
)

const (
	extension = ".md"
	// maxFile is the maximum size of a template, in bytes.
	maxFile = 1 << 20
)

// isReadme reports whether name, a file name without its extension, is README. Such a file
// describes the templates folder and is not a template.
func isReadme(name string) bool { return strings.EqualFold(name, "README") }

// List reads the templates in a folder and returns them sorted by name. It skips README.md. The
// errors report the templates that cannot be used. If the folder is missing, List returns no
// templates.
func List(dir string) ([]Template, []error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, []error{fmt.Errorf("list templates: %w", err)}
	}
	var list []Template
	var broken []error
	for _, entry := range entries {
		name, ok := strings.CutSuffix(entry.Name(), extension)
		// Skip files without the extension .md, hidden files of editors, and README.md.
		if !ok || strings.HasPrefix(name, ".") || isReadme(name) {
			continue
		}
		if t, err := read(dir, name); err != nil {
			broken = append(broken, err)
		} else {
			list = append(list, t)
		}
	}
	slices.SortFunc(list, func(a, b Template) int { return strings.Compare(a.Name, b.Name) })
	return list, broken
}

// Load reads the template called name in the folder dir. It returns a [*NotFoundError] if the file
// is missing, and a [*BrokenError] if the content of the file is not a valid template.
func Load(dir, name string) (Template, error) {
	t, err := read(dir, name)
	if errors.Is(err, fs.ErrNotExist) {
		return t, &NotFoundError{Name: name, Path: filepath.Join(dir, name+extension), Has: names(dir)}
	}
	return t, err
}

func names(dir string) (has []string) {
	list, _ := List(dir)
	for _, t := range list {
		has = append(has, t.Name)
	}
	return has
}

func read(dir, name string) (Template, error) {
	if err := statefile.CheckName("template", name); err != nil {
		return Template{}, err
	}
	path := filepath.Join(dir, name+extension)
	if isReadme(name) {
		return Template{}, &BrokenError{Path: path, Problem: "describes the templates and is not one"}
	}
	data, err := readRegular(path)
	if err != nil {
		return Template{}, err
	}
	text := strings.TrimPrefix(string(data), "\ufeff")
	switch {
	case !utf8.ValidString(text) || strings.ContainsRune(text, 0):
		return Template{}, &BrokenError{Path: path, Problem: "is not text in UTF-8"}
	case strings.TrimSpace(text) == "":
		return Template{}, &BrokenError{Path: path, Problem: "is empty"}
	}
	t := Parse(name, text)
	t.Path = path
	return t, nil
}

// readRegular reads a regular file. It refuses symbolic links: in an untrusted project, a template
// could be a link to a file with a secret. The secret would then become part of a prompt, which is
// sent to a third party.
func readRegular(path string) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW, 0)
	if errors.Is(err, syscall.ELOOP) || errors.Is(err, syscall.ENXIO) {
		return nil, &BrokenError{Path: path, Problem: "is not a regular file"}
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, &BrokenError{Path: path, Problem: "is not a regular file"}
	}
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(data) > maxFile {
		err = &BrokenError{Path: path, Problem: fmt.Sprintf("is larger than the %d KiB a template may have", maxFile>>10)}
	}
	return data, err
}
