package recorder_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"gaffer/internal/engine"
	"gaffer/internal/engine/store"
	"gaffer/internal/plan"
	"gaffer/internal/record/recorder"
	"gaffer/ledger"
	"gaffer/session"
)

func (p *project) sheet(s store.Store) *recorder.Preview {
	return recorder.NewPreview(s, runID, "/home/sam/shop", session.New("", session.Options{LogPrefix: ".founder-mode/status"}))
}

// says fails unless the preview equals the document that the recorder writes.
func (p *project) says(s *recorder.Preview, when string) {
	p.t.Helper()
	text, err := s.Document(context.Background())
	must(p.t, err)
	if diff := cmp.Diff(p.files()[statusName], string(text)); diff != "" {
		p.t.Errorf("%s: (-written +rendered)\n%s", when, diff)
	}
}

func TestARenderedDocumentIsTheOneThatIsWritten(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, _ string, tell story) {
		w, p := newWorld(t), newProject(t)
		lasting := p.sheet(w.store)
		compare := func(moment string) {
			p.flush(w.store)
			p.says(lasting, moment)
			p.says(p.sheet(w.store), moment+", asked for the first time")
		}
		tell(w, compare)
		compare("the end")
		compare("asked again")
	})
}

// counted is a store that counts the events that are read from it.
type counted struct {
	store.Store
	events *int
}

func (c counted) Read(ctx context.Context, look func(store.Reader) error) error {
	return c.Store.Read(ctx, func(r store.Reader) error { return look(counting{r, c.events}) })
}

type counting struct {
	store.Reader
	events *int
}

func (c counting) Events(after int64, limit int) ([]store.Event, error) {
	list, err := c.Reader.Events(after, limit)
	*c.events += len(list)
	return list, err
}

func TestADocumentOfLongAgoDoesNotReadWhatCameAfter(t *testing.T) {
	t.Parallel()
	w := told(t, threeWaves)
	for range 3000 {
		_, err := w.Submit(context.Background(), submission("later"))
		w.must(err)
	}
	read := 0
	s := newProject(t).sheet(counted{w.store, &read})
	for range 3 {
		_, err := s.Document(context.Background())
		must(t, err)
	}
	if read > 1500 {
		t.Errorf("%d of %d events were read", read, len(w.events()))
	}
}

// recorded returns the records that Records returns for the world's run, by file name.
func recorded(t *testing.T, w *world, l *ledger.Store) map[string]any {
	all := map[string]any{}
	must(t, recorder.Records(context.Background(), w.store, runID, "/home/sam/shop", l, func(p ledger.AttemptRecords) error {
		all[name("runs", p.Run.Bead, p.Run.Attempt)] = tree(t, p.Run)
		if p.Result != nil {
			all[name("results", p.Run.Bead, p.Run.Attempt)] = tree(t, p.Result)
		}
		return nil
	}))
	return all
}

func name(kind, bead string, attempt int) string {
	return kind + " " + bead + " " + string(rune('0'+attempt))
}

func tree(t *testing.T, record any) (v any) {
	t.Helper()
	text, err := json.Marshal(record)
	must(t, err)
	must(t, json.Unmarshal(text, &v))
	return v
}

func TestRenderedRecordsAreThoseThatAreWritten(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, _ string, tell story) {
		w, p := told(t, tell), newProject(t)
		p.flush(w.store)
		want := map[string]any{}
		for _, kind := range []string{"runs", "results"} {
			entries, err := os.ReadDir(filepath.Join(p.dir, "state", kind))
			if err != nil {
				continue // the run has no records
			}
			for _, e := range entries {
				text, err := os.ReadFile(filepath.Join(p.dir, "state", kind, e.Name()))
				must(t, err)
				if !json.Valid(text) {
					continue // not a record but a lock file
				}
				var r struct {
					Bead    string
					Attempt int
				}
				must(t, json.Unmarshal(text, &r))
				want[name(kind, r.Bead, r.Attempt)] = tree(t, json.RawMessage(bytes.Clone(text)))
			}
		}
		l := ledger.Open("", ledger.Options{Name: "state"})
		if diff := cmp.Diff(want, recorded(t, w, l)); diff != "" {
			t.Errorf("(-written +rendered)\n%s", diff)
		}
	})
}

func TestAReportOfRowsIsThatOfTheRecords(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, _ string, tell story) {
		w, p := told(t, tell), newProject(t)
		p.flush(w.store)
		want, err := p.ledger.Report(context.Background(), ledger.Query{}, func(ledger.Attempt) error { return nil })
		must(t, err)
		count := ledger.NewCount(ledger.Query{}, time.Date(2026, 2, 1, 12, 30, 0, 0, time.UTC))
		must(t, w.store.Read(context.Background(), func(r store.Reader) error {
			tasks, err := r.Tasks(runID)
			must(t, err)
			for _, row := range tasks {
				attempts, err := r.Attempts(row.TaskKey)
				must(t, err)
				pairs, err := recorder.RecordsOf(r, row, attempts, "/home/sam/shop", p.ledger)
				must(t, err)
				_, err = count.Add(pairs)
				must(t, err)
			}
			return nil
		}))
		got := count.Report()
		if diff := cmp.Diff(tree(t, want), tree(t, got)); diff != "" {
			t.Errorf("(-records +rows)\n%s", diff)
		}
	})
}

func submission(id string) (s engine.Submission) {
	s.Plan = plan.Plan{Name: id, Tasks: []plan.Task{task(id, 1)}}
	return s
}
