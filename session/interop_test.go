package session_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"gaffer/internal/testkit/testenv"
	"gaffer/session"
	"gaffer/statefile"
	"gaffer/statefile/jsontree"
)

const (
	writers = 16 // number of writers of each kind
	updates = 50 // number of updates by each writer
)

// TestMain lets the test binary also act as a writer in a separate process.
func TestMain(m *testing.M) {
	if root := os.Getenv("SESSION_WRITER_ROOT"); root != "" {
		if err := write(root, os.Getenv("SESSION_WRITER_ID"), os.Getenv("SESSION_WRITER_AGENT")); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	// Use a zone other than UTC, so that reading a time without a zone as UTC gives a
	// wrong result.
	time.Local = time.FixedZone("CET", 3600)
	os.Exit(m.Run())
}

// write updates one agent many times and prints how long the slowest update took.
func write(root, id, agent string) error {
	s := session.New(root, session.Options{})
	longest := time.Duration(0)
	for i := 1; i <= updates; i++ {
		began := time.Now()
		err := s.Update(context.Background(), id, func(doc *jsontree.Node) error {
			for _, a := range doc.Child("agents").Items() {
				if a.Get("id").Text() == agent {
					count(a, i)
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		longest = max(longest, time.Since(began))
	}
	fmt.Println(longest.Milliseconds())
	return nil
}

// count increments the number in the document, not one that the writer keeps in memory. So a lost
// update makes the final number too small.
func count(agent *jsontree.Node, i int) {
	n, _ := agent.Get("updates").Int()
	agent.Set("updates", n+1)
	agent.Set("status", "running")
	if i == updates {
		agent.Set("status", "complete")
	}
}

func ourWriter(s *session.Store, id, agent string) *exec.Cmd {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "SESSION_WRITER_ROOT="+s.Root(), "SESSION_WRITER_ID="+id, "SESSION_WRITER_AGENT="+agent)
	return cmd
}

func seedWriter(s *session.Store, id, agent, what string) *exec.Cmd {
	return exec.Command("python3", filepath.Join("testdata", "seed_writer.py"), filepath.Join(s.Root(), "sessions", id), agent, what)
}

func TestSixteenWritersOfOursAndSixteenOfTheSeedsLoseNothing(t *testing.T) {
	testenv.Integration(t)
	s := session.New(t.TempDir(), session.Options{})
	var agents []session.Agent
	for i := range writers {
		agents = append(agents, session.Agent{ID: fmt.Sprintf("go-%d", i)}, session.Agent{ID: fmt.Sprintf("py-%d", i)})
	}
	given, err := session.AgentsOf(agents...)
	must(t, err)
	id, err := s.Create(t.Context(), session.Draft{Source: "orchestrate", Agents: given})
	must(t, err)

	var all sync.WaitGroup
	for _, a := range agents {
		all.Go(func() {
			if strings.HasPrefix(a.ID, "py-") {
				succeed(t, seedWriter(s, id, a.ID, strconv.Itoa(updates)))
				return
			}
			out := succeed(t, ourWriter(s, id, a.ID))
			if ms, err := strconv.Atoi(out); err != nil || ms > 25_000 { // the lock timeout is 30 s
				t.Errorf("%s waited %s ms", a.ID, out)
			}
		})
	}
	all.Wait()
	checkCounts(t, s, id)
}

func succeed(t *testing.T, cmd *exec.Cmd) string {
	var out, problems bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &problems
	if err := cmd.Run(); err != nil {
		t.Errorf("%s: %v\n%s", cmd.Args[len(cmd.Args)-1], err, problems.String())
	}
	return strings.TrimSpace(out.String())
}

func checkCounts(t *testing.T, s *session.Store, id string) {
	t.Helper()
	doc, err := s.Document(id)
	must(t, err)
	total := int64(0)
	for _, a := range doc.Value().Get("agents").Items() {
		n, _ := a.Get("updates").Int()
		if total += n; n != updates {
			t.Errorf("%s has %d updates", a.Get("id").Text(), n)
		}
	}
	status, _ := session.Decode(doc.Value())
	if total != 2*writers*updates || status.Summary != status.Count() || status.Summary.Complete != 2*writers {
		t.Errorf("%d updates, summary %+v", total, status.Summary)
	}
	dir, _ := s.Dir(id)
	if left, _ := filepath.Glob(filepath.Join(dir, "*.lock")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestALockWhoseWriterWasKilledIsBrokenOnce(t *testing.T) {
	testenv.Integration(t)
	t.Parallel()
	var broken []statefile.Notice
	s := session.New(t.TempDir(), session.Options{Notice: func(n statefile.Notice) { broken = append(broken, n) }})
	id := create(t, s, threeAgents)
	killHolder(t, seedWriter(s, id, "001", "hold"))

	must(t, s.StartAgent(t.Context(), id, "001", 0)) // fails if the stale lock is not broken
	if len(broken) != 1 || broken[0].Kind != statefile.LockBroken {
		t.Errorf("notices are %v", broken)
	}
	must(t, s.StartAgent(t.Context(), id, "002", 0))
	succeed(t, seedWriter(s, id, "003", "1"))
	if len(broken) != 1 {
		t.Errorf("a later one found the lock again: %v", broken[1:])
	}
	if sum := load(t, s, id).Summary; sum.Running != 2 || sum.Complete != 1 {
		t.Errorf("summary is %+v", sum)
	}
}

// killHolder runs a writer until it holds the lock, and then kills it.
func killHolder(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	out, err := cmd.StdoutPipe()
	must(t, err)
	_, err = cmd.StdinPipe() // the open input keeps the process running
	must(t, err)
	must(t, cmd.Start())
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "held\n" {
		t.Fatalf("the writer says %q, %v", line, err)
	}
	must(t, cmd.Process.Kill())
	_ = cmd.Wait() // an error is expected: the process was killed
}
