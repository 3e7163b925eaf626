package landing

import (
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"gaffer/fleet"
	"gaffer/internal/attempt/workspace"
	"gaffer/internal/attempt/worktree"
	"gaffer/internal/engine/review"
	"gaffer/internal/forge"
	"gaffer/internal/git"
	"gaffer/internal/plan"
	"gaffer/internal/text/truncate"
)

// PullRequest is a pull request on GitHub, or a merge request on GitLab.
type PullRequest struct {
	Task   string `json:"task"`
	URL    string `json:"url"`
	Number int    `json:"number"`
	State  string `json:"state,omitempty"`
	New    bool   `json:"new,omitempty"` // this call has opened the pull request
}

// Feedback has the comments and failed checks of a pull request.
type Feedback struct {
	PullRequest
	Added  []fleet.Comment `json:"added"`  // comments that this call has added to the task's review
	Known  int             `json:"known"`  // number of the pull request's comments that the task's review already had
	Failed []string        `json:"failed"` // names of the checks that have failed
}

// forgeProgram runs the program gh, glab or git in a repository.
type forgeProgram struct{ forge.Program }

// forgeOf returns the program for the repository's remote origin: glab if the remote's address
// mentions GitLab, and gh otherwise. If the parameter program is not empty, forgeOf returns the
// program of that name instead.
func forgeOf(ctx context.Context, repo *worktree.Repo, program string) (*forgeProgram, error) {
	env, err := repo.Environ()
	if err != nil {
		return nil, err
	}
	f := &forgeProgram{forge.Program{Name: "git", Dir: repo.Main(), Env: env}}
	address, err := f.Run(ctx, "", "remote", "get-url", "origin")
	if err != nil {
		return nil, &forge.Error{Program: "git", Problem: "the repository has no remote origin", Advice: "add it with 'git remote add origin URL'"}
	}
	if f.Name = program; program == "" {
		f.Name = forge.GitHub
		if strings.Contains(strings.ToLower(address), "gitlab") {
			f.Name = forge.GitLab
		}
	}
	if f.Name != forge.GitHub && f.Name != forge.GitLab {
		return nil, &git.SpecError{Problem: fmt.Sprintf("%q: want gh or glab", program)}
	}
	return f, f.CheckInstalled("install it and log in, or push the branch and open the pull request yourself")
}

// find returns the open pull request from one branch into another. If none is open, it returns the
// latest one. If there is none at all, the Number of the result is 0.
func (f *forgeProgram) find(ctx context.Context, branch, into string) (p PullRequest, err error) {
	type found struct {
		Number int    `json:"number"`
		IID    int    `json:"iid"`
		URL    string `json:"url"`
		WebURL string `json:"web_url"`
		State  string `json:"state"`
	}
	args := []string{"pr", "list", "--head", branch, "--base", into, "--state", "all", "--json", "number,url,state"}
	if f.Name == "glab" {
		args = []string{"mr", "list", "--source-branch", branch, "--target-branch", into, "--all", "--output", "json"}
	}
	pages, err := forge.Ask[[]found](ctx, &f.Program, args...)
	list := slices.Concat(pages...)
	slices.SortStableFunc(list, func(a, b found) int { return cmp.Compare(max(b.Number, b.IID), max(a.Number, a.IID)) })
	for i, e := range list {
		if open := strings.EqualFold(e.State, "open") || strings.EqualFold(e.State, "opened"); open || i == 0 {
			p = PullRequest{URL: cmp.Or(e.URL, e.WebURL), Number: max(e.Number, e.IID), State: strings.ToLower(e.State)}
			if open {
				break
			}
		}
	}
	return p, err
}

// FindPR returns the pull request from a task's branch into the target branch of its change. The
// Number of the result is 0 if there is none.
func (l *Lander) FindPR(ctx context.Context, run, task string) (PullRequest, error) {
	c, _, err := l.find(ctx, run, task)
	if err != nil {
		return PullRequest{}, err
	}
	f, err := forgeOf(ctx, c.repo, "")
	if err != nil {
		return PullRequest{}, err
	}
	p, err := f.find(ctx, c.tree.Branch, c.into)
	p.Task = task
	return p, err
}

// pushTimeout is the time limit for a push. A branch with large files takes long on a slow network.
const pushTimeout = time.Hour

