package runquery

import (
	"context"
	"slices"
	"strings"
	"unicode"

	"gaffer/fleet"
	"gaffer/internal/engine/store"
	"gaffer/internal/plan"
)

const (
	maxSearchedRuns = 1000
	maxSearchWords  = 8 // maximum number of words in a search; further words are ignored
	excerptLength   = 160
)

// Search returns at most limit runs and tasks that contain all words of a text, ignoring case. For
// a task, some of the words may be in the id, name, project or source file of its run instead.
// Search reads only the latest maxSearchedRuns runs, and ignores words after the first
// maxSearchWords. The result is in this order, and in each group the latest run comes first:
//   - runs
//   - tasks with the words in their ids, if the store can search for ids
//   - tasks with the words in their names, prompts or results
//
// If ctx ends, Search sets found.Partial and returns what it has found until then.
func (l *Querier) Search(ctx context.Context, text string, limit int) (found fleet.Found, err error) {
	words := strings.Fields(strings.ToLower(text))
	words = words[:min(len(words), maxSearchWords)]
	found.Hits = []fleet.Hit{}
	if len(words) == 0 || limit <= 0 {
		return found, nil
	}
	err = l.store.Read(context.WithoutCancel(ctx), func(r store.Reader) error {
		runs, err := l.Latest(r, "", true, maxSearchedRuns)
		if err != nil {
			return err
		}
		s := &search{r: r, words: words, limit: limit, seen: map[store.TaskKey]bool{}}
		for _, pass := range []func(store.Run) error{s.byRun, s.byTaskID, s.byContent} {
			for _, run := range runs {
				if len(s.hits) >= limit {
					break
				}
				if ctx.Err() != nil {
					found.Partial = true
					break
				}
				if err := pass(run); err != nil {
					return err
				}
			}
		}
		found.Hits = append([]fleet.Hit{}, s.hits[:min(len(s.hits), limit)]...)
		return nil
	})
	return found, err
}

// search is the state of one search, which reads one snapshot of the store.
type search struct {
	r     store.Reader
	words []string // in lower case
	limit int
	hits  []fleet.Hit
	seen  map[store.TaskKey]bool // keys of the tasks that are already in hits
}

func (s *search) byRun(run store.Run) error {
	if len(s.missing(run)) == 0 {
		s.hits = append(s.hits, hitOf(run, run.Status))
	}
	return nil
}

func hitOf(run store.Run, status store.Status) fleet.Hit {
	return fleet.Hit{Run: run.ID, RunName: run.Name, Project: run.Project, Created: run.Created, Status: fleet.Status(status), In: fleet.InName}
}

// missing returns the words that are not in a run's id, name, project or source file.
func (s *search) missing(run store.Run) []string {
	return without(s.words, run.ID, run.Name, run.Project, run.SourceFile)
}

// without returns the words that are in none of the texts.
func without(words []string, texts ...string) (left []string) {
	for _, word := range words {
		if !slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(strings.ToLower(text), word) }) {
			left = append(left, word)
		}
	}
	return left
}

// wanted returns the words that a task of a run must contain. These are the words of the search
// that are not in the id, name, project or source file of the run. But if all words are there,
// wanted returns all words, so that a task does not match only because of its run.
func (s *search) wanted(run store.Run) []string {
	if left := s.missing(run); len(left) > 0 {
		return left
	}
	return s.words
}

func patterns(words []string) (list []string) {
	for _, word := range words {
		list = append(list, store.Pattern(word))
	}
	return list
}

// byTaskID adds to s.hits those tasks of a run whose ids contain all words that the method wanted
// returns. It does nothing if the reader is not a [store.TaskSearcher].
func (s *search) byTaskID(run store.Run) error {
	words := s.wanted(run)
	quick, ok := s.r.(store.TaskSearcher)
	if !ok {
		return nil // byContent, which runs later, finds these tasks too
	}
	ids, err := quick.TaskIDsLike(run.ID, patterns(words), s.limit-len(s.hits))
	for _, id := range ids {
		if err != nil || len(without(words, id)) > 0 {
			continue
		}
		var t store.Task
		if t, err = s.r.Task(store.TaskKey{Run: run.ID, Task: id}); err == nil {
			s.add(run, t, fleet.InName, "")
		}
	}
	return err
}

func (s *search) add(run store.Run, t store.Task, in fleet.HitField, excerpt string) {
	if s.seen[t.TaskKey] {
		return
	}
	s.seen[t.TaskKey] = true
	hit := hitOf(run, t.Status)
	hit.Task, hit.Name, hit.In, hit.Excerpt = t.Task, t.Name, in, excerpt
	s.hits = append(s.hits, hit)
}

// byContent adds to s.hits those tasks of a run that contain all words that the method wanted
// returns. Each word may be in the task's id, name or prompt, or in the result of an attempt.
func (s *search) byContent(run store.Run) error {
	words := s.wanted(run)
	tasks, err := s.candidates(run.ID, words)
	for _, t := range tasks {
		if err != nil || len(s.hits) >= s.limit {
			break
		}
		err = s.checkContent(run, t, words)
	}
	return err
}

func (s *search) candidates(run string, words []string) ([]store.Task, error) {
	if quick, ok := s.r.(store.TaskSearcher); ok {
		return quick.TasksLike(run, patterns(words))
	}
	return s.r.Tasks(run)
}

func (s *search) checkContent(run store.Run, t store.Task, words []string) error {
	left := without(words, t.Task, t.Name)
	if len(left) == 0 {
		s.add(run, t, fleet.InName, "")
		return nil
	}
	spec, err := plan.DecodeTask(t.Spec)
	if err != nil {
		return err
	}
	if rest := without(left, spec.Prompt); len(rest) == 0 {
		s.add(run, t, fleet.InPrompt, excerpt(spec.Prompt, left[0]))
		return nil
	}
	attempts, err := s.r.Attempts(t.TaskKey)
	for _, a := range slices.Backward(attempts) {
		result := a.Summary
		if a.Answer != "" {
			result = a.Answer
		}
		if rest := without(left, spec.Prompt, result); len(rest) == 0 {
			s.add(run, t, fleet.InResult, excerpt(result, without(left, spec.Prompt)[0]))
			break
		}
	}
	return err
}

// excerpt returns, on one line, the part of a text around the first occurrence of a word. The
// parameter word must be in lower case. If text does not contain word, excerpt returns the
// beginning of text.
func excerpt(text, word string) string {
	letters := []rune(strings.Join(strings.Fields(text), " "))
	at := max(0, indexFold(letters, []rune(word)))
	from := max(0, min(at-excerptLength/3, len(letters)-excerptLength))
	to := min(len(letters), from+excerptLength)
	short := strings.TrimSpace(string(letters[from:to]))
	if from > 0 {
		short = "…" + short
	}
	if to < len(letters) {
		short += "…"
	}
	return short
}

// indexFold returns the index in letters at which word first begins, ignoring case, or -1 if
// letters does not contain word. The parameter word must be in lower case.
func indexFold(letters, word []rune) int {
	for i := 0; i+len(word) <= len(letters); i++ {
		n := 0
		for n < len(word) && unicode.ToLower(letters[i+n]) == word[n] {
			n++
		}
		if n == len(word) {
			return i
		}
	}
	return -1
}
