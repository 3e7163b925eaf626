package runs

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"gaffer/coordinator"
	"gaffer/fleet"
	"gaffer/internal/api/protocol"
	"gaffer/internal/engine/runquery"
	"gaffer/internal/engine/store"
	"gaffer/internal/record/recorder"
	"gaffer/ledger"
	"gaffer/session"
)

// The default folders of a project for session documents and for ledger records. A session document
// describes the agents of a run, and a ledger record describes an attempt. Both contain paths of
// files below these folders.
const (
	sessionFolder = ".founder-mode/status"
	ledgerFolder  = "state"
)

// documentCache caches the session documents of the runs that clients requested last, because
// clients read the document of an active run again and again.
type documentCache struct {
	mu   sync.Mutex
	list []*cachedDocument // the most recently used is the last
}

type cachedDocument struct {
	mu  sync.Mutex
	run string
	*recorder.Preview
}

const maxCached = 16

// of returns the cache entry of a run. If there is none, it adds one with the result of the
// function newPreview. If there are then more than maxCached entries, it drops the least recently
// used one.
func (s *documentCache) of(run string, newPreview func() *recorder.Preview) *cachedDocument {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.IndexFunc(s.list, func(k *cachedDocument) bool { return k.run == run })
	if i < 0 {
		s.list = append(s.list, &cachedDocument{run: run, Preview: newPreview()})
		i = len(s.list) - 1
	}
	kept := s.list[i]
	s.list = append(slices.Delete(s.list, i, i+1), kept)
	s.list = s.list[max(0, len(s.list)-maxCached):]
	return kept
}

// documentReader answers the requests for the session documents, ledger records and reports of
// runs.
type documentReader struct {
	store store.Store
	runs  *visibleRuns
	query *runquery.Querier
	now   func() time.Time
	cache documentCache
}

// Document implements [server.Runs].
func (d *documentReader) Document(ctx context.Context, id string) ([]byte, error) {
	run, err := d.runs.get(ctx, id)
	if err != nil {
		return nil, err
	}
	k := d.cache.of(id, func() *recorder.Preview {
		return recorder.NewPreview(d.store, id, run.Project, session.New("", session.Options{LogPrefix: sessionFolder}))
	})
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.Document(ctx)
}

// Sessions implements [server.Runs].
func (d *documentReader) Sessions(ctx context.Context, q coordinator.RunQuery) (list []coordinator.Session, err error) {
	err = d.store.Read(ctx, func(r store.Reader) error {
		list = nil
		rows, err := d.query.Latest(r, q.Project, true, q.Limit)
		for _, row := range rows {
			list = append(list, coordinator.Session{ID: row.ID, Name: row.Name, Project: row.Project, Status: fleet.Status(row.Status)})
		}
		return err
	})
	return list, err
}

func (d *documentReader) ledger() *ledger.Store {
	return ledger.Open("", ledger.Options{Name: ledgerFolder, Now: d.now})
}

// Records implements [server.Runs]. It writes a run record for each attempt, and a result record
// for each attempt that has ended. There may be very many, so Records writes each run record
// immediately. The result records must follow after all run records, so Records keeps their JSON in
// memory until then.
func (d *documentReader) Records(ctx context.Context, id string, to io.Writer) error {
	run, err := d.runs.get(ctx, id)
	if err != nil {
		return err
	}
	var results bytes.Buffer
	n := 0
	out := func(w io.Writer, record any, first bool) error {
		text, err := json.Marshal(record)
		if !first && err == nil {
			_, err = io.WriteString(w, ",")
		}
		if err == nil {
			_, err = w.Write(text)
		}
		return err
	}
	if _, err := io.WriteString(to, `{"records":{"runs":[`); err != nil {
		return err
	}
	err = recorder.Records(ctx, d.store, id, run.Project, d.ledger(), func(p ledger.AttemptRecords) error {
		n++
		if p.Result == nil {
			return out(to, p.Run, n == 1)
		}
		return errors.Join(out(to, p.Run, n == 1), out(&results, p.Result, results.Len() == 0))
	})
	if err != nil {
		return err
	}
	_, err = io.WriteString(to, `],"results":[`+results.String()+"]}}\n")
	return err
}

