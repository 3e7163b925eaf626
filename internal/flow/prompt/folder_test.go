package prompt

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"gaffer/statefile"
)

func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestAFolderIsListedByName(t *testing.T) {
	dir := folder(t, map[string]string{
		"feature.md": "# Build\n{{TASK}}", "bug-fix.md": "\ufeffFix {{BUG}}", "README.txt": "x", ".draft.md": "x", "bug.v2.md": "x",
		"custom.md": "{{DESCRIPTION}}", "README.md": "# About these templates", "readme.md": "{{X}}",
	})
	list, broken := List(dir)
	var got []string
	for _, one := range list {
		got = append(got, one.Name+"|"+one.Description+"|"+strings.Join(one.Variables(), ",")+"|"+filepath.Base(one.Path))
	}
	want := "bug-fix|Fix {{BUG}}|BUG|bug-fix.md bug.v2|x||bug.v2.md custom|{{DESCRIPTION}}|DESCRIPTION|custom.md feature|Build|TASK|feature.md"
	if strings.Join(got, " ") != want || broken != nil {
		t.Errorf("%q, %v", got, broken)
	}
}

func TestAMissingFolderHasNoTemplates(t *testing.T) {
	list, broken := List(filepath.Join(t.TempDir(), "none"))
	if list != nil || broken != nil {
		t.Errorf("%v, %v", list, broken)
	}
	file := filepath.Join(folder(t, map[string]string{"file": ""}), "file")
	if _, broken := List(file); len(broken) != 1 || !strings.HasSuffix(broken[0].Error(), "not a directory") {
		t.Errorf("%v", broken)
	}
}

func TestWhatCannotBeATemplateIsNamedAndTheOthersAreListed(t *testing.T) {
	dir := folder(t, map[string]string{
		"good.md": "x", "empty.md": " \n", "latin1.md": "\xe4", "zero.md": "a\x00b", "large.md": strings.Repeat("x", maxFile+1),
		"line\nfeed.md": "x", "-flag.md": "x", "full.md": strings.Repeat("x", maxFile),
	})
	for _, err := range []error{
		os.Mkdir(filepath.Join(dir, "folder.md"), 0o700),
		syscall.Mkfifo(filepath.Join(dir, "fifo.md"), 0o600),
		os.Symlink("good.md", filepath.Join(dir, "link.md")),
		os.Symlink("/nowhere", filepath.Join(dir, "dangling.md")),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	list, broken := List(dir)
	if len(list) != 2 || list[0].Name != "full" || list[1].Name != "good" {
		t.Errorf("%d templates", len(list))
	}
	want := map[string]string{
		"empty.md": "is empty", "latin1.md": "is not text in UTF-8", "zero.md": "is not text in UTF-8",
		"large.md": "is larger than the 1024 KiB a template may have", "folder.md": "is not a regular file", "fifo.md": "is not a regular file",
		"link.md": "is not a regular file", "dangling.md": "is not a regular file",
	}
	names := 0
	for _, err := range broken {
		if errors.As(err, new(*statefile.NameError)) {
			names++
			continue
		}
		one, ok := errors.AsType[*BrokenError](err)
		if !ok || !one.Invalid() || want[filepath.Base(one.Path)] != one.Problem {
			t.Errorf("%v", err)
			continue
		}
		delete(want, filepath.Base(one.Path))
	}
	if names != 2 || len(want) != 0 {
		t.Errorf("%d names are refused, want 2; not named: %v", names, want)
	}
}

func TestATemplateIsLoadedByName(t *testing.T) {
	dir := folder(t, map[string]string{"bug-fix.md": "Fix {{BUG}}", "broken.md": ""})
	one, err := Load(dir, "bug-fix")
	if err != nil || one.Text != "Fix {{BUG}}" || one.Path != filepath.Join(dir, "bug-fix.md") {
		t.Errorf("%+v, %v", one, err)
	}
	if _, err := Load(folder(t, map[string]string{"README.md": "x"}), "README"); !errors.As(err, new(*BrokenError)) {
		t.Errorf("the folder's README is loaded: %v", err)
	}
	if _, err := Load(dir, "broken"); !errors.As(err, new(*BrokenError)) {
		t.Errorf("%v", err)
	}
	for _, name := range []string{"", "..", "../bug-fix", "/etc/passwd", ".hidden", "a/b"} {
		if _, err := Load(dir, name); !errors.As(err, new(*statefile.NameError)) {
			t.Errorf("%q: %v", name, err)
		}
	}
}

func TestAMissingTemplateIsReportedWithASimilarName(t *testing.T) {
	dir := folder(t, map[string]string{"bug-fix.md": "Fix {{BUG}}"})
	for _, c := range []struct{ dir, name, hint string }{
		{dir, "bugfix", `did you mean "bug-fix"?`},
		{dir, "banana", "'gaffer templates' lists the templates"},
		{filepath.Join(dir, "none"), "bug-fix", "write the prompt to that file, with variables such as {{TASK}}"},
	} {
		_, err := Load(c.dir, c.name)
		missing, ok := errors.AsType[*NotFoundError](err)
		if !ok || !missing.NotFound() || missing.Hint() != c.hint {
			t.Errorf("%v, want the hint %s", err, c.hint)
		}
	}
}
