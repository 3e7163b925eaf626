package hookevents

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"gaffer/internal/byhand/agentproc"
	"gaffer/statefile/jsontree"
)

func TestUpdatesAtTheSameTimeLoseNothing(t *testing.T) {
	f := NewFolder(t.TempDir())
	var wg sync.WaitGroup
	const each, writers = 20, 8
	for range writers {
		wg.Go(func() {
			for range each {
				_, err := f.Update(t.Context(), agentproc.Claude, "s", func(s Session) Session {
					s.Program, s.Session, s.Status = agentproc.Claude, "s", Idle
					s.Helpers++
					return s
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if s := f.Load(agentproc.Claude, "s"); s.Helpers != each*writers {
		t.Errorf("%d of %d", s.Helpers, each*writers)
	}
}

func TestADamagedDocumentIsReplaced(t *testing.T) {
	f := NewFolder(t.TempDir())
	for _, text := range []string{"", "{", "[]", `{"program":"codex","session":"s","status":"idle"}`, `{"program":"claude","session":"s","status":"mad"}`, `{"program":"claude","session":"t","status":"idle"}`} {
		if err := os.MkdirAll(f.path, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(f.pathOf(agentproc.Claude, "s"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if s := f.Load(agentproc.Claude, "s"); s.known() {
			t.Errorf("%s: %+v", text, s)
		}
		s, err := f.Update(t.Context(), agentproc.Claude, "s", func(s Session) Session {
			s.Program, s.Session, s.Status = agentproc.Claude, "s", Running
			return s
		})
		if err != nil || s.Status != Running || f.Load(agentproc.Claude, "s").Status != Running {
			t.Errorf("%s: %+v, %v", text, s, err)
		}
	}
}

func TestASessionCanHaveAnyID(t *testing.T) {
	f := NewFolder(t.TempDir())
	for _, id := range []string{"../../x", "a/b", ".", "é", string(make([]byte, 5000)), "fine-1_A"} {
		_, err := f.Update(t.Context(), agentproc.Gemini, id, func(s Session) Session {
			s.Program, s.Session, s.Status = agentproc.Gemini, id, Idle
			return s
		})
		if got := f.Load(agentproc.Gemini, id); err != nil || got.Session != id {
			t.Errorf("%.20q: %.20q, %v", id, got.Session, err)
		}
		if dir := filepath.Dir(f.pathOf(agentproc.Gemini, id)); dir != f.path {
			t.Errorf("%.20q is kept in %s", id, dir)
		}
	}
}

func TestAFileThatIsNotRegularDoesNotBlock(t *testing.T) {
	f := NewFolder(t.TempDir())
	if err := os.MkdirAll(f.path, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(f.pathOf(agentproc.Claude, "s"), 0o600); err != nil {
		t.Fatal(err)
	}
	if s := f.Load(agentproc.Claude, "s"); s.known() {
		t.Errorf("%+v", s)
	}
	unlock, err := f.lock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := f.Update(ctx, agentproc.Claude, "s", func(s Session) Session { return s }); err == nil {
		t.Error("a lock of another was passed over")
	}
}

func TestADocumentThatCannotBeReadNowIsLeftForLater(t *testing.T) {
	f := NewFolder(t.TempDir())
	if err := os.MkdirAll(f.path, 0o700); err != nil {
		t.Fatal(err)
	}
	later, spoilt, strange := f.pathOf(agentproc.Claude, "later"), f.pathOf(agentproc.Claude, "spoilt"), f.pathOf(agentproc.Codex, "strange")
	err := errors.Join(os.Symlink(later, later), os.WriteFile(spoilt, []byte(`{"program": "cla`), 0o600), syscall.Mkfifo(strange, 0o600))
	if err != nil {
		t.Fatal(err)
	}
	if list, _ := f.All(time.Now()); len(list) > 0 {
		t.Errorf("%+v", list)
	}
	for path, stays := range map[string]bool{later: true, spoilt: false, strange: false} {
		if _, err := os.Lstat(path); (err == nil) != stays {
			t.Errorf("%s: %v", path, err)
		}
	}
}

func TestAWaiterWithoutADeadlineGetsTheLock(t *testing.T) {
	f := NewFolder(t.TempDir())
	unlock, err := f.lock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error)
	go func() {
		_, err := f.Update(context.Background(), agentproc.Claude, "s", func(s Session) Session {
			s.Program, s.Session, s.Status = agentproc.Claude, "s", Idle
			return s
		})
		done <- err
	}()
	unlock()
	if err := <-done; err != nil || !f.Load(agentproc.Claude, "s").known() {
		t.Error(err)
	}
}

func TestUsageIsStoredAndLaterDeleted(t *testing.T) {
	f := NewFolder(t.TempDir())
	for text, want := range map[string]Usage{
		`{"session_id": "s", "context_window": {"used_percentage": 42.5}, "cost": {"total_cost_usd": 0.5}}`: {"s", 42.5, 0.5},
		`{"session_id": "s", "context_window": null}`:                                                       {"s", 0, 0},
		`{"session_id": "../s", "cost": {"total_cost_usd": 1}}`:                                             {},
		`{"session_id": "s", "cost": {"total_cost_usd": -1}}`:                                               {},
		`{"session_id": "s", "context_window": {"used_percentage": 1e300}}`:                                 {},
		`[]`: {},
	} {
		doc, err := jsontree.Parse([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		m, ok := ParseUsage(doc.Value())
		if ok != (want.Session != "") || ok && m != want {
			t.Errorf("%s: %+v, %v", text, m, ok)
		}
		if !ok {
			continue
		}
		for range 2 {
			if err := f.StoreUsage(m); err != nil || f.Usage("s") != want {
				t.Errorf("%+v, %v", f.Usage("s"), err)
			}
		}
	}
	f.All(time.Now())
	if f.Usage("s").Session == "" {
		t.Error("forgotten")
	}
	f.All(time.Now().Add(25 * time.Hour))
	if f.Usage("s").Session != "" {
		t.Error("not forgotten")
	}
}
