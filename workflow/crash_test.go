package workflow_test

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"gaffer/statefile"
	"gaffer/statefile/host"
	"gaffer/statefile/host/hosttest"
	"gaffer/statefile/jsontree"
	"gaffer/workflow"
)

const crashRoot = "/project/.fctry"

// crashes runs work once for each step, each time on a new machine that crashes at that step: the
// process dies, or the power fails. Then verify checks the result from another process, and again
// after one more power cut.
func crashes(t *testing.T, files map[string]string, work func(*workflow.Store) error, verify func(h host.Host, done bool) error) {
	t.Helper()
	for seed := range uint64(8) {
		for _, power := range []bool{false, true} {
			for step, reached := 1, true; reached && !t.Failed(); step++ {
				synctest.Test(t, func(t *testing.T) {
					m := hosttest.New(seed, hosttest.Fault{})
					p := m.Process()
					if err := statefile.MkdirAll(p, filepath.Dir(crashRoot)); err != nil {
						t.Fatal(err)
					}
					for name, content := range files {
						put(t, p, name, content)
					}
					at := m.Steps() + step
					m.SetFault(hosttest.Fault{At: at, Power: power})
					err := work(workflow.Open(crashRoot, workflow.Options{Host: p}))
					reached = m.Steps() >= at
					m.SetFault(hosttest.Fault{})
					for range 2 {
						if problem := verify(m.Process(), err == nil); problem != nil {
							t.Fatalf("power %t, seed %d, %s: %v", power, seed, m.FaultStep(), problem)
						}
						m.PowerCut()
					}
				})
			}
		}
	}
}

func put(t *testing.T, h host.Host, name, content string) {
	t.Helper()
	if err := statefile.MkdirAll(h, crashRoot); err != nil {
		t.Fatal(err)
	}
	if err := statefile.WriteNew(h, filepath.Join(crashRoot, name), []byte(content), 0o666); err != nil {
		t.Fatal(err)
	}
}

func TestAnEventIsStoredOnceDespiteACrash(t *testing.T) {
	events := make([]string, workflow.FeedCap)
	for i := range events {
		events[i] = fmt.Sprintf(`{"kind": "tick", "n": %d}`, i)
	}
	full := `{"buildEvents": [` + strings.Join(events, ", ") + "]}"
	emit := func(s *workflow.Store, n int) error {
		_, err := s.Emit(context.Background(), workflow.Draft{Kind: "tick", Fields: []workflow.Field{{Name: "n", Value: n}}})
		return err
	}
	crashes(t, map[string]string{"state.json": full},
		func(s *workflow.Store) error { return emit(s, workflow.FeedCap) },
		func(h host.Host, done bool) error {
			if err := emit(workflow.Open(crashRoot, workflow.Options{Host: h}), -1); err != nil {
				return err
			}
			seen, err := archivedAndFeed(h)
			if err != nil {
				return err
			}
			for n := range workflow.FeedCap {
				if seen[int64(n)] != 1 {
					return fmt.Errorf("event %d is there %d times", n, seen[int64(n)])
				}
			}
			if n := seen[workflow.FeedCap]; n > 1 || done && n != 1 {
				return fmt.Errorf("the event is there %d times, done %t", n, done)
			}
			return nil
		})
}

// archivedAndFeed returns how often each event occurs in the archive and the feed together, by the
// number in the event.
func archivedAndFeed(h host.Host) (map[int64]int, error) {
	seen := map[int64]int{}
	count := func(v jsontree.Value) {
		for _, e := range v.Items() {
			n, _ := e.Get("n").Int()
			seen[n]++
		}
	}
	folder := filepath.Join(crashRoot, workflow.ArchiveFolder)
	entries, err := h.ReadDir("look", folder)
	if err != nil {
		return nil, err
	}
	for _, entry := range entries {
		if strings.HasPrefix(entry.Name(), ".") {
			continue // skip the temporary file of a process that died
		}
		data, err := statefile.ReadBytes(h, filepath.Join(folder, entry.Name()))
		if err != nil {
			return nil, err
		}
		doc, err := jsontree.Parse(data)
		if err != nil {
			return nil, err
		}
		count(doc.Value())
	}
	state, err := workflow.Open(crashRoot, workflow.Options{Host: h}).Load()
	count(state.Get("buildEvents"))
	return seen, err
}

func TestACrashLeavesAnItemAddedOrNotAndTakenOrNot(t *testing.T) {
	ctx := context.Background()
	crashes(t, map[string]string{"inbox.json": fixture(t, "seed", "inbox.json")},
		func(s *workflow.Store) error {
			if _, err := s.Inbox().Add(ctx, workflow.FeatureItem, "new"); err != nil {
				return err
			}
			_, err := s.Inbox().Take(ctx, workflow.Claim{Type: workflow.FeatureItem})
			return err
		},
		func(h host.Host, done bool) error {
			items, err := workflow.Open(crashRoot, workflow.Options{Host: h}).Inbox().List()
			if err != nil {
				return err
			}
			if len(items) == 0 || items[0].Content != "Make onboarding faster" {
				return fmt.Errorf("%d items", len(items))
			}
			if done && (len(items) != 2 || items[1].Status != workflow.Processing) {
				return fmt.Errorf("acknowledged, but %+v", items)
			}
			return nil
		})
}

func TestTheFirstItemOfAProjectIsKeptOnceAcknowledged(t *testing.T) {
	ctx := context.Background()
	acknowledged := 0
	crashes(t, nil,
		func(s *workflow.Store) error {
			acknowledged = 0
			_, err := s.Inbox().Add(ctx, workflow.FeatureItem, "first")
			if err == nil {
				acknowledged++
			}
			return err
		},
		func(h host.Host, _ bool) error {
			b := workflow.Open(crashRoot, workflow.Options{Host: h}).Inbox()
			items, err := b.List()
			if err != nil {
				return err
			}
			if len(items) < acknowledged {
				return fmt.Errorf("%d of %d items", len(items), acknowledged)
			}
			acknowledged = len(items) + 1
			_, err = b.Add(ctx, workflow.FeatureItem, "one more")
			return err
		})
}