// PR pushes the branch of a task and opens a pull request for it. If a pull request is already
// open, PR returns that one. The parameter into is the target branch; if it is empty, PR uses the
// branch into which gaffer would merge the change. The parameter program is gh or glab; if it is
// empty, PR chooses the one that fits the repository.
func (l *Lander) PR(ctx context.Context, run, task, into, program string) (PullRequest, error) {
	c, _, err := l.find(ctx, run, task)
	if err != nil {
		return PullRequest{}, err
	}
	return l.pr(ctx, c, cmp.Or(into, c.into), program)
}

func (l *Lander) pr(ctx context.Context, c *change, into, program string) (PullRequest, error) {
	task := c.task.Task
	switch {
	case into == "":
		return PullRequest{}, &NoChangeError{"task " + task, "no branch is checked out; name one with --into"}
	case !c.task.Status.Final():
		return PullRequest{}, &NoChangeError{"task " + task, fmt.Sprintf("it is %s; wait until it has ended", c.task.Status)}
	case c.review.State == fleet.ReviewDiscarded:
		return PullRequest{}, &NoChangeError{"task " + task, "it was discarded"}
	}
	f, err := forgeOf(ctx, c.repo, program)
	if err != nil {
		return PullRequest{}, err
	}
	if !c.gone {
		if err := workspace.CommitWork(ctx, c.repo, c.tree, c.spec.Name); err != nil {
			return PullRequest{}, err
		}
	}
	l.opts.Progress(fmt.Sprintf("%s: pushing %s to origin", task, c.tree.Branch))
	// Push the full name of the branch. If a name began with a plus sign, git would force the push.
	ref := "refs/heads/" + c.tree.Branch
	git := *f
	git.Name, git.Timeout = "git", pushTimeout
	if _, err := git.Run(ctx, "", "push", "origin", ref+":"+ref); err != nil {
		return PullRequest{}, err
	}
	p, err := f.find(ctx, c.tree.Branch, into)
	if err != nil {
		return p, err
	}
	p.Task = task
	if p.State == "open" || p.State == "opened" {
		return p, nil
	}
	title, _, _ := strings.Cut(strings.TrimSpace(c.spec.Name), "\n")
	if title == "" || title == task {
		title = "Task " + task
	}
	body := fmt.Sprintf("Task %s of gaffer run %s.\n", task, c.task.Run)
	if f.Name == "gh" {
		_, err = f.Run(ctx, body, "pr", "create", "--base", into, "--head", c.tree.Branch, "--title", title, "--body-file", "-")
	} else {
		_, err = f.Run(ctx, "", "mr", "create", "--target-branch", into, "--source-branch", c.tree.Branch, "--title", title, "--description", body, "--yes")
	}
	if err != nil {
		return p, err
	}
	if p, err = f.find(ctx, c.tree.Branch, into); err != nil {
		return p, err
	}
	p.Task, p.New = task, true
	return p, nil
}

// AutoPR opens a pull request for each task that has 'land: pr' in the plan of the run. It skips
// tasks that have changed nothing, and tasks whose change was discarded. The result also has the
// pull requests that were already open.
func (l *Lander) AutoPR(ctx context.Context, run string) (opened []PullRequest, err error) {
	list, err := l.changes(ctx, run)
	if err != nil {
		return nil, err
	}
	for _, c := range list {
		if c.spec.Land != plan.LandPR || c.review.State == fleet.ReviewDiscarded {
			continue
		}
		tip, err := c.repo.Tip(ctx, c.tree.Branch)
		if err != nil {
			return opened, err
		}
		if tip == c.tree.Base.Commit { // skip: the task has changed nothing
			continue
		}
		p, err := l.pr(ctx, c, c.into, "")
		if err != nil {
			return opened, fmt.Errorf("pull request of %s: %w", c.task.Task, err)
		}
		opened = append(opened, p)
	}
	return opened, nil
}

