package inbox_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"gaffer/internal/flow/inbox"
	"gaffer/internal/flow/inbox/webpage"
	"gaffer/statefile/host"
	"gaffer/workflow"
)

const childVar = "INBOXWORK_TEST_CHILD"

func TestMain(m *testing.M) {
	if folder, ok := os.LookupEnv(childVar); ok {
		child(folder)
		return
	}
	os.Exit(m.Run())
}

// child processes an inbox in a separate process. When it has taken a reference, it prints "taken"
// and waits until its input is closed. It prints the id of each processed item.
func child(folder string) {
	w := &inbox.Worker{
		Inbox: workflow.Open(folder, workflow.Options{}).Inbox(), Folder: folder, Owner: host.OS().Self(), Now: time.Now,
		Fetch: func(_ context.Context, address string) (webpage.Page, error) {
			fmt.Println("taken")
			_, err := io.Copy(io.Discard, os.Stdin)
			return webpage.Page{URL: address}, err
		},
	}
	err := w.ProcessAll(context.Background(), func(i workflow.Item) error {
		_, err := fmt.Println(i.ID)
		return err
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func (p *project) child() *exec.Cmd {
	p.t.Helper()
	exe, err := os.Executable()
	if err != nil {
		p.t.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), childVar+"="+p.folder)
	return cmd
}

func TestFortyProcessesProcessEachItemExactlyOnce(t *testing.T) {
	p := newProject(t, map[string]string{"spec.md": specText})
	var want []string
	for i := range 60 {
		want = append(want, p.add(workflow.ItemTypes()[i%2*2], fmt.Sprintf("idea %d about search", i)))
	}
	outputs := make([]bytes.Buffer, 40)
	var all sync.WaitGroup
	for i := range outputs {
		cmd := p.child()
		cmd.Stdout, cmd.Stderr = &outputs[i], os.Stderr
		all.Go(func() {
			if err := cmd.Run(); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	var got []string
	for _, out := range outputs {
		got = append(got, strings.Fields(out.String())...)
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("processed %d times %d items: %v", len(got), len(want), got)
	}
	for _, id := range want {
		if item := p.item(id); item.Status != workflow.Processed || item.Analysis == nil || item.Analysis.AffectedSections[0] != "#search" {
			t.Errorf("%s", item.Raw)
		}
	}
}

// holding starts a process that takes the only item, a reference, and holds it. kill kills the
// process.
func (p *project) holding() (kill func()) {
	p.t.Helper()
	cmd := p.child()
	input, err := cmd.StdinPipe()
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { _ = input.Close() }) // ignore the error: the input may have been closed
	output, err := cmd.StdoutPipe()
	if err != nil {
		p.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	if line, err := bufio.NewReader(output).ReadString('\n'); line != "taken\n" {
		p.t.Fatalf("%q, %v", line, err)
	}
	return func() {
		if err := cmd.Process.Kill(); err != nil {
			p.t.Error(err)
		}
		_ = cmd.Wait() // an error is expected: the process was killed
	}
}

func TestAnItemOfAKilledProcessIsTakenAtOnce(t *testing.T) {
	p := newProject(t, nil)
	id := p.add(workflow.ReferenceItem, "https://example.com/a")
	kill := p.holding()
	w := p.worker()
	w.Fetch = page("A page", "with text")
	if shown := p.all(w); len(shown) > 0 {
		t.Errorf("taken from a process that lives: %+v", shown)
	}
	kill()
	if shown := p.all(w); len(shown) != 1 || shown[0].ID != id || shown[0].Status != workflow.Processed {
		t.Errorf("shown %+v", shown)
	}
}

func TestAWatchProcessesItemsOfAKilledProcess(t *testing.T) {
	p := newProject(t, nil)
	id := p.add(workflow.ReferenceItem, "https://example.com/a")
	kill := p.holding()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	w := p.worker()
	w.CheckEvery = 50 * time.Millisecond
	var watch sync.WaitGroup
	watch.Go(func() {
		_ = w.Watch(ctx, func(workflow.Item) error { cancel(); return nil }) // the error is the end of ctx
	})
	kill()
	watch.Wait()
	if got := p.item(id).Status; got != workflow.Processed {
		t.Errorf("it is %s", got)
	}
}
