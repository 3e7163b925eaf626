package viewers_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"gaffer/internal/api/viewers"
	"gaffer/internal/testkit/testenv"
	"gaffer/workflow"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// memory is a registry of projects in memory.
type memory struct {
	mu  sync.Mutex
	all []viewers.Entry
}

func (m *memory) Get(context.Context) ([]viewers.Entry, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.all), nil
}

func (m *memory) Put(_ context.Context, change func([]viewers.Entry) ([]viewers.Entry, error)) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	all, err := change(slices.Clone(m.all))
	if err == nil {
		m.all = all
	}
	return err
}

// world is a viewer whose projects are folders on disk.
type world struct {
	*viewers.Viewer
	t     *testing.T
	base  string
	rows  *memory
	notes chan string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, base: base, rows: &memory{}, notes: make(chan string, 100)}
	w.Viewer = viewers.New(viewers.Options{Home: w.project("home"), Registry: w.rows, Notice: func(text string) {
		select {
		case w.notes <- text:
		default:
		}
	}})
	t.Cleanup(w.Close)
	return w
}

// project creates a folder that counts as a project, and returns its path.
func (w *world) project(name string) string {
	w.t.Helper()
	root := filepath.Join(w.base, name)
	if err := os.MkdirAll(filepath.Join(root, ".fctry"), 0o755); err != nil {
		w.t.Fatal(err)
	}
	return root
}

func (w *world) register(name string) string {
	w.t.Helper()
	root := w.project(name)
	if _, err := w.Register(w.t.Context(), root); err != nil {
		w.t.Fatal(err)
	}
	return root
}

// write writes a document of a project as another program would. It sets an older modification
// time.
func (w *world) write(root, name, text string) {
	w.t.Helper()
	path := filepath.Join(root, ".fctry", name)
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		w.t.Fatal(err)
	}
	long := time.Now().Add(-time.Hour)
	if err := os.Chtimes(path, long, long); err != nil {
		w.t.Fatal(err)
	}
}

// noted waits until the viewer has logged a text that contains word.
func (w *world) noted(word string) {
	w.t.Helper()
	deadline := time.After(testenv.Patience)
	for {
		select {
		case text := <-w.notes:
			if strings.Contains(text, word) {
				return
			}
		case <-deadline:
			w.t.Fatalf("no notice of %s", word)
		}
	}
}

func (w *world) emit(root, text string) {
	w.t.Helper()
	if _, err := w.AddEvent(w.t.Context(), root, []byte(text)); err != nil {
		w.t.Fatal(err)
	}
}

// code returns the code of an error.
func code(err error) string {
	if e, ok := err.(interface{ Code() string }); ok {
		return e.Code()
	}
	return fmt.Sprint(err)
}

// reader follows a project and decodes the messages that it gets.
type reader struct {
	t   *testing.T
	of  *viewers.Follower
	at  int64
	had []map[string]any // messages that came as part of the history
}

func (w *world) follow(ref string) *reader {
	w.t.Helper()
	of, err := w.Follow(w.t.Context(), ref)
	if err != nil {
		w.t.Fatal(err)
	}
	data, latest, err := of.History(0)
	if err != nil {
		w.t.Fatal(err)
	}
	var history struct{ Events []map[string]any }
	if err := json.Unmarshal(data, &history); err != nil {
		w.t.Fatal(err)
	}
	return &reader{w.t, of, latest, history.Events}
}

// until reads messages up to the first for which fits returns true, and returns them all.
func (r *reader) until(what string, fits func(m map[string]any) bool) []map[string]any {
	r.t.Helper()
	all := r.had
	r.had = nil
	deadline := time.After(testenv.Patience)
	for {
		next := r.of.After(r.at)
		if next.Behind {
			r.t.Fatalf("behind, before %s", what)
		}
		r.at = next.Next
		for _, data := range next.Messages {
			var m map[string]any
			if err := json.Unmarshal(data, &m); err != nil {
				r.t.Fatalf("%s: %v", data, err)
			}
			all = append(all, m)
		}
		if slices.ContainsFunc(all, fits) {
			return all
		}
		select {
		case <-next.More:
		case <-deadline:
			r.t.Fatalf("never: %s, only %v", what, all)
		}
	}
}