// Feedback reads the review comments and the failed checks of a task's pull request. It adds them
// to the task's review, as comments that were not sent to the agent yet. It does not add comments
// that the review already has.
func (l *Lander) Feedback(ctx context.Context, run, task, into, program string) (Feedback, error) {
	c, _, err := l.find(ctx, run, task)
	if err != nil {
		return Feedback{}, err
	}
	f, err := forgeOf(ctx, c.repo, program)
	if err != nil {
		return Feedback{}, err
	}
	p, err := f.find(ctx, c.tree.Branch, cmp.Or(into, c.into))
	if err != nil {
		return Feedback{}, err
	}
	if p.Number == 0 {
		return Feedback{}, &NoChangeError{"task " + task, fmt.Sprintf("there is no pull request of branch %s; 'gaffer pr %s/%s' opens one", c.tree.Branch, run, task)}
	}
	p.Task = task
	read := f.github
	if f.Name == "glab" {
		read = f.gitlab
	}
	comments, failed, err := read(ctx, p.Number)
	if err != nil {
		return Feedback{}, err
	}
	tree, err := c.repo.TreeOf(ctx, c.tree.Branch)
	if err != nil {
		return Feedback{}, err
	}
	for i := range comments {
		said := &comments[i]
		said.Text = truncate.Bytes(strings.TrimSpace(strings.ReplaceAll(said.Text, "\x00", "")), review.MaxText)
		if said.First == 0 {
			continue
		}
		said.Tree = tree
		if said.Lines, err = c.repo.LinesOf(ctx, tree, said.Path, said.First, max(said.First, said.Last)); err != nil {
			return Feedback{}, err
		}
		if text := said.Lines; text == "" || len(text) > review.MaxLines || !utf8.ValidString(text) || strings.Contains(text, "\x00") {
			// The lines that the comment is about cannot be found or shown, so make it a comment on
			// the whole file.
			said.First, said.Last, said.Side, said.Lines = 0, 0, "", ""
		}
	}
	done := Feedback{PullRequest: p, Added: []fleet.Comment{}, Failed: append([]string{}, failed...)}
	err = l.record(ctx, c, func(r *fleet.Review) error {
		done.Added, done.Known = []fleet.Comment{}, 0
		for _, said := range comments {
			if slices.ContainsFunc(r.Comments, func(old fleet.Comment) bool { return old.Key == said.Key }) {
				done.Known++
				continue
			}
			added, err := review.AddComment(r, said, said.By, time.Now())
			if err != nil {
				return err
			}
			done.Added = append(done.Added, added)
		}
		return nil
	})
	return done, err
}

// keyOf returns a key for a comment on a pull request, by which later calls of [Lander.Feedback]
// recognize the comment. The key does not depend on the line number of the comment.
func keyOf(parts ...string) string {
	return fmt.Sprintf("pr-%x", sha256.Sum256([]byte(strings.Join(parts, "\x00"))))
}

// maxLog is how many bytes of a failed check's log are quoted at most.
const maxLog = 4 << 10

// github reads the comments and the failed checks of a pull request with gh.
func (f *forgeProgram) github(ctx context.Context, number int) (list []fleet.Comment, failed []string, err error) {
	type remark struct {
		ID          string
		Author      struct{ Login string }
		Body        string
		IsMinimized bool
	}
	type check struct {
		Name, Conclusion, DetailsURL string // fields of a check run
		Context, State, TargetURL    string // fields of a commit status
		StartedAt                    string
	}
	type request struct {
		Checks   []check `json:"statusCheckRollup"`
		Reviews  []remark
		Comments []remark
	}
	type lineComment struct {
		ID           int64
		User         struct{ Login string }
		Body         string
		Path         string
		Line         int
		StartLine    int `json:"start_line"`
		Side         string
		OriginalLine int `json:"original_line"`
	}
	found, err := forge.Ask[request](ctx, &f.Program, "pr", "view", fmt.Sprint(number), "--json", "statusCheckRollup,reviews,comments")
	if err != nil || len(found) == 0 {
		return nil, nil, err
	}
	whole := found[0]
	pages, err := forge.Ask[[]lineComment](ctx, &f.Program, "api", "--paginate", fmt.Sprintf("repos/{owner}/{repo}/pulls/%d/comments?per_page=100", number))
	if err != nil {
		return nil, nil, err
	}
	for _, r := range append(whole.Reviews, whole.Comments...) {
		if strings.TrimSpace(r.Body) != "" && !r.IsMinimized {
			list = append(list, fleet.Comment{Key: keyOf("remark", r.ID, r.Author.Login, r.Body), Text: r.Body, By: r.Author.Login})
		}
	}
	for _, c := range slices.Concat(pages...) {
		said := fleet.Comment{
			Key: keyOf("line", fmt.Sprint(c.ID), c.User.Login, c.Path, c.Body), Text: c.Body, By: c.User.Login,
			Path: c.Path, First: cmp.Or(c.StartLine, c.Line), Last: c.Line, Side: fleet.NewSide,
		}
		if c.Side == "LEFT" { // the comment is about a removed line
			said.First, said.Last, said.Side = 0, 0, ""
			said.Text = fmt.Sprintf("(about the removed line %d) %s", cmp.Or(c.Line, c.OriginalLine), c.Body)
		}
		list = append(list, said)
	}
	for _, c := range whole.Checks {
		result := strings.ToLower(cmp.Or(c.Conclusion, c.State))
		if !slices.Contains([]string{"failure", "error", "timed_out", "startup_failure"}, result) {
			continue
		}
		name, url, log := cmp.Or(c.Name, c.Context), cmp.Or(c.DetailsURL, c.TargetURL), ""
		if _, rest, ok := strings.Cut(url, "/actions/runs/"); ok {
			run, _, _ := strings.Cut(rest, "/")
			log, _ = f.Run(ctx, "", "run", "view", run, "--log-failed") // ignore the error: some checks have no log
		}
		failed = append(failed, name)
		list = append(list, failedCheck(name, result, url, c.StartedAt, log))
	}
	return list, failed, nil
}

