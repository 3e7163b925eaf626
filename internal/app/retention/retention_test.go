package retention

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gaffer/internal/api/protocol"
	"gaffer/internal/app/localrun"
	"gaffer/internal/attempt/runlock"
	"gaffer/internal/engine/store"
	"gaffer/internal/engine/store/memory"
	"gaffer/internal/record/pending"
)

// oldRuns is a pruner of a store whose runs ended long ago.
type oldRuns struct {
	*Pruner
	t     *testing.T
	store store.Store
	state string
	locks runlock.Locks
	made  int
	told  []string
}

func newOldRuns(t *testing.T) *oldRuns {
	o := &oldRuns{t: t, store: memory.New(), state: t.TempDir()}
	o.locks = runlock.Locks(filepath.Join(o.state, "runs"))
	o.Pruner = New(Options{
		Store: o.store, State: o.state, Locks: o.locks, Protocol: protocol.Rows{}, Now: time.Now,
		Notice: func(text string) { o.told = append(o.told, text) },
	})
	return o
}

// add stores a run that ended a hundred days ago.
func (o *oldRuns) add(id string, status store.Status, plan string) {
	o.t.Helper()
	o.made++
	created := time.Now().Add(-100*24*time.Hour + time.Duration(o.made)*time.Minute)
	err := o.store.Write(o.t.Context(), func(tx *store.Tx) error {
		tx.PutRun(store.Run{
			ID: id, Status: status, Project: "/p", Created: created, Ended: created.Add(time.Second), Plan: json.RawMessage(plan),
			Conducted: strings.Contains(plan, "Team"),
		})
		tx.Append(store.Event{At: created, Kind: "run.running", Run: id})
		return nil
	})
	if err != nil {
		o.t.Fatal(err)
	}
}

func (o *oldRuns) left() (ids []string) {
	o.t.Helper()
	err := o.store.Read(o.t.Context(), func(r store.Reader) error {
		runs, err := r.Runs()
		for _, run := range runs {
			ids = append(ids, run.ID)
		}
		return err
	})
	if err != nil {
		o.t.Fatal(err)
	}
	return ids
}

func (o *oldRuns) prune() (*Pruning, Pruned) {
	o.t.Helper()
	p, err := o.Find(o.t.Context(), Policy{OlderThan: 30 * 24 * time.Hour})
	if err != nil {
		o.t.Fatal(err)
	}
	done, err := p.Delete(o.t.Context())
	if err != nil {
		o.t.Fatal(err)
	}
	return p, done
}

const (
	aTeam  = `{"Team":{"session":"s"}}`
	aBuild = `{"Build":{"Run":{"runId":"run-1"}}}`
)

func TestTheLatestTeamAndBuildThatCanBeResumedStay(t *testing.T) {
	o := newOldRuns(t)
	o.add("team-1", store.Failed, aTeam)
	o.add("build-1", store.Cancelled, aBuild)
	o.add("team-2", store.Cancelled, aTeam)
	o.add("build-2", store.Failed, aBuild)
	o.add("plain", store.Failed, `{}`)
	p, _ := o.prune()
	if got := fmt.Sprint(o.left()); got != "[team-2 build-2]" {
		t.Errorf("left are %s", got)
	}
	if len(p.Spared) != 2 || p.Spared[0] != (Spared{"team-2", "it is the latest team of its project, and can be resumed"}) {
		t.Errorf("spared are %v", p.Spared)
	}
	// Add a newer team run that is complete, so that the older one is no longer the latest.
	o.add("team-3", store.Complete, aTeam)
	o.prune()
	if got := fmt.Sprint(o.left()); got != "[build-2]" {
		t.Errorf("left are %s", got)
	}
}

func TestARunThatAGafferWorksOnStays(t *testing.T) {
	o := newOldRuns(t)
	o.add("mine", store.Complete, `{}`)
	release, err := o.locks.Lock(t.Context(), "mine")
	if err != nil {
		t.Fatal(err)
	}
	p, _ := o.prune()
	if len(o.left()) != 1 || len(p.Spared) != 1 || !strings.Contains(p.Spared[0].Why, fmt.Sprintf("pid %d works on it", os.Getpid())) {
		t.Errorf("left are %v, spared %v", o.left(), p.Spared)
	}
	release()
	o.prune()
	if len(o.left()) != 0 {
		t.Errorf("left are %v", o.left())
	}
}

func TestFaultARunWithPendingDocumentsIsNotPruned(t *testing.T) {
	o := newOldRuns(t)
	o.add("paid", store.Complete, `{}`)
	o.add("owing", store.Complete, `{}`)
	err := o.store.Write(t.Context(), func(tx *store.Tx) error {
		tx.PutItem(store.Item{ItemKey: pending.Key("owing"), Data: []byte(`{}`), Made: time.Now()})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	p, _ := o.prune()
	if want := (Spared{"owing", "its documents are not written: 'gaffer doctor'"}); len(p.Spared) != 1 || p.Spared[0] != want {
		t.Errorf("spared are %v, want %v", p.Spared, want)
	}
	if got := fmt.Sprint(o.left()); got != "[owing]" {
		t.Errorf("left are %s", got)
	}
	list := pending.List{Store: o.store, Now: time.Now}
	if err := list.Remove(t.Context(), "owing"); err != nil {
		t.Fatal(err)
	}
	if o.prune(); len(o.left()) != 0 {
		t.Errorf("after the documents were written there are %v", o.left())
	}
}

func TestWhatIsLeftOfARunOnThisMachineGoesWithIt(t *testing.T) {
	o := newOldRuns(t)
	o.add("r", store.Complete, `{}`)
	mine, other := filepath.Join(localrun.AttemptsFolder(o.state, "r"), "a1"), filepath.Join(localrun.AttemptsFolder(o.state, "elsewhere"), "a1")
	for _, dir := range []string{mine, other, filepath.Join(o.state, "merges", "r")} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	p, done := o.prune()
	if p.Folders != 2 || done.Folders != 2 {
		t.Errorf("%d folders were found, %d are gone", p.Folders, done.Folders)
	}
	if _, err := os.Stat(mine); err == nil {
		t.Error("the attempts are still there")
	}
	if _, err := os.Stat(other); err != nil {
		t.Errorf("a run of another database: %v", err)
	}
}

func TestNoPathIsMadeOfARunsName(t *testing.T) {
	o := newOldRuns(t)
	precious := filepath.Join(filepath.Dir(o.state), "precious")
	if err := os.MkdirAll(precious, 0o700); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(precious) }()
	o.add("../../precious", store.Complete, `{}`)
	o.prune()
	if _, err := os.Stat(precious); err != nil {
		t.Error(err)
	}
	if len(o.told) != 1 || !strings.Contains(o.told[0], "has a slash") {
		t.Errorf("told %q", o.told)
	}
}

func TestRetentionRunsUntilItIsStopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOldRuns(t)
		o.add("first", store.Complete, `{}`)
		stop := o.Run(Policy{OlderThan: 30 * 24 * time.Hour})
		time.Sleep(firstAfter - time.Second)
		synctest.Wait()
		if !slices.Equal(o.left(), []string{"first"}) {
			t.Errorf("left are %v, right after the start", o.left())
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if len(o.left()) != 0 {
			t.Errorf("left are %v", o.left())
		}
		o.add("second", store.Complete, `{}`)
		time.Sleep(checkEvery)
		synctest.Wait()
		if len(o.left()) != 0 || len(o.told) != 0 {
			t.Errorf("left are %v, told %v", o.left(), o.told)
		}
		stop()
	})
}
