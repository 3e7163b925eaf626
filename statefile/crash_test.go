package statefile_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"gaffer/internal/testkit/testenv"
	"gaffer/statefile"
	"gaffer/statefile/host"
	"gaffer/statefile/host/hosttest"
	"gaffer/statefile/jsontree"
)

const simPath = "/project/doc.json"

// fleet is a set of processes that write one document on a simulated machine. Each update adds
// another member, so a missing member shows that an update was lost.
type fleet struct {
	machine *hosttest.Machine
	options statefile.Options

	mu    sync.Mutex
	acked []string
	tried map[string]bool
}

func newFleet(seed uint64, fault hosttest.Fault, locking statefile.Locking) *fleet {
	f := &fleet{
		machine: hosttest.New(seed, hosttest.Fault{}),
		options: statefile.Options{Locking: locking, Finish: count},
		tried:   map[string]bool{},
	}
	setup := f.machine.Process()
	must(statefile.MkdirAll(setup, "/project"))
	must(statefile.WriteNew(setup, simPath, []byte("{\n  \"members\": {},\n  \"count\": 0\n}\n"), 0o666))
	fault.At += map[bool]int{true: f.machine.Steps()}[fault.At > 0]
	f.machine.SetFault(fault)
	return f
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

// count sets the number of members, as an example of a value that is derived from others.
func count(d *jsontree.Doc) error {
	d.Root().Set("count", d.Root().Child("members").Len())
	return nil
}

func (f *fleet) open(p host.Host) *statefile.File {
	o := f.options
	o.Host = p
	return statefile.New(simPath, o)
}

func (f *fleet) update(file *statefile.File, name string) error {
	f.mu.Lock()
	f.tried[name] = true
	f.mu.Unlock()
	err := file.Update(context.Background(), func(d *jsontree.Doc) error {
		d.Root().Child("members").Set(name, true)
		return nil
	})
	if err == nil {
		f.mu.Lock()
		f.acked = append(f.acked, name)
		f.mu.Unlock()
	}
	return err
}

// start starts processes with two threads each. Each thread updates the document several times.
func (f *fleet) start(processes, updates int) {
	for i := range processes {
		p := f.machine.Process()
		file := f.open(p)
		for thread := range 2 {
			f.machine.Go(p, func() {
				for n := range updates {
					if f.update(file, fmt.Sprintf("p%d-t%d-%d", i, thread, n)) != nil {
						return
					}
				}
			})
		}
	}
}

// startForeign adds a process of another program. It respects only the lock folder, not the
// advisory lock.
func (f *fleet) startForeign(updates int) {
	p := f.machine.Process()
	f.machine.Go(p, func() {
		for n := range updates {
			name := fmt.Sprintf("foreign-%d", n)
			f.mu.Lock()
			f.tried[name] = true
			f.mu.Unlock()
			if foreignUpdate(p, name) != nil {
				return
			}
			f.mu.Lock()
			f.acked = append(f.acked, name)
			f.mu.Unlock()
		}
	})
}

// foreignUpdate updates a document of the session protocol as programs in other
// languages do.
func foreignUpdate(p host.Host, name string) error {
	for began := time.Now(); ; {
		err := p.Mkdir("foreign lock", simPath+".lock", 0o777)
		if err == nil {
			break
		}
		if !errors.Is(err, fs.ErrExist) || time.Since(began) > time.Minute {
			return err // the lock folder of a dead process stays until one of our processes removes it
		}
		if err := p.Sleep(context.Background(), 50*time.Millisecond); err != nil {
			return err
		}
	}
	data, err := statefile.ReadBytes(p, simPath)
	if err != nil {
		return err
	}
	var doc struct {
		Members map[string]bool `json:"members"`
		Count   int             `json:"count"`
	}
	if err := json.Unmarshal(data, &doc); err != nil {
		return err
	}
	doc.Members[name] = true
	doc.Count = len(doc.Members)
	out, _ := json.MarshalIndent(doc, "", "  ")
	f, err := p.Create("foreign write", simPath+".tmp", 0o666)
	if err == nil {
		err = f.Write("foreign write", out)
	}
	if err == nil {
		err = p.Rename("foreign rename", simPath+".tmp", simPath)
	}
	return errors.Join(err, p.Remove("foreign unlock", simPath+".lock"))
}

// verify checks the document from a new process, as after a restart of the machine.
func (f *fleet) verify() error {
	f.machine.SetFault(hosttest.Fault{})
	file := f.open(f.machine.Process())
	doc, err := file.Load()
	if err != nil {
		return err
	}
	v := doc.Value()
	for _, name := range f.acked {
		if v.Get("members").Get(name).Absent() {
			return fmt.Errorf("acknowledged update %s is missing in %s", name, doc.Bytes())
		}
	}
	for name := range v.Get("members").Members() {
		if !f.tried[name] {
			return fmt.Errorf("no process wrote %s", name)
		}
	}
	if n, _ := v.Get("count").Int(); int(n) != v.Get("members").Len() {
		return fmt.Errorf("half an update: %s", doc.Bytes())
	}
	began := time.Now()
	if err := f.update(file, "after"); err != nil {
		return fmt.Errorf("update after the restart: %w", err)
	}
	if took := time.Since(began); took > 11*time.Second {
		return fmt.Errorf("the update after the restart took %s", took)
	}
	return nil
}

// crash is a test run of a fleet with one fault.
type crash struct {
	seed    uint64
	locking statefile.Locking
	foreign bool
	fault   hosttest.Fault
}

func (c crash) run(t *testing.T) (steps int) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(c.seed, c.fault, c.locking)
		before := f.machine.Steps()
		f.start(2, 2)
		if c.foreign {
			f.startForeign(2)
		}
		f.machine.Run()
		steps = f.machine.Steps() - before
		if err := f.verify(); err != nil {
			t.Fatalf("%+v, at %s: %v", c, f.machine.FaultStep(), err)
		}
		if c.fault.At == 0 && len(f.acked) != len(f.tried) {
			t.Fatalf("%+v: %d of %d updates were acknowledged", c, len(f.acked), len(f.tried))
		}
	})
	return steps
}