// Report implements [server.Runs].
func (d *documentReader) Report(ctx context.Context, q coordinator.ReportQuery) (any, error) {
	since, err := ledger.ParseSince(q.Since, d.now())
	if err != nil {
		return nil, protocol.Invalid("since: %s", err)
	}
	costs := attemptCosts{}
	c := ledger.NewCount(ledger.Query{Since: since, Agents: q.Agent, Models: q.Model, Templates: q.Template, Cost: costs.of}, d.now())
	var runs []store.Run
	if err := d.store.Read(ctx, func(r store.Reader) (err error) {
		if q.Run != "" {
			run, err := d.runs.find(r, q.Run)
			runs = []store.Run{run}
			return err
		}
		runs, err = d.query.Latest(r, q.Project, true, noLimit)
		return err
	}); err != nil {
		return nil, err
	}
	slices.Reverse(runs)
	rows := latestRows{limit: q.Rows}
	for _, run := range runs {
		if err := d.countRun(ctx, c, run, costs, &rows); err != nil {
			return nil, err
		}
	}
	return withRows{c.Report(), rows.sorted()}, nil
}

// withRows is a report together with the latest attempts. The query says how many attempts to
// include.
type withRows struct {
	ledger.Report
	Rows []row `json:"raw_data,omitempty"`
}

// row is one attempt in a report, with the ids of its run and task.
type row struct {
	Run  string `json:"run"`
	Task string `json:"task"`
	ledger.Attempt
}

// latestRows keeps the attempts that started last. limit is the number of attempts to keep; 0 keeps
// none.
type latestRows struct {
	limit int
	list  []row
}

func (l *latestRows) add(r row) {
	if l.limit == 0 {
		return
	}
	l.list = append(l.list, r)
	if len(l.list) >= 2*l.limit {
		l.list = l.sorted()
	}
}

// sorted returns the kept attempts, the latest first.
func (l *latestRows) sorted() []row {
	slices.SortFunc(l.list, func(a, b row) int {
		return cmp.Or(strings.Compare(b.StartedAt, a.StartedAt), strings.Compare(a.Bead, b.Bead), b.Attempt.Attempt-a.Attempt.Attempt)
	})
	return l.list[:min(len(l.list), l.limit)]
}

const noLimit = 1 << 30

// attemptCosts contains the costs of the attempts at one task. It maps the number of an attempt to
// its cost in millionths of a dollar. It lacks attempts whose cost is unknown. countRun clears the
// map and fills it again for each task.
type attemptCosts map[int]int64

func (s attemptCosts) of(_ string, attempt int) (float64, bool) {
	micro, known := s[attempt]
	return float64(micro) / 1e6, known
}

// countRun adds the attempts of one run to the report c and to rows. It stores the costs of the
// attempts in costs, and c reads them with the function Cost of its [ledger.Query]. So the caller
// must have created c with a query whose Cost is costs.of.
func (d *documentReader) countRun(ctx context.Context, c *ledger.Count, run store.Run, costs attemptCosts, rows *latestRows) error {
	return d.store.Read(ctx, func(r store.Reader) error {
		tasks, err := r.Tasks(run.ID)
		if err != nil {
			return err
		}
		attempts, err := r.AttemptsOf(run.ID)
		if err != nil {
			return err
		}
		byTask := map[string][]store.Attempt{}
		for _, a := range attempts {
			byTask[a.Task] = append(byTask[a.Task], a)
		}
		for _, t := range tasks {
			pairs, err := recorder.RecordsOf(r, t, byTask[t.Task], run.Project, d.ledger())
			if err != nil || len(pairs) == 0 {
				if err != nil {
					return err
				}
				continue
			}
			clear(costs)
			for i, a := range byTask[t.Task] {
				if a.Spent.MicroUSD > 0 {
					costs[pairs[i].Run.Attempt] = a.Spent.MicroUSD
				}
			}
			counted, err := c.Add(pairs)
			if err != nil {
				return err
			}
			for _, a := range counted {
				rows.add(row{run.ID, t.Task, a})
			}
		}
		return ctx.Err()
	})
}
