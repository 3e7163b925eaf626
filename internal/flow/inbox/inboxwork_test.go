package inbox_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"gaffer/internal/flow/inbox"
	"gaffer/internal/flow/inbox/webpage"
	"gaffer/statefile/host"
	"gaffer/workflow"
)

// patience is how long a test waits for another process or goroutine before it fails.
const patience = time.Minute

const specText = `---
spec-version: 1.2
---
# Shop
## 1. Vision
A shop that people like.
### 2.1 First Run / Onboarding {#first-run}
The first screen asks for a name.
### 2.2 Core Flow {#core-flow}
People put things into a basket and pay.
### 2.3 Search {#search}
Results appear while typing.
`

type project struct {
	t      *testing.T
	folder string
	*workflow.Store
}

func newProject(t *testing.T, files map[string]string) *project {
	t.Helper()
	folder := filepath.Join(t.TempDir(), ".fctry")
	if err := os.Mkdir(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return &project{t, folder, workflow.Open(folder, workflow.Options{})}
}

func (p *project) add(kind workflow.ItemType, content string) string {
	p.t.Helper()
	item, err := p.Inbox().Add(p.t.Context(), kind, content)
	if err != nil {
		p.t.Fatal(err)
	}
	return item.ID
}

func (p *project) item(id string) workflow.Item {
	p.t.Helper()
	items, err := p.Inbox().List()
	if err != nil {
		p.t.Fatal(err)
	}
	i := slices.IndexFunc(items, func(item workflow.Item) bool { return item.ID == id })
	if i < 0 {
		p.t.Fatalf("no item %s", id)
	}
	return items[i]
}

func (p *project) worker() *inbox.Worker {
	return &inbox.Worker{Inbox: p.Inbox(), Folder: p.folder, Owner: host.OS().Self(), Now: time.Now}
}

func (p *project) all(w *inbox.Worker) []workflow.Item {
	p.t.Helper()
	var shown []workflow.Item
	if err := w.ProcessAll(p.t.Context(), func(i workflow.Item) error { shown = append(shown, i); return nil }); err != nil {
		p.t.Fatal(err)
	}
	return shown
}

// page returns a Fetch that returns a page with this title and text for every address.
func page(title, text string) inbox.Fetch {
	return func(_ context.Context, address string) (webpage.Page, error) {
		return webpage.Page{URL: address, Title: title, Text: text}, nil
	}
}

func TestEvolveAndFeatureFindTheSectionsTheyTouch(t *testing.T) {
	p := newProject(t, map[string]string{"spec.md": specText})
	for content, want := range map[string]struct{ section, summary string }{
		"Make onboarding faster": {"#first-run", "Touches 2.1 First Run / Onboarding (its title has onboarding)."},
		"2.2 needs a wish list":  {"#core-flow", "Touches 2.2 Core Flow (it mentions 2.2)."},
		"Dark mode":              {"", "No section of the spec has words in common with it"},
	} {
		for _, kind := range []workflow.ItemType{workflow.EvolveItem, workflow.FeatureItem} {
			id := p.add(kind, content)
			if shown := p.all(p.worker()); len(shown) != 1 || shown[0].ID != id {
				t.Fatalf("shown %+v", shown)
			}
			got := p.item(id)
			if got.Status != workflow.Processed || got.Analysis == nil || !strings.HasPrefix(got.Analysis.Summary, want.summary) ||
				strings.Join(got.Analysis.AffectedSections, " ") != want.section || got.TakenAt != "" {
				t.Errorf("%s %q: %s", kind, content, got.Raw)
			}
		}
	}
}

func TestWithoutASpecAnItemIsProcessedAndSaysSo(t *testing.T) {
	p := newProject(t, nil)
	id := p.add(workflow.EvolveItem, "Make onboarding faster")
	p.all(p.worker())
	if got := p.item(id); got.Status != workflow.Processed || got.Analysis.Summary != "There is no spec yet; /fctry:init creates one." {
		t.Errorf("%s", got.Raw)
	}
}

func TestAReferenceIsFetchedOnlyWhenAskedTo(t *testing.T) {
	p := newProject(t, map[string]string{"spec.md": specText})
	id := p.add(workflow.ReferenceItem, "See https://example.com/patterns. It is good")
	p.all(p.worker())
	got := p.item(id)
	if want := "Not fetched; 'gaffer inbox process " + id + " --fetch' fetches it."; got.Status != workflow.Processed || got.Analysis.Summary != want {
		t.Errorf("unasked: %s", got.Raw)
	}
	if r := got.Raw.Get("analysis").Get("reference"); r.String() == "" || r.Get("url").Text() != "https://example.com/patterns" {
		t.Errorf("unasked: %s", got.Raw)
	}

	w := p.worker()
	w.Fetch = page("Search patterns", "Results that appear while typing")
	if shown := p.all(w); len(shown) > 0 {
		t.Errorf("processed again unasked: %+v", shown)
	}
	done, err := w.ProcessOne(t.Context(), id)
	if err != nil || done.Status != workflow.Processed {
		t.Fatalf("%+v, %v", done, err)
	}
	r := p.item(id).Raw.Get("analysis").Get("reference")
	if fetched, _ := r.Get("fetched").Bool(); !fetched || r.Get("title").Text() != "Search patterns" || r.Get("text").Text() != "Results that appear while typing" {
		t.Errorf("asked: %s", r)
	}
	if a := p.item(id).Analysis; a.AffectedSections[0] != "#search" || !strings.HasPrefix(a.Summary, "Fetched: Search patterns. Touches 2.3 Search") {
		t.Errorf("asked: %+v", a)
	}
	if _, err := w.ProcessOne(t.Context(), id); err == nil || !strings.Contains(err.Error(), "nothing may follow processed") {
		t.Errorf("fetched twice: %v", err)
	}
}

// TestThisMachineIsNotFetched uses the real fetcher instead of a fake.
func TestThisMachineIsNotFetched(t *testing.T) {
	p := newProject(t, nil)
	w := p.worker()
	w.Fetch = webpage.Fetcher{}.Fetch
	id := p.add(workflow.ReferenceItem, "http://127.0.0.1:1/secret")
	p.all(w)
	if got := p.item(id); got.Status != workflow.ItemError || !strings.Contains(got.Error, "127.0.0.1 is not on the public internet") {
		t.Errorf("%s", got.Raw)
	}
}

func TestAFailedItemHasAReasonAndTheOthersAreProcessed(t *testing.T) {
	p := newProject(t, map[string]string{"spec.md": specText, "inbox.json": `[
  {"id": "a", "type": "reference", "content": "no address", "timestamp": "2026-02-16T10:00:00Z", "status": "pending"},
  {"id": "b", "type": "evolve", "content": "search", "timestamp": "2026-02-16T10:00:01Z", "status": "pending", "analysis": "by hand"},
  {"id": "c", "type": "wish", "content": "search", "timestamp": "2026-02-16T09:00:00Z", "status": "pending"},
  {"id": "d", "type": "evolve", "content": "search", "timestamp": "2026-02-16T10:00:02Z", "status": "pending", "unknown": 1.50},
  {"type": "feature", "content": "search", "timestamp": "2026-02-16T10:00:03Z", "status": "pending"},
  {"id": "e", "type": "evolve", "content": "search", "timestamp": "2026-02-16T10:00:02Z", "status": "approved"},
  7
]`})
	if shown := p.all(p.worker()); len(shown) != 4 {
		t.Errorf("%d items", len(shown))
	}
	for id, want := range map[string]string{
		"a": "error: there is no http or https address in it",
		"b": "error: analysis of inbox item b is a string where an object should be",
		"c": "pending: ", "d": "processed: ", "": "processed: ", "e": "approved: ",
	} {
		got := p.item(id)
		if text := string(got.Status) + ": " + got.Error; text != want {
			t.Errorf("%s: %s, want %s", id, text, want)
		}
	}
	if got := p.item("b").Raw.Get("analysis").Text(); got != "by hand" {
		t.Errorf("replaced by %q", got)
	}
	if got := string(p.item("d").Raw.Get("unknown").Raw()); got != "1.50" {
		t.Errorf("unknown is now %s", got)
	}
	if _, err := p.worker().ProcessOne(t.Context(), "c"); err == nil || !strings.Contains(err.Error(), `of type "wish"`) {
		t.Errorf("got %v", err)
	}
}

func TestAReasonThatIsNotUTF8IsStored(t *testing.T) {
	p := newProject(t, map[string]string{"spec.md": specText})
	id := p.add(workflow.ReferenceItem, "https://example.com/")
	w := p.worker()
	w.Fetch = func(context.Context, string) (webpage.Page, error) {
		return webpage.Page{}, errors.New("it is image/\xff, not text")
	}
	p.all(w)
	if got := p.item(id); got.Status != workflow.ItemError || got.Error != "it is image/\ufffd, not text" {
		t.Errorf("%s", got.Raw)
	}
}

func TestOneItemIsProcessedByItsID(t *testing.T) {
	p := newProject(t, map[string]string{"spec.md": specText})
	first, second := p.add(workflow.EvolveItem, "search"), p.add(workflow.EvolveItem, "basket")
	if done, err := p.worker().ProcessOne(t.Context(), second); err != nil || done.ID != second {
		t.Errorf("%+v, %v", done, err)
	}
	if got := p.item(first).Status; got != workflow.Pending {
		t.Errorf("the other is %s", got)
	}
	for _, id := range []string{"absent", "", "../x"} {
		if _, err := p.worker().ProcessOne(t.Context(), id); err == nil {
			t.Errorf("%q was processed", id)
		}
	}
}

// typeChanger simulates another program that changes an item's type just before the inbox is
// locked.
type typeChanger struct {
	host.Host
	p *project
}

func (m typeChanger) Lock(ctx context.Context, op host.Op, name string) (host.Lock, error) {
	path := m.p.Inbox().Path()
	text, err := os.ReadFile(path)
	if err == nil {
		err = os.WriteFile(path, []byte(strings.Replace(string(text), `"evolve"`, `"idea"`, 1)), 0o644)
	}
	if err != nil {
		m.p.t.Error(err)
	}
	return m.Host.Lock(ctx, op, name)
}

func TestAnItemWhoseTypeChangesMeanwhileIsLeftAlone(t *testing.T) {
	p := newProject(t, map[string]string{"spec.md": specText})
	id := p.add(workflow.EvolveItem, "search")
	w := p.worker()
	w.Inbox = workflow.Open(p.folder, workflow.Options{Host: typeChanger{host.OS(), p}}).Inbox()
	if _, err := w.ProcessOne(t.Context(), id); err == nil || !strings.Contains(err.Error(), "is of type idea") {
		t.Errorf("got %v", err)
	}
	if got := p.item(id); got.Status != workflow.Pending {
		t.Errorf("%s", got.Raw)
	}
}

func TestASpecThatCannotBeReadLeavesTheItemsPending(t *testing.T) {
	p := newProject(t, map[string]string{"config.json": "{"})
	id := p.add(workflow.EvolveItem, "search")
	if err := p.worker().ProcessAll(t.Context(), nil); err == nil || !strings.Contains(err.Error(), "not JSON") {
		t.Errorf("got %v", err)
	}
	if got := p.item(id).Status; got != workflow.Pending {
		t.Errorf("it is %s", got)
	}
}

func TestADismissedItemLosesItsResultAndTheOthersAreProcessed(t *testing.T) {
	p := newProject(t, map[string]string{"spec.md": specText})
	gone, kept := p.add(workflow.ReferenceItem, "https://example.com/a"), p.add(workflow.ReferenceItem, "https://example.com/b")
	w := p.worker()
	var reports []string
	w.Report = func(line string) { reports = append(reports, line) }
	w.Fetch = func(ctx context.Context, address string) (webpage.Page, error) {
		if strings.HasSuffix(address, "a") {
			if _, err := p.Inbox().Dismiss(ctx, gone); err != nil {
				t.Error(err)
			}
		}
		return webpage.Page{URL: address}, nil
	}
	if shown := p.all(w); len(shown) != 1 || shown[0].ID != kept {
		t.Errorf("shown %+v", shown)
	}
	if !strings.Contains(strings.Join(reports, "\n"), "inbox item "+gone+": its result is not kept: no inbox item") {
		t.Errorf("reports %q", reports)
	}
}

// halved returns a Fetch during which another program writes only the first half of the inbox's
// file. The function complete writes the whole file.
func (p *project) halved() (fetch inbox.Fetch, complete func()) {
	var text []byte
	write := func(data []byte) {
		if err := os.WriteFile(p.Inbox().Path(), data, 0o644); err != nil {
			p.t.Error(err)
		}
	}
	fetch = func(_ context.Context, address string) (webpage.Page, error) {
		var err error
		if text, err = os.ReadFile(p.Inbox().Path()); err != nil {
			p.t.Error(err)
		}
		write(text[:len(text)/2])
		return webpage.Page{URL: address}, nil
	}
	return fetch, func() { write(text) }
}

func TestAResultThatCannotBeStoredNowIsStoredLaterByWatch(t *testing.T) {
	p := newProject(t, map[string]string{"spec.md": specText})
	id := p.add(workflow.ReferenceItem, "https://example.com/")
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	w := p.worker()
	fetch, whole := p.halved()
	w.Fetch = fetch
	w.Report = func(line string) {
		if strings.Contains(line, "keep its result") {
			whole()
		}
	}
	err := w.Watch(ctx, func(workflow.Item) error { cancel(); return nil })
	if !errors.Is(err, context.Canceled) || p.item(id).Status != workflow.Processed {
		t.Errorf("%v, %s", err, p.item(id).Raw)
	}
}

func TestAResultThatCannotBeStoredIsAnError(t *testing.T) {
	p := newProject(t, map[string]string{"spec.md": specText})
	id := p.add(workflow.ReferenceItem, "https://example.com/")
	w := p.worker()
	fetch, whole := p.halved()
	w.Fetch = fetch
	if err := w.ProcessAll(t.Context(), nil); err == nil || !strings.Contains(err.Error(), "inbox item "+id+": keep its result") {
		t.Errorf("got %v", err)
	}
	whole()
	if got := p.item(id); got.Status != workflow.Processing {
		t.Errorf("%s", got.Raw)
	}
}

func TestAnInterruptedItemStaysTakenAndIsNotAFailure(t *testing.T) {
	p := newProject(t, nil)
	id := p.add(workflow.ReferenceItem, "https://example.com/a")
	ctx, cancel := context.WithCancel(t.Context())
	w := p.worker()
	w.Fetch = func(ctx context.Context, _ string) (webpage.Page, error) {
		cancel()
		return webpage.Page{}, ctx.Err()
	}
	if err := w.ProcessAll(ctx, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if got := p.item(id); got.Status != workflow.Processing || got.Error != "" || got.TakenBy == nil {
		t.Errorf("%s", got.Raw)
	}
}

func TestAWatchProcessesWhatComesAndEndsWithItsContext(t *testing.T) {
	p := newProject(t, map[string]string{"spec.md": specText})
	first := p.add(workflow.EvolveItem, "search")
	ctx, cancel := context.WithCancel(t.Context())
	shown := make(chan string)
	ended := make(chan error)
	go func() {
		ended <- p.worker().Watch(ctx, func(i workflow.Item) error { shown <- i.ID; return nil })
	}()
	next := func(want string) {
		t.Helper()
		select {
		case got := <-shown:
			if got != want {
				t.Errorf("shown %s, want %s", got, want)
			}
		case <-time.After(patience):
			t.Fatal("nothing is shown")
		}
	}
	next(first)
	next(p.add(workflow.FeatureItem, "basket"))
	next(p.add(workflow.EvolveItem, "basket"))
	cancel()
	select {
	case err := <-ended:
		if !errors.Is(err, context.Canceled) {
			t.Errorf("ended with %v", err)
		}
	case <-time.After(patience):
		t.Fatal("it does not end")
	}
}

func TestAWatchEndsWhenItsOutputIsClosed(t *testing.T) {
	p := newProject(t, nil)
	p.add(workflow.EvolveItem, "search")
	broken := errors.New("pipe broke")
	if err := p.worker().Watch(t.Context(), func(workflow.Item) error { return broken }); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
}

func TestAWatchReportsErrorsAndContinues(t *testing.T) {
	p := newProject(t, map[string]string{"config.json": "{"})
	id := p.add(workflow.EvolveItem, "search")
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	w := p.worker()
	w.Report = func(line string) {
		if !strings.Contains(line, "not JSON") {
			return
		}
		if err := os.Remove(filepath.Join(p.folder, "config.json")); err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Error(err)
		}
		p.add(workflow.FeatureItem, "the inbox changes")
	}
	err := w.Watch(ctx, func(i workflow.Item) error {
		if i.ID == id {
			cancel()
		}
		return nil
	})
	if !errors.Is(err, context.Canceled) || p.item(id).Status != workflow.Processed {
		t.Errorf("%v, %s", err, p.item(id).Raw)
	}
}