// gitlab reads the comments and the failed jobs of a merge request with glab.
func (f *forgeProgram) gitlab(ctx context.Context, number int) (list []fleet.Comment, failed []string, err error) {
	base := fmt.Sprintf("projects/:fullpath/merge_requests/%d", number)
	type thread struct {
		Notes []struct {
			ID       int64
			Author   struct{ Username string }
			Body     string
			System   bool
			Resolved bool
			Position *struct {
				NewPath string `json:"new_path"`
				NewLine int    `json:"new_line"`
				OldLine int    `json:"old_line"`
			}
		}
	}
	type pipeline struct{ ID int64 }
	type job struct {
		ID     int64
		Name   string
		Status string
		WebURL string `json:"web_url"`
		Allow  bool   `json:"allow_failure"`
	}
	threads, err := forge.Ask[[]thread](ctx, &f.Program, "api", "--paginate", base+"/discussions?per_page=100")
	if err != nil {
		return nil, nil, err
	}
	for _, thread := range slices.Concat(threads...) {
		for _, n := range thread.Notes {
			if n.System || n.Resolved || strings.TrimSpace(n.Body) == "" {
				continue
			}
			said := fleet.Comment{Key: keyOf("note", fmt.Sprint(n.ID), n.Author.Username, n.Body), Text: n.Body, By: n.Author.Username}
			if at := n.Position; at != nil {
				said.Path, said.First = at.NewPath, at.NewLine
				if said.First > 0 {
					said.Side, said.Last = fleet.NewSide, said.First
				} else if at.OldLine > 0 {
					said.Text = fmt.Sprintf("(about the removed line %d) %s", at.OldLine, n.Body)
				}
			}
			list = append(list, said)
		}
	}
	// GitLab lists the latest pipeline first.
	pipelines, err := forge.Ask[[]pipeline](ctx, &f.Program, "api", base+"/pipelines")
	latest := slices.Concat(pipelines...)
	if err != nil || len(latest) == 0 {
		return list, nil, err
	}
	jobs, err := forge.Ask[[]job](ctx, &f.Program, "api", "--paginate", fmt.Sprintf("projects/:fullpath/pipelines/%d/jobs?per_page=100", latest[0].ID))
	if err != nil {
		return nil, nil, err
	}
	for _, j := range slices.Concat(jobs...) {
		if j.Status != "failed" || j.Allow {
			continue
		}
		log, _ := f.Run(ctx, "", "api", fmt.Sprintf("projects/:fullpath/jobs/%d/trace", j.ID)) // ignore the error: the comment is useful without a log
		failed = append(failed, j.Name)
		list = append(list, failedCheck(j.Name, j.Status, j.WebURL, fmt.Sprint(j.ID), log))
	}
	return list, failed, nil
}

// failedCheck returns a review comment about a failed check of a pull request. The parameter id
// identifies one execution of the check, so that each failure gets a comment of its own.
func failedCheck(name, result, url, id, log string) fleet.Comment {
	text := fmt.Sprintf("The check %s of the pull request has failed (%s). %s", name, result, url)
	if log = strings.TrimSpace(strings.ToValidUTF8(truncate.Tail(log, maxLog), "\ufffd")); log != "" {
		text += "\n\n" + log
	}
	return fleet.Comment{Key: keyOf("check", name, result, url, id), Text: text, By: name}
}
