package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"

	"gaffer/session"
	"gaffer/statefile/jsontree"
)

// pythonWriter is the path of a Python program that updates session documents as the session
// protocol describes. The path is relative to the root of the repository. The tests of package
// session run this program, too.
const pythonWriter = "session/testdata/seed_writer.py"

const sessionID = "20260201-143022-abc12345"

// document returns a session document with n agents. Each agent has all members that the session
// protocol defines.
func document(n int) []byte {
	agents := []map[string]any{}
	for i := range n {
		id := agentID(i)
		agents = append(agents, map[string]any{
			"id": id, "name": id + "-status-file-schema", "prompt_path": "prompts/monitor/" + id + "-status-file-schema.md",
			"status": "running", "wave": 1, "started_at": "2026-02-01T14:30:25Z", "completed_at": nil, "duration_seconds": nil,
			"exit_code": nil, "pid": 12345, "log_file": ".founder-mode/status/sessions/" + sessionID + "/" + id + ".log",
			"model": "claude", "error": nil,
		})
	}
	data, err := json.MarshalIndent(map[string]any{
		"schema_version": "1.0", "session_id": sessionID, "source": "orchestrate", "source_file": "o.md",
		"started_at": "2026-02-01T14:30:22Z", "completed_at": nil, "status": "running", "agents": agents,
		"summary": map[string]int{"total": n, "queued": 0, "running": n, "complete": 0, "failed": 0, "cancelled": 0}, "waves": []any{},
	}, "", "  ")
	must(err)
	return data
}

func agentID(i int) string { return fmt.Sprintf("%03d", i) }

// writeFor updates one agent of the session document again and again, until the duration each has
// passed since the first update began.
func writeFor(s *session.Store, agent string, each time.Duration) result {
	var r result
	start := time.Now()
	for time.Since(start) < each {
		began := time.Now()
		must(s.Update(context.Background(), sessionID, func(root *jsontree.Node) error {
			for _, a := range root.Child("agents").Items() {
				if a.Get("id").Text() == agent {
					a.Set("exit_code", len(r.Waits))
					return nil
				}
			}
			return fmt.Errorf("no agent %s", agent)
		}))
		r.Waits = append(r.Waits, time.Since(began))
	}
	r.Took = time.Since(start)
	return r
}

func goroutines(root string, agents []string, each time.Duration) result {
	s := session.New(root, session.Options{})
	return runTogether(agents, func(agent string) result { return writeFor(s, agent, each) })
}

func processes(root string, agents []string, each time.Duration) result {
	return runTogether(agents, func(agent string) result {
		return child(os.Args[0], "-worker", root, "-agent", agent, "-each", each.String())
	})
}

func pythons(root string, agents []string, each time.Duration) result {
	return runTogether(agents, func(agent string) result {
		return child("python3", pythonWriter, filepath.Join(root, "sessions", sessionID), agent, fmt.Sprintf("%gs", each.Seconds()))
	})
}

func child(name string, args ...string) result {
	var r result
	cmd := exec.Command(name, args...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	must(err)
	must(json.NewDecoder(bytes.NewReader(out)).Decode(&r))
	return r
}

// runTogether runs writers at the same time and combines their results.
func runTogether(agents []string, write func(agent string) result) result {
	results := make([]result, len(agents))
	var wg sync.WaitGroup
	for i, agent := range agents {
		wg.Go(func() { results[i] = write(agent) })
	}
	wg.Wait()
	var all result
	for _, r := range results {
		all.Took = max(all.Took, r.Took)
		all.Waits = append(all.Waits, r.Waits...)
	}
	return all
}

// bareWrites measures the file operations that every durable update needs: write a
// temporary file, sync it, rename it, sync the folder.
func bareWrites(dir string, data []byte, each time.Duration) result {
	path := filepath.Join(must1(os.MkdirTemp(dir, "bare-")), "status.json")
	folder := must1(os.Open(filepath.Dir(path)))
	defer func() { _ = folder.Close() }()
	var r result
	start := time.Now()
	for time.Since(start) < each {
		began := time.Now()
		f := must1(os.Create(path + ".tmp"))
		must1(f.Write(data))
		must(f.Sync())
		must(f.Close())
		must(os.Rename(path+".tmp", path))
		must(folder.Sync())
		r.Waits = append(r.Waits, time.Since(began))
	}
	r.Took = time.Since(start)
	return r
}
