package validate

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"gaffer/internal/cli/env"
	"gaffer/internal/config"
	"gaffer/internal/exit"
	"gaffer/ledger"
	"gaffer/session"
	"gaffer/statefile"
	"gaffer/statefile/host"
	"gaffer/statefile/jsontree"
	"gaffer/team"
	"gaffer/workflow"
)

// document is one file with the findings about it, such as mistakes in its JSON.
type document = ledger.ValidatedFile

// checker validates all documents of one kind at path, which is a file or a folder. It calls the
// function visit for every document.
type checker func(ctx context.Context, path string, visit func(document) error) error

// validator validates documents of every kind: run and result records, and the documents of
// sessions, workflows and teams.
type validator struct {
	env    *env.Env
	config *config.Config
	strict bool
}

// folderSettings maps a kind of document to the name of the setting whose value is the folder of
// the project's own documents of that kind. Run and result records are in subfolders of that
// folder.
var folderSettings = map[kind]string{
	runs: "paths.ledger", results: "paths.ledger", ledgers: "paths.ledger",
	sessions: "paths.session", workflows: "paths.workflow", teams: "paths.team",
}

func (v *validator) checker(k kind) checker {
	switch k {
	case runs:
		return v.records(ledger.RunKind)
	case results:
		return v.records(ledger.ResultKind)
	case ledgers:
		return v.ledger
	case sessions:
		return v.sessions
	case workflows:
		return v.workflow
	case teams:
		return v.team
	}
	panic("validate: no checker for " + string(k))
}

// check validates the documents of the target t, and calls visit for every document. It does
// nothing if t is the project's own documents of a kind of which the project has none.
func (v *validator) check(ctx context.Context, t target, visit func(document) error) error {
	if t.kind == all {
		for _, k := range []kind{ledgers, sessions, workflows, teams} {
			if err := v.check(ctx, target{kind: k}, visit); err != nil {
				return err
			}
		}
		return nil
	}
	path := t.path
	if path == "" {
		path = v.projectPath(t.kind)
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			return nil
		}
	}
	return v.checker(t.kind)(ctx, path, visit)
}

// projectPath returns the path of the folder with the project's own documents of the kind k.
func (v *validator) projectPath(k kind) string {
	root := v.config.Path(folderSettings[k])
	if k == runs || k == results {
		return filepath.Join(root, string(k))
	}
	return root
}

// store opens the ledger, which consists of run and result records, in the folder root. If the
// returned store repairs a run record, it may write the path of the task's result file into that
// record. If root is inside the project, this path begins with the path of root relative to the
// project's root. Otherwise it begins with the name of the folder root.
func (v *validator) store(root string) *ledger.Store {
	o := ledger.Options{Now: v.env.Now, LockTimeout: v.config.Duration("lock_timeout")}
	if p, err := v.env.Project(); err == nil {
		if rel, err := filepath.Rel(p.Root, root); err == nil && filepath.IsLocal(rel) {
			o.Name = filepath.ToSlash(rel)
		}
	}
	return ledger.Open(root, o)
}

func (v *validator) records(k ledger.Kind) checker {
	return func(ctx context.Context, path string, visit func(document) error) error {
		return v.store(v.projectPath(ledgers)).ValidatePath(ctx, k, path, ledger.ValidateOptions{Strict: v.strict}, visit)
	}
}

func (v *validator) ledger(ctx context.Context, root string, visit func(document) error) error {
	return v.store(root).Validate(ctx, ledger.ValidateOptions{Strict: v.strict}, visit)
}

func (v *validator) sessions(_ context.Context, path string, visit func(document) error) error {
	if !isFolder(path) {
		return visit(document{Path: path, Found: append(session.CheckFile(host.OS(), path), processes(path)...)})
	}
	root := path
	if filepath.Base(path) == "sessions" {
		root = filepath.Dir(path)
	}
	store := session.New(root, session.Options{Now: v.env.Now})
	ids, err := store.IDs()
	if err != nil {
		return err
	}
	var paths []string
	for _, id := range ids {
		paths = append(paths, filepath.Join(root, "sessions", id, "status.json"))
	}
	found := slices.Collect(store.Validate())
	for _, path := range paths {
		found = append(found, processes(path)...)
	}
	return byDocument(paths, found, visit)
}

// processes reads the session document at path. It returns findings about agents that are recorded
// as running although their process no longer exists. It ignores errors in the document, because
// other checks report them.
func processes(path string) []statefile.Finding {
	doc, err := statefile.New(path, statefile.Options{}).Load()
	if err != nil {
		return nil
	}
	status, _ := session.Decode(doc.Value())
	return session.CheckProcesses(path, status, host.Exists)
}

func (v *validator) workflow(_ context.Context, path string, visit func(document) error) error {
	if !isFolder(path) {
		check := workflow.CheckState
		if filepath.Base(path) == workflow.InboxFile {
			check = workflow.CheckInbox
		}
		return checkFile(path, check, visit)
	}
	found, err := workflow.Open(path, workflow.Options{Now: v.env.Now}).Validate()
	if err != nil {
		return err
	}
	return byDocument(present(path, workflow.StateFile, workflow.InboxFile), found, visit)
}

func (v *validator) team(_ context.Context, path string, visit func(document) error) error {
	if !isFolder(path) {
		d, ok := teamDocument(filepath.Base(path))
		if !ok {
			return exit.Usage(fmt.Errorf("%s: not one of the team's documents", path))
		}
		data, err := statefile.ReadBytes(host.OS(), path)
		if err != nil {
			return err
		}
		return visit(document{Path: path, Found: team.ValidateDocument(d, path, data)})
	}
	found, err := team.Validate(host.OS(), path)
	if err != nil {
		return err
	}
	var names []string
	for _, d := range team.Documents() {
		names = append(names, d.Path())
	}
	return byDocument(present(path, names...), found, visit)
}

func checkFile(path string, check func(string, jsontree.Value) []statefile.Finding, visit func(document) error) error {
	doc, err := statefile.New(path, statefile.Options{}).Load()
	if corrupt := (*statefile.CorruptError)(nil); errors.As(err, &corrupt) {
		return visit(document{Path: path, Found: []statefile.Finding{{
			Path: path, Name: "not-json", Severity: statefile.Invalid, Text: corrupt.Syntax.Error(),
		}}})
	}
	if err != nil {
		return err
	}
	return visit(document{Path: path, Found: append(statefile.CheckPortable(path, doc), check(path, doc.Value())...)})
}

// byDocument calls visit once for every document, with the findings about it. It first visits the
// documents at paths, even those without findings, and then all other documents for which the
// parameter found contains findings.
func byDocument(paths []string, found []statefile.Finding, visit func(document) error) error {
	at := map[string]int{}
	var documents []document
	add := func(path string) *document {
		if _, ok := at[path]; !ok {
			at[path] = len(documents)
			documents = append(documents, document{Path: path})
		}
		return &documents[at[path]]
	}
	for _, p := range paths {
		add(p)
	}
	for _, f := range found {
		d := add(f.Path)
		d.Found = append(d.Found, f)
	}
	for _, d := range documents {
		if err := visit(d); err != nil {
			return err
		}
	}
	return nil
}

func present(root string, names ...string) []string {
	var paths []string
	for _, name := range names {
		path := filepath.Join(root, name)
		if _, err := os.Lstat(path); err == nil {
			paths = append(paths, path)
		}
	}
	return paths
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
