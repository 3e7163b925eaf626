package roles

import (
	"embed"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"gaffer/internal/flow/prompt"
	"gaffer/internal/flow/teamstate"
	"gaffer/team"
)

//go:embed templates answers rules.md
var embedded embed.FS

// templateUse says which role uses a prompt template, and for which purpose, such as a review.
type templateUse struct {
	purpose teamstate.Purpose
	role    team.Role
	name    string // name of the template's file, without .md
	words   []team.Word
}

// templateUses lists the purposes for which gaffer starts agents. Each row has the purpose, the
// role of the agent, the name of the prompt template, and the status words that the agent's answer
// may have. These words are defaults: they are used only if a [teamstate.Brief] has none.
var templateUses = []templateUse{
	{teamstate.Plan, team.PM, "pm-plan", teamstate.Words(teamstate.Plan)},
	{teamstate.Split, team.PM, "pm-split", teamstate.Words(teamstate.Split)},
	{teamstate.Check, team.PM, "pm-check", teamstate.Words(teamstate.Check)},
	{teamstate.Work, team.Developer, "developer-work", teamstate.Words(teamstate.Work)},
	{teamstate.Test, team.QAExpert, "qa-test", teamstate.Words(teamstate.Test)},
	{teamstate.Review, team.TechLead, "tech-lead-review", teamstate.Words(teamstate.Review)},
	{teamstate.Unblock, team.TechLead, "tech-lead-unblock", teamstate.Words(teamstate.Unblock)},
}

// Templates returns the names of all templates.
func Templates() []string {
	var list []string
	for _, u := range templateUses {
		list = append(list, u.name)
	}
	return list
}

func useFor(p teamstate.Purpose) (templateUse, bool) {
	i := slices.IndexFunc(templateUses, func(u templateUse) bool { return u.purpose == p })
	if i < 0 {
		return templateUse{}, false
	}
	return templateUses[i], true
}

// embeddedText returns the content of a file that is embedded in gaffer.
func embeddedText(path string) string {
	data, err := embedded.ReadFile(path)
	if err != nil {
		panic("roles: " + err.Error())
	}
	return strings.TrimSpace(string(data))
}

func rules() string { return embeddedText("rules.md") }

// answerInstructions returns the text that tells the agent how its answer must end.
func answerInstructions(b teamstate.Brief, _ int) string {
	u, ok := useFor(b.Step.Purpose)
	if !ok {
		return ""
	}
	text, err := prompt.Parse(u.name, embeddedText("answers/"+u.name+".md")).Fill(nil, map[string]string{"WORDS": words(b)})
	if err != nil {
		panic("roles: " + err.Error())
	}
	return text
}

// loadTemplate returns the template that u describes, from the first of the folders that contains
// it. If no folder contains it, loadTemplate returns gaffer's own template.
func loadTemplate(u templateUse, folders []string) (prompt.Template, error) {
	for _, dir := range folders {
		t, err := prompt.Load(dir, u.name)
		if notFound, ok := errors.AsType[*prompt.NotFoundError](err); ok && notFound != nil {
			continue
		}
		if err != nil {
			return t, err
		}
		return t, checkTemplate(t)
	}
	return prompt.Parse(u.name, embeddedText("templates/"+u.name+".md")), nil
}

// checkFolder returns an error if a Markdown file in the folder dir does not have the name of a
// template, because such a file would never be used. README.md is allowed, and so is a missing
// folder.
func checkFolder(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), ".md")
		if ok && !strings.HasPrefix(name, ".") && !strings.EqualFold(name, "readme") && !slices.Contains(Templates(), name) {
			return unknownTemplate(filepath.Join(dir, e.Name()), name)
		}
	}
	return nil
}

// checkTemplate returns an error if a template has an unknown variable or is too large for a
// prompt. It also returns an error if a variable with a multi-line value does not stand alone at
// the start of a line, or stands in a code fence, which its value could end.
func checkTemplate(t prompt.Template) error {
	known, number := Variables(), 0
	var open string // code fence around the current line; empty if there is none
	for line := range strings.Lines(t.Text) {
		number++
		open = fenceAfter(open, line)
		for _, name := range prompt.Parse("", line).Variables() {
			i := slices.IndexFunc(known, func(v Variable) bool { return v.Name == name })
			if i < 0 {
				return unknownVariable(t.Path, number, name)
			}
			if known[i].Lines && (open != "" || strings.TrimRight(line, " \t\r\n") != strings.TrimSpace(line) || onlyVariable(line) != name) {
				return &TemplateError{t.Path, number, "{{" + name + "}} is several lines, want it alone in a line, at its beginning and not in a fence", ""}
			}
		}
	}
	if n := minPromptSize(t); n > MaxPrompt {
		return tooLarge(t.Path, n)
	}
	return nil
}

// onlyVariable returns the name of the variable if a line consists of a single variable. Otherwise
// it returns "".
func onlyVariable(line string) string {
	line = strings.TrimSpace(line)
	if names := prompt.Parse("", line).Variables(); len(names) == 1 && strings.Count(line, "{") == 2 && strings.HasPrefix(line, "{{") && strings.HasSuffix(line, "}}") {
		return names[0]
	}
	return ""
}

// fenceAfter returns the marker, such as ```, of the Markdown code fence that is open after a line.
// It returns "" if no fence is open. open is the marker of the fence that was open before the line.
func fenceAfter(open, line string) string {
	text := strings.TrimLeft(line, " \t")
	mark := text[:len(text)-len(strings.TrimLeft(text, "`"))]
	if mark == "" {
		mark = text[:len(text)-len(strings.TrimLeft(text, "~"))]
	}
	rest := strings.TrimSpace(text[len(mark):])
	switch {
	case len(mark) < 3:
		return open
	case open == "":
		return mark
	case mark[0] == open[0] && len(mark) >= len(open) && rest == "":
		return ""
	}
	return open
}