// everyStep runs c once without a fault to count the steps. Then it runs c once for each step, with
// the fault at that step. It returns the number of steps.
func everyStep(t *testing.T, c crash, fault hosttest.Fault) int {
	runs := 0
	for at := range c.run(t) {
		c.fault = fault
		c.fault.At = at + 1
		c.run(t)
		runs++
	}
	return runs
}

func TestAProcessThatDiesAtAnyStepLosesNothingAcknowledged(t *testing.T) {
	runs := 0
	for seed := range uint64(6) {
		runs += everyStep(t, crash{seed: seed, locking: statefile.Advisory}, hosttest.Fault{})
		runs += everyStep(t, crash{seed: seed, locking: statefile.Folder}, hosttest.Fault{})
		runs += everyStep(t, crash{seed: seed, locking: statefile.Folder, foreign: true}, hosttest.Fault{})
	}
	t.Logf("%d deaths", runs)
}

func TestAPowerCutAtAnyStepLosesNothingAcknowledged(t *testing.T) {
	testenv.Integration(t)
	runs := 0
	for seed := range uint64(12) {
		runs += everyStep(t, crash{seed: seed, locking: statefile.Advisory}, hosttest.Fault{Power: true})
		runs += everyStep(t, crash{seed: seed, locking: statefile.Folder}, hosttest.Fault{Power: true})
	}
	t.Logf("%d power cuts", runs)
}

func TestAnErrorAtAnyStepLosesNothingAcknowledged(t *testing.T) {
	runs := 0
	for _, err := range []error{syscall.EIO, syscall.ENOSPC} {
		for seed := range uint64(3) {
			runs += everyStep(t, crash{seed: seed, locking: statefile.Advisory}, hosttest.Fault{Err: err})
			runs += everyStep(t, crash{seed: seed, locking: statefile.Folder}, hosttest.Fault{Err: err})
		}
	}
	t.Logf("%d errors", runs)
}
