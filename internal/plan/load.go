package plan

import (
	"errors"
	"fmt"
	"path/filepath"

	"gaffer/statefile"
	"gaffer/statefile/host"
)

// Format is the name of a plan's format.
type Format string

// The formats of plans.
const (
	Gaffer       Format = "gaffer"       // a file in gaffer's own YAML format
	Orchestrator Format = "orchestrator" // Markdown with a drawn dependency graph, or with lists of prompts in waves
	WorkflowFile Format = "workflow"     // a YAML file with one or more workflows
	Beads        Format = "beads"        // a JSON Lines file with one bead (work item) on each line
	Phase        Format = "phase"        // a file whose name has the form NN-XX-PLAN.md, or a folder of such files
	Folder       Format = "folder"       // a folder of prompt files
	List         Format = "list"         // ids or file names of prompts, separated by commas
	PromptFile   Format = "prompt-file"  // a file with one prompt
	PromptText   Format = "prompt"       // the text of one prompt
)

// Formats returns all formats.
func Formats() []Format {
	return []Format{Gaffer, Orchestrator, WorkflowFile, Beads, Phase, Folder, List, PromptFile, PromptText}
}

// Options configures [Load], [Parse] and [LoadOutline]. The zero value of each field is valid.
type Options struct {
	// Dir is the folder from which the path of the plan, Root and PromptsDir start if they are
	// relative. Empty means the working directory.
	Dir string
	// Root is the project's folder. The prompt files of a workflow are searched there first, and
	// then in the folder of the workflow file. Empty means Dir.
	Root          string
	PromptsDir    string   // folder with the prompts that a plan names by their ids; Root/prompts if empty
	Format        Format   // format of the plan; detected if empty
	Workflow      string   // id of the workflow to load, if the file has several
	PendingOnly   bool     // leave out tasks that are already done
	Agents        []string // names of additional agents that gaffer.yaml defines
	SeparateFiles bool     // add dependencies between tasks that change the same files
	BeadDefaults  Task     // default values for the tasks of a plan in the format Beads
}

// The maximum sizes of a plan's files, in bytes.
const (
	maxPlan    = 4 << 20
	maxPrompt  = 1 << 20
	maxPrompts = 64 << 20 // maximum total size of all prompts of a plan
)

// Load reads a plan. arg is a file, a folder, ids or file names of prompts separated by commas, or
// the text of a prompt. If arg is none of these, the error is a [*NameError]. If the plan is not
// valid, the error is a [Problems] that contains all problems. If o.Format is set and the file does
// not exist, the error wraps fs.ErrNotExist.
func Load(h host.Host, arg string, o Options) (Plan, error) {
	l, err := newLoader(h, o)
	if err != nil {
		return Plan{}, err
	}
	format, err := l.detect(arg)
	if err != nil {
		return Plan{}, err
	}
	d, err := l.read(arg, format)
	if err != nil {
		return Plan{}, err
	}
	d.Format = format
	if len(l.problems) > 0 {
		return Plan{}, l.problems.sorted()
	}
	return l.finish(d.Plan), nil
}

// Parse reads a plan in gaffer's own format from data instead of a file. Relative paths of prompt
// files start from o.Dir. If the plan is not valid, the error is a [Problems].
func Parse(h host.Host, data []byte, o Options) (Plan, error) {
	l, err := newLoader(h, o)
	if err != nil {
		return Plan{}, err
	}
	if len(data) > maxPlan {
		return Plan{}, &statefile.FormError{Path: "the plan", Problem: fmt.Sprintf("has %d MiB, more than the %d a plan may have", len(data)>>20, maxPlan>>20)}
	}
	d := l.readDocument("plan", data, Gaffer)
	d.Format, d.SourceFile = Gaffer, ""
	if len(l.problems) > 0 {
		return Plan{}, l.problems.sorted()
	}
	return l.finish(d.Plan), nil
}

// loader reads a plan and the files that belong to it.
type loader struct {
	reporter
	host       host.Host
	opts       Options
	loaded     int          // total size of the prompts read so far, in bytes
	ids        *promptIndex // index of the prompts in the prompts folder; nil until it is needed
	planFolder *promptIndex // index of the prompts in the plan's folder; nil until it is needed
	parsed     *parsed      // the plan's file, if it was parsed to detect the format; else nil
}

// parsed is the result of parsing a file as YAML. The field root is nil if the file is empty or is
// not valid YAML.
type parsed struct{ root *node }

