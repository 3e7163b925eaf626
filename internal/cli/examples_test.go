package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"gaffer/internal/cli/env"
)

const serveExamples = "../../examples/serve"

func example(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(serveExamples, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// understood fails the test if gaffer does not accept the command line args. file is the file that
// contains the command line.
func understood(t *testing.T, file string, args []string) {
	t.Helper()
	root := newRoot(&env.Env{})
	cmd, rest, err := root.Find(args)
	if err != nil || cmd == root {
		t.Errorf("%s: gaffer %s: no such command", file, strings.Join(args, " "))
		return
	}
	if err := cmd.ParseFlags(rest); err != nil {
		t.Errorf("%s: gaffer %s: %v", file, strings.Join(args, " "), err)
		return
	}
	if err := cmd.ValidateArgs(cmd.Flags().Args()); err != nil {
		t.Errorf("%s: gaffer %s: %v", file, strings.Join(args, " "), err)
	}
}

var setting = regexp.MustCompile(`^[A-Z][A-Za-z]+=`)

// unit reads a systemd unit and returns its settings by section.
func unit(t *testing.T, name string) map[string][]string {
	t.Helper()
	sections, section := map[string][]string{}, ""
	for line := range strings.Lines(strings.ReplaceAll(example(t, name), "\\\n", " ")) {
		line = strings.TrimSpace(line)
		switch {
		case line == "" || line[0] == '#':
		case line[0] == '[':
			section = strings.Trim(line, "[]")
		case section == "" || !setting.MatchString(line):
			t.Errorf("%s: %q is no setting of a section", name, line)
		default:
			sections[section] = append(sections[section], line)
		}
	}
	return sections
}

func TestTheUnitsOfTheExampleStartWhatGafferUnderstands(t *testing.T) {
	for name, wants := range map[string][]string{
		"gaffer.service":         {"NoNewPrivileges=yes", "ProtectSystem=strict", "StateDirectory=gaffer", "Environment=XDG_STATE_HOME=%S"},
		"gaffer-worker@.service": {"NoNewPrivileges=yes", "ProtectSystem=strict", "KillMode=process", "OOMPolicy=continue"},
	} {
		service := unit(t, name)["Service"]
		for _, want := range wants {
			if !slices.Contains(service, want) {
				t.Errorf("%s: no %s", name, want)
			}
		}
		starts := slices.DeleteFunc(slices.Clone(service), func(line string) bool { return !strings.HasPrefix(line, "ExecStart=") })
		if len(starts) != 1 {
			t.Errorf("%s: starts %q", name, starts)
			continue
		}
		argv := strings.Fields(strings.TrimPrefix(starts[0], "ExecStart="))
		if argv[0] != "/usr/local/bin/gaffer" {
			t.Errorf("%s: starts %s", name, argv[0])
		}
		understood(t, name, argv[1:])
	}
}

// composed holds the parts of the example's compose file that the tests check.
type composed struct {
	Services map[string]struct {
		Image       string
		Command     []string
		DependsOn   any `yaml:"depends_on"`
		Volumes     []string
		Secrets     []string
		Environment map[string]string
	}
	Volumes map[string]any
	Secrets map[string]any
}

func TestTheComposeFileOfTheExampleIsConsistent(t *testing.T) {
	var c composed
	if err := yaml.Unmarshal([]byte(example(t, "compose.yaml")), &c); err != nil {
		t.Fatal(err)
	}
	gaffers := 0
	for name, s := range c.Services {
		if s.Image == "gaffer" {
			gaffers++
			understood(t, "compose.yaml: "+name, s.Command)
		}
		for _, other := range dependencies(s.DependsOn) {
			if _, there := c.Services[other]; !there {
				t.Errorf("%s depends on %s, which is not there", name, other)
			}
		}
		for _, v := range s.Volumes {
			from, _, _ := strings.Cut(v, ":")
			if _, there := c.Volumes[from]; !there && !strings.HasPrefix(from, ".") {
				t.Errorf("%s: no volume %s", name, from)
			}
		}
		for _, secret := range s.Secrets {
			if _, there := c.Secrets[secret]; !there {
				t.Errorf("%s: no secret %s", name, secret)
			}
		}
	}
	if gaffers != 3 {
		t.Errorf("%d services are gaffer's, want two coordinators and a worker", gaffers)
	}
}

func dependencies(list any) (names []string) {
	switch list := list.(type) {
	case []any:
		for _, name := range list {
			names = append(names, name.(string))
		}
	case map[string]any:
		for name := range list {
			names = append(names, name)
		}
	}
	return names
}

func TestTheImageOfTheExampleStartsWhatGafferUnderstands(t *testing.T) {
	said := map[string][]string{}
	for line := range strings.Lines(example(t, "Dockerfile")) {
		word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		if word == "CMD" || word == "ENTRYPOINT" {
			var argv []string
			if err := json.Unmarshal([]byte(rest), &argv); err != nil {
				t.Errorf("%s: %v", word, err)
			}
			said[word] = argv
		}
	}
	if !slices.Equal(said["ENTRYPOINT"], []string{"gaffer"}) {
		t.Errorf("it starts %q", said["ENTRYPOINT"])
	}
	understood(t, "Dockerfile", said["CMD"])
}

var commandInComment = regexp.MustCompile(`(?m)^#  .*?\bgaffer ((?:token|serve|worker|backup) [^>\n]*)`)

func TestTheCommandsInTheCommentsOfTheExampleAreUnderstood(t *testing.T) {
	found := 0
	for _, name := range []string{"gaffer.service", "gaffer-worker@.service", "compose.yaml", "Dockerfile"} {
		for _, m := range commandInComment.FindAllStringSubmatch(example(t, name), -1) {
			found++
			understood(t, name, strings.Fields(m[1]))
		}
	}
	if found < 2 {
		t.Errorf("only %d commands were found", found)
	}
}