func (r *reader) first() {
	r.t.Helper()
	got := map[any]bool{}
	r.until("the first look", func(m map[string]any) bool {
		got[m["type"]] = true
		return got["viewer-state"] && got["inbox-update"]
	})
}

func kinds(all []map[string]any) (list []string) {
	for _, m := range all {
		if event, ok := m["event"].(map[string]any); ok {
			list = append(list, fmt.Sprint(event["kind"]))
		}
	}
	return list
}

func event(kind string) func(map[string]any) bool {
	return func(m map[string]any) bool { return slices.Contains(kinds([]map[string]any{m}), kind) }
}

func TestOnlyFoldersThatAreMarkedAsProjectsCanBeRegistered(t *testing.T) {
	w := newWorld(t)
	bare := filepath.Join(w.base, "bare")
	ours := filepath.Join(w.base, "ours")
	file := filepath.Join(w.base, "file")
	for _, dir := range []string{bare, ours} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range []string{file, filepath.Join(ours, "gaffer.yaml")} {
		if err := os.WriteFile(f, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	var text string
	for _, path := range []string{
		"", ".", "relative", "../x", "/", bare, file, w.base + "/none", "/etc/passwd", w.base + "/home/../bare", w.base + "/../" + filepath.Base(w.base) + "/home",
		"a\x00b", w.base + "/home\n", strings.Repeat("/x", 3000), "/proc/self/root", "\xff",
	} {
		_, err := w.Register(t.Context(), path)
		if code(err) != "no_project" {
			t.Errorf("%q: %v", path, err)
			continue
		}
		_, after, _ := strings.Cut(err.Error(), " is no project")
		if text != "" && text != after {
			t.Errorf("%q tells more: %v", path, err)
		}
		text = after
	}
	if len(w.rows.all) != 0 {
		t.Errorf("registered: %v", w.rows.all)
	}
	if p, err := w.Register(t.Context(), ours+"/"); err != nil || p.Path != ours || !p.Active || p.Name != "ours" {
		t.Errorf("%+v, %v", p, err)
	}
}

func TestAProjectIsFoundByPathNameAndWhatItWasCalled(t *testing.T) {
	w := newWorld(t)
	a, b := w.register("x/same"), w.register("y/same")
	link := filepath.Join(w.base, "link")
	if err := os.Symlink(w.project("real"), link); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Register(t.Context(), link); err != nil {
		t.Fatal(err)
	}
	for ref, want := range map[string]string{
		"": "real", "home": "home", "real": "real", link: "real", a: "same", b + "/": "same", filepath.Dir(a) + "/../x/same": "same",
	} {
		if log, err := w.BuildLog(t.Context(), ref); err != nil || log.Project != want {
			t.Errorf("%q: %q, %v", ref, log.Project, err)
		}
	}
	for ref, want := range map[string]string{
		"same": "ambiguous_project", "none": "project_not_found", "/etc": "project_not_found", "../home": "project_not_found", w.base: "project_not_found",
	} {
		if _, err := w.BuildLog(t.Context(), ref); code(err) != want {
			t.Errorf("%q: %v", ref, err)
		}
	}
}

func TestALinkThatIsRegisteredAgainMeansTheProjectToWhichItLeadsNow(t *testing.T) {
	w := newWorld(t)
	old, now := w.project("old"), w.project("now")
	link := filepath.Join(w.base, "current")
	for _, target := range []string{old, now} {
		_ = os.Remove(link) // ignore the error: the link does not exist in the first round
		if err := os.Symlink(target, link); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Register(t.Context(), link); err != nil {
			t.Fatal(err)
		}
	}
	w.emit(link, `{"kind":"chunk-started"}`)
	for root, want := range map[string]int{old: 0, now: 1} {
		if log, err := w.BuildLog(t.Context(), root); err != nil || log.EventCount != want {
			t.Errorf("%s has %d events, %v", root, log.EventCount, err)
		}
	}
}

func TestAProjectIsMeantByItsPathThoughAnotherWasOnceCalledThat(t *testing.T) {
	w := newWorld(t)
	path := filepath.Join(w.base, "place")
	if err := os.Symlink(w.project("old"), path); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Register(t.Context(), path); err != nil {
		t.Fatal(err)
	}
	called := w.rows.all[0].As
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	w.register("place")
	w.rows.all[0].As = called // an earlier version stored the registered path this way
	if log, err := w.BuildLog(t.Context(), path); err != nil || log.Project != "place" {
		t.Errorf("%q, %v", log.Project, err)
	}
}

func TestAChangeSaysWhichProjectItIsAboutIfThereAreSeveral(t *testing.T) {
	w := newWorld(t)
	if _, err := w.AddItem(t.Context(), "", "evolve", "alone"); err != nil {
		t.Fatal(err)
	}
	other := w.register("other")
	if _, err := w.AddItem(t.Context(), "", "evolve", "which?"); code(err) != "project_needed" {
		t.Errorf("%v", err)
	}
	if _, err := w.AddEvent(t.Context(), "", []byte(`{"kind":"chunk-started"}`)); code(err) != "project_needed" {
		t.Errorf("%v", err)
	}
	w.emit(other, `{"kind":"chunk-started"}`)
	home, err := w.BuildLog(t.Context(), "home")
	if err != nil || home.EventCount != 0 {
		t.Errorf("%+v, %v", home, err)
	}
	if log, err := w.BuildLog(t.Context(), "other"); err != nil || log.EventCount != 1 || log.Events[0].Project != other {
		t.Errorf("%+v, %v", log, err)
	}
}

func TestAProjectThatIsGoneIsNotListedAndNotMadeAgain(t *testing.T) {
	w := newWorld(t)
	root := w.register("other")
	if err := os.RemoveAll(root); err != nil {
		t.Fatal(err)
	}
	if list, err := w.Projects(t.Context()); err != nil || len(list) != 1 || !list[0].Active || list[0].Name != "home" {
		t.Errorf("%+v, %v", list, err)
	}
	if _, err := w.AddItem(t.Context(), root, "evolve", "x"); code(err) != "project_not_found" {
		t.Errorf("%v", err)
	}
	if _, err := os.Stat(root); !os.IsNotExist(err) {
		t.Errorf("%v", err)
	}
}

func TestProjectsThatAreGoneMakeRoomForOthersAndNoneElseDoes(t *testing.T) {
	w := newWorld(t)
	var roots []string
	for i := range 100 {
		roots = append(roots, w.register(fmt.Sprint("p", i)))
	}
	if _, err := w.Register(t.Context(), w.project("more")); code(err) != "too_many_projects" {
		t.Errorf("%v", err)
	}
	for _, root := range []string{roots[30], roots[20]} {
		if err := os.RemoveAll(root); err != nil {
			t.Fatal(err)
		}
	}
	w.register("more")
	kept := func(root string) bool {
		return slices.ContainsFunc(w.rows.all, func(e viewers.Entry) bool { return e.Path == root })
	}
	if kept(roots[20]) || !kept(roots[30]) || len(w.rows.all) != 100 {
		t.Errorf("%d are kept, the older one that is gone: %v", len(w.rows.all), kept(roots[20]))
	}
	w.register("still more")
	if _, err := w.Register(t.Context(), w.project("too many")); code(err) != "too_many_projects" {
		t.Errorf("%v", err)
	}
}

func TestAnEventThatSaysWhenItWasIsStoredOnce(t *testing.T) {
	w := newWorld(t)
	for range 3 {
		w.emit("home", `{"kind":"chunk-started","chunk":"A","timestamp":"2026-02-17T14:30:00Z"}`)
		w.emit("home", `{"timestamp":"2026-02-17T14:30:00Z","chunk":"A","kind":"chunk-started"}`)
		w.emit("home", `{"kind":"another","timestamp":null}`) // without a timestamp, an equal event is a new one
	}
	log, err := w.BuildLog(t.Context(), "home")
	if err != nil || log.EventCount != 4 {
		t.Errorf("%+v, %v", log, err)
	}
}

func TestEventsOfOneMomentThatDifferInALongNumberAreBothKept(t *testing.T) {
	w := newWorld(t)
	for _, call := range []string{"9007199254740992", "9007199254740993"} {
		w.emit("home", `{"kind":"tool-used","timestamp":"2026-02-17T14:30:00Z","callId":`+call+`}`)
	}
	if log, err := w.BuildLog(t.Context(), "home"); err != nil || log.EventCount != 2 {
		t.Errorf("%+v, %v", log, err)
	}
}

func TestEventsThatCannotBeMeantAreRefused(t *testing.T) {
	w := newWorld(t)
	for body, want := range map[string]string{
		``: "bad_json", `[]`: "bad_json", `null`: "bad_json", `{"kind":`: "bad_json", `{}`: "invalid_request", `{"kind":7}`: "invalid_request",
		`{"kind":"a b"}`: "invalid_request", `{"kind":"chunk-started","attempt":"x"}`: "invalid_request",
		`{"kind":"x","a":1,"a":2}`: "invalid_request", `{"kind":"x","big":"` + strings.Repeat("x", 70_000) + `"}`: "invalid_request",
		strings.Repeat(`{"kind":`, 2000): "bad_json",
	} {
		if _, err := w.AddEvent(t.Context(), "home", []byte(body)); code(err) != want {
			t.Errorf("%.40s: %v, want %s", body, err, want)
		}
	}
}

func TestASpecThatIsWrittenRightAfterAClientJoinedIsReported(t *testing.T) {
	w := newWorld(t)
	root := w.project("home")
	r := w.follow("home")
	defer r.of.Leave()
	w.write(root, "spec.md", "# A\n")
	r.until("the spec", func(m map[string]any) bool { return m["type"] == "spec-update" })
}

func TestFollowersGetEachEventOfOtherProgramsOnce(t *testing.T) {
	w := newWorld(t)
	root := w.project("home")
	w.write(root, "state.json", `{"buildEvents":[{"kind":"old"}]}`)
	w.write(root, "spec.md", "# A\n")
	r := w.follow("home")
	defer r.of.Leave()
	r.first()

	w.emit("home", `{"kind":"one"}`)
	all := r.until("one", event("one"))
	if got := kinds(all); !slices.Equal(got, []string{"one"}) {
		t.Errorf("%v", got)
	}
	// Another program rewrites the whole document and drops the oldest events.
	state, err := os.ReadFile(filepath.Join(root, ".fctry/state.json"))
	if err != nil {
		t.Fatal(err)
	}
	var doc map[string]any
	if err := json.Unmarshal(state, &doc); err != nil {
		t.Fatal(err)
	}
	feed := doc["buildEvents"].([]any)
	doc["buildEvents"] = append(feed[1:], map[string]any{"kind": "two", "n": 1.0})
	state, _ = json.MarshalIndent(doc, "", "      ")
	w.write(root, "state.json", string(state))
	if got := kinds(r.until("two", event("two"))); !slices.Equal(got, []string{"two"}) {
		t.Errorf("%v", got)
	}
	w.write(root, "inbox.json", `[{"id":"a","status":"incorporated","more":1},7]`)
	all = r.until("the inbox", func(m map[string]any) bool { return m["type"] == "inbox-update" })
	if items, _ := all[len(all)-1]["items"].([]any); len(items) != 1 {
		t.Errorf("%v", all)
	}
	w.write(root, "spec.md", "# B <b>\n")
	all = r.until("the spec", func(m map[string]any) bool { return m["type"] == "spec-update" })
	if last := all[len(all)-1]; last["content"] != "# B <b>\n" || last["_project"] != root || last["_seq"] == nil {
		t.Errorf("%v", last)
	}
}

func TestAnEventThatAProgramWithoutALockLosesDoesNotMakeTheOthersNews(t *testing.T) {
	w := newWorld(t)
	root := w.project("home")
	w.write(root, "state.json", feedOf(long("one", 0), long("two", 0), long("three", 0)))
	r := w.follow("home")
	defer r.of.Leave()
	r.first()
	w.write(root, "state.json", feedOf(long("one", 0), long("two", 0), long("four", 0))) // another program writes the file back; it had read only two of the events
	if got := kinds(r.until("four", event("four"))); !slices.Equal(got, []string{"four"}) {
		t.Errorf("told %v", got)
	}
}

func TestEventsAreSentOnceWhileTheFeedMovesToTheArchive(t *testing.T) {
	w := newWorld(t)
	r := w.follow("home")
	defer r.of.Leave()
	r.first()
	const events = 110
	var want []string
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range events {
			w.emit("home", `{"kind":"same","timestamp":null}`)
		}
		w.emit("home", `{"kind":"last"}`)
	}()
	got := kinds(r.until("the last", event("last")))
	<-done
	for range events {
		want = append(want, "same")
	}
	if !slices.Equal(got, append(want, "last")) {
		t.Errorf("%d events were told", len(got))
	}
}

func TestEventsThatAreArchivedBetweenTwoReadsAreSent(t *testing.T) {
	w := newWorld(t)
	root := w.project("home")
	w.write(root, "state.json", feedOf(long("before", 0)))
	r := w.follow("home")
	defer r.of.Leave()
	r.first()
	archived, want := []string{long("before", 0)}, []string(nil)
	for i := range 49 {
		archived = append(archived, long(fmt.Sprint("archived ", i), 0))
		want = append(want, fmt.Sprint("archived ", i))
	}
	if err := os.Mkdir(filepath.Join(root, ".fctry", workflow.ArchiveFolder), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"000000000-1.json", "000000000-2.json"} { // of two processes that moved the same events
		w.write(root, filepath.Join(workflow.ArchiveFolder, name), "["+strings.Join(archived, ",")+"]")
	}
	w.write(root, filepath.Join(workflow.ArchiveFolder, "notes.txt"), "of a user")
	w.write(root, "state.json", fmt.Sprintf(`{"buildEventsArchived":50,"buildEvents":[%s]}`, long("last", 0)))
	if got := kinds(r.until("the last", event("last"))); !slices.Equal(got, append(want, "last")) {
		t.Errorf("told %d events: %v", len(got), got)
	}
}

func TestHostileStatesAreReadWithoutFalseValues(t *testing.T) {
	w := newWorld(t)
	root := w.project("home")
	ctx := t.Context()
	for _, text := range []string{"null", "[]", "{}", ` `, `{"buildRun":`, `[1]`, `"x"`, `7`, strings.Repeat("[", 5000)} {
		w.write(root, "state.json", text)
		holds := !slices.Contains([]string{"null", "[]", "{}"}, text)
		for what, ask := range map[string]func() error{
			"status":    func() error { _, err := w.BuildStatus(ctx, ""); return err },
			"log":       func() error { _, err := w.BuildLog(ctx, ""); return err },
			"readiness": func() error { _, err := w.Readiness(ctx, ""); return err },
		} {
			if err := ask(); holds != (err != nil) || holds && code(err) != "invalid_document" {
				t.Errorf("%s of %.20q: %v", what, text, err)
			}
		}
		if got, _ := os.ReadFile(filepath.Join(root, ".fctry/state.json")); string(got) != text {
			t.Errorf("%.20q became %.20q", text, got)
		}
	}
	w.write(root, "state.json", `{"type":"evil","_seq":-1,"_project":"/etc","_seq":-2,"a":1,"a":"`+"\xff<script>"+`","workflowStep":[{}],"completedSteps":7,"buildEvents":{"x":1},"sectionReadiness":{"#a":"draft","#b":{"readiness":"aligned","notes":"n"},"#c":7},"readinessSummary":{"draft":"2","aligned":{"count":3},"x":null}}`)
	r := w.follow("home")
	defer r.of.Leave()
	all := r.until("the state", func(m map[string]any) bool { return m["type"] == "viewer-state" })
	i := slices.IndexFunc(all, func(m map[string]any) bool { return m["type"] == "viewer-state" })
	if m := all[i]; m["_project"] != root || m["_seq"].(float64) < 0 || m["a"] != "\uFFFD<script>" {
		t.Errorf("%v", m)
	}
	data, err := r.of.State()
	if err != nil || strings.ContainsAny(string(data), "<>") {
		t.Errorf("%s, %v", data, err)
	}
	if s, err := w.BuildStatus(ctx, ""); err != nil || string(s.CompletedSteps) != "[]" || string(s.BuildEvents) != "[]" || string(s.BuildRun) != "null" {
		t.Errorf("%+v, %v", s, err)
	}
	ready, err := w.Readiness(ctx, "")
	if err != nil || len(ready.Sections) != 2 || ready.Summary["draft"] != 2 || ready.Summary["aligned"] != 3 {
		t.Errorf("%+v, %v", ready, err)
	}
	// A half-written document must not be reported; the complete one must.
	w.write(root, "state.json", `{"buildEvents":[{"kind":"a"`)
	w.write(root, "state.json", `{"buildEvents":[{"kind":"a"}]}`)
	if got := kinds(r.until("a", event("a"))); !slices.Equal(got, []string{"a"}) {
		t.Errorf("%v", got)
	}
}

func TestReadinessIsTheSpecsOwnWhereTheStateSaysNothing(t *testing.T) {
	w := newWorld(t)
	w.write(w.project("home"), "spec.md", "# P\n## 1 Flow {#flow readiness=draft}\n## 2 Rules {#rules readiness=aligned}\n## 3 More\n")
	r, err := w.Readiness(t.Context(), "")
	if err != nil || len(r.Sections) != 2 || r.Sections[0].Alias != "#flow" || r.Summary["aligned"] != 1 {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestAReconnectingClientGetsWhatItMissedOrAnErrorIfThatIsGone(t *testing.T) {
	w := newWorld(t)
	r := w.follow("home")
	r.first()
	w.emit("home", `{"kind":"one"}`)
	r.until("one", event("one"))
	missed := r.at
	r.of.Leave()
	// A change without followers is found when the next follower joins.
	w.emit("home", `{"kind":"two"}`)
	again := w.follow("home")
	defer again.of.Leave()
	again.until("two", event("two"))
	data, latest, err := again.of.History(missed)
	if err != nil || latest <= missed {
		t.Fatal(latest, err)
	}
	var history struct {
		Type      string           `json:"type"`
		Events    []map[string]any `json:"events"`
		LatestSeq int64            `json:"latestSeq"`
		Truncated bool             `json:"truncated"`
		Project   string           `json:"_project"`
	}
	if err := json.Unmarshal(data, &history); err != nil {
		t.Fatal(err)
	}
	if got := kinds(history.Events); !slices.Equal(got, []string{"two"}) || history.LatestSeq != latest || history.Truncated || history.Type != "event-history" || history.Project != w.project("home") {
		t.Errorf("%s", data)
	}
	last := missed
	for _, e := range history.Events {
		if seq := int64(e["_seq"].(float64)); seq <= last {
			t.Errorf("%d after %d", seq, last)
		} else {
			last = seq
		}
	}
	for _, other := range []int64{1, latest + 1000} { // numbers that this server has not used
		data, _, err := again.of.History(other)
		if err != nil || !strings.Contains(string(data), `"truncated":true`) || !strings.Contains(string(data), `"one"`) {
			t.Errorf("%d: %s, %v", other, data, err)
		}
	}
}

func TestTheHistoryIsBoundedAndAClientThatIsBehindItIsNotified(t *testing.T) {
	testenv.Integration(t)
	w := newWorld(t)
	r := w.follow("home")
	defer r.of.Leave()
	r.first()
	slow := r.at
	for i := range 20 {
		kind := fmt.Sprintf("k%d", i)
		w.write(w.project("home"), "state.json", feedOf(long(kind, 300_000)))
		r.until("it", event(kind))
	}
	if !r.of.After(slow).Behind || r.of.After(r.at).Behind {
		t.Error("nobody is behind, or everybody")
	}
	data, _, err := r.of.History(0)
	if err != nil || len(data) > 6<<20 {
		t.Errorf("%d bytes, %v", len(data), err)
	}
}

// feedOf returns a workflow state with these events.
func feedOf(events ...string) string { return `{"buildEvents":[` + strings.Join(events, ",") + `]}` }

// long returns an event with a summary of n bytes.
func long(kind string, n int) string {
	return fmt.Sprintf(`{"kind":%q,"summary":%q}`, kind, strings.Repeat("x", n))
}

func TestALongEventDoesNotCutOffWhoIsUpToDate(t *testing.T) {
	w := newWorld(t)
	r := w.follow("home")
	defer r.of.Leave()
	r.first()
	w.write(w.project("home"), "state.json", feedOf(long("short", 1), long("long", 1_500_000)))
	if got := kinds(r.until("the long one", event("long"))); !slices.Equal(got, []string{"short", "long"}) {
		t.Errorf("told %v", got)
	}
}

func TestANewClientDoesNotGetTheOldVersionOfADocumentThatBecameTooLong(t *testing.T) {
	w := newWorld(t)
	root := w.project("home")
	w.write(root, "inbox.json", `[{"id":"a"}]`)
	r := w.follow("home")
	defer r.of.Leave()
	r.first()
	w.write(root, "inbox.json", fmt.Sprintf(`[{"id":"b","content":%q}]`, strings.Repeat("x", 3_000_000)))
	w.noted("inbox-update")
	list, _ := r.of.Latest()
	for _, m := range list {
		if strings.Contains(string(m), `"inbox-update"`) {
			t.Errorf("told %s", m)
		}
	}
	w.write(root, "inbox.json", `[{"id":"c"}]`)
	r.until("the inbox as it is", func(m map[string]any) bool { return strings.Contains(fmt.Sprint(m["items"]), "id:c") })
}

func TestNothingIsWatchedWithoutFollowersOrAfterClose(t *testing.T) {
	w := newWorld(t)
	for range 20 { // follow and leave repeatedly; goleak finds leaked goroutines
		r := w.follow("home")
		r.of.Leave()
	}
	r := w.follow("home")
	w.Close()
	if _, err := w.Follow(t.Context(), "home"); err == nil {
		t.Error("a closed viewer watches")
	}
	r.of.Leave()
}

func TestThePortFileIsReplacedAndRemovedOnlyIfItIsUnchanged(t *testing.T) {
	file := viewers.PortFile(t.TempDir())
	if !strings.HasSuffix(file, "/.fctry/viewer.port.json") {
		t.Error(file)
	}
	first, err := viewers.WritePortFile(file, viewers.Port{Port: 3850, PID: 7, URL: "http://localhost:3850"})
	if err != nil {
		t.Fatal(err)
	}
	if got, _ := os.ReadFile(file); string(got) != `{"port":3850,"pid":7,"url":"http://localhost:3850"}`+"\n" {
		t.Errorf("%s", got)
	}
	pid := filepath.Join(filepath.Dir(file), "viewer.pid")
	if got, _ := os.ReadFile(pid); string(got) != "7" {
		t.Errorf("viewer.pid has %q", got)
	}
	second, err := viewers.WritePortFile(file, viewers.Port{Port: 3851, PID: 8, URL: "u"})
	if err != nil {
		t.Fatal(err)
	}
	if err := first(); err != nil {
		t.Error(err)
	}
	if got, _ := os.ReadFile(file); !strings.Contains(string(got), "3851") {
		t.Errorf("another's file was removed: %q", got)
	}
	if got, _ := os.ReadFile(pid); string(got) != "8" {
		t.Errorf("after another one has begun viewer.pid has %q", got)
	}
	if err := second(); err != nil {
		t.Error(err)
	}
	for _, name := range []string{file, pid} {
		if _, err := os.Stat(name); !os.IsNotExist(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := second(); err != nil {
		t.Error(err)
	}
}