func newLoader(h host.Host, o Options) (*loader, error) {
	if h == nil {
		h = host.OS()
	}
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return nil, err
	}
	o.Dir, o.Root = dir, under(dir, o.Root)
	if o.PromptsDir == "" {
		o.PromptsDir = filepath.Join(o.Root, "prompts")
	}
	o.PromptsDir = under(o.Dir, o.PromptsDir)
	return &loader{reporter: reporter{agents: o.Agents}, host: h, opts: o}, nil
}

func under(dir, name string) string {
	if filepath.IsAbs(name) {
		return filepath.Clean(name)
	}
	return filepath.Join(dir, name)
}

// read reads a plan that has the given format. Problems of the plan are added to l.problems. The
// error is set only if a file cannot be read.
func (l *loader) read(arg string, format Format) (draft, error) {
	l.file = arg
	switch format {
	case PromptText:
		l.file = ""
		return promptText(arg), nil
	case List:
		l.file = ""
		return l.readList(arg), nil
	case Folder:
		return l.readPromptFolder(arg)
	case Phase:
		return l.readPhases(arg)
	case PromptFile:
		return l.readPromptFile(arg)
	}
	if l.parsed != nil {
		return l.readYAML(arg, l.parsed.root, format), nil
	}
	data, err := l.readFile(arg)
	if err != nil {
		return draft{}, err
	}
	return l.readDocument(arg, data, format), nil
}

// readDocument reads a plan from data, the content of the file arg. It also reads the prompt files
// that the plan names.
func (l *loader) readDocument(arg string, data []byte, format Format) draft {
	dir := l.folderOf(arg)
	if format == Orchestrator {
		d := readOrchestrator(arg, data, &l.reporter)
		for i := range d.Tasks {
			d.Tasks[i].CheckboxFile = under(l.opts.Dir, arg)
		}
		d.check(&l.reporter, "prompt")
		l.findPrompts(&d, dir)
		return d
	}
	if format == Beads {
		return l.readBeads(arg, dir, data)
	}
	return l.readYAML(arg, l.tree(data), format)
}

func (l *loader) folderOf(arg string) string { return filepath.Dir(under(l.opts.Dir, arg)) }

// readYAML reads a plan from the parsed YAML root of the file arg. It also reads the prompt files
// that the plan names.
func (l *loader) readYAML(arg string, root *node, format Format) draft {
	if root == nil && len(l.problems) > 0 {
		return draft{}
	}
	dir := l.folderOf(arg)
	if format == WorkflowFile {
		d := readWorkflows(arg, root, &l.reporter, l.opts.Workflow)
		l.readPrompts(&d, l.opts.Root, dir)
		return d
	}
	d := readPlan(arg, root, &l.reporter)
	d.check(&l.reporter, "task")
	l.readPrompts(&d, dir)
	return d
}

// finish applies the options that concern the whole plan, and adds warnings. At the end it replaces
// each task that several agents are to do by one task for each agent, and one task that picks a
// result; see [Plan.ExpandCandidates].
func (l *loader) finish(p Plan) Plan {
	for i, t := range p.Tasks {
		p.Tasks[i].Name = orElse(t.Name, t.ID)
	}
	if l.opts.PendingOnly {
		p.dropDone()
	}
	overlaps := p.Overlaps()
	if l.opts.SeparateFiles {
		p = p.Separate()
	}
	line := map[string]int{}
	for _, t := range p.Tasks {
		line[t.ID] = t.Line
	}
	for _, o := range overlaps {
		l.warn(position{line: line[o.Second]}, "%s", o.text(l.opts.SeparateFiles))
	}
	p.Warnings = l.warnings.sorted()
	return p.ExpandCandidates()
}

func (o Overlap) text(separated bool) string {
	files := o.FirstFile
	if o.SecondFile != o.FirstFile {
		files += " and " + o.SecondFile
	}
	if separated {
		return fmt.Sprintf("%s waits for %s now: they change the same files (%s)", o.Second, o.First, files)
	}
	return fmt.Sprintf("%s and %s may run at the same time and change the same files (%s)", o.First, o.Second, files)
}

func (l *loader) readFile(arg string) ([]byte, error) {
	data, err := statefile.ReadBytes(l.host, under(l.opts.Dir, arg))
	if e, ok := errors.AsType[*statefile.FormError](err); ok {
		return nil, &statefile.FormError{Path: arg, Problem: e.Problem}
	}
	if err == nil && len(data) > maxPlan {
		err = &statefile.FormError{Path: arg, Problem: fmt.Sprintf("has %d MiB, more than the %d a plan may have", len(data)>>20, maxPlan>>20)}
	}
	return data, err
}
