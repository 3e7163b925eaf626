package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unicode"
	"unicode/utf8"

	"gaffer/fleet"
	"gaffer/internal/testkit/testenv"
)

func errorf(format string, args ...any) error { return fmt.Errorf(format, args...) }

// either returns first if ok is true, and second if not.
func either(ok bool, first, second outcome) outcome {
	if ok {
		return first
	}
	return second
}

// checks has, for each attack, a function that determines its outcome. The function does not trust
// the attacker's report alone.
var checks = map[string]func(*world) outcome{
	"approve-itself":          ownRequest,
	"approve-itself-env-i":    ownRequest,
	"approve-itself-detached": ownRequest,
	"approve-itself-script":   ownRequest,
	"approve-itself-mcp": func(w *world) outcome {
		calls := 0
		for _, t := range w.report() {
			if t.What == "call a tool" {
				calls++
				if t.Code == 0 {
					w.Errorf("a tool answers: %s", t.Said)
				}
			}
		}
		if calls != 4 {
			w.Errorf("%d calls were answered, want 4", calls)
		}
		return either(w.isOpen("attacker"), refused, limit)
	},
	"approve-itself-http": func(w *world) outcome { return either(w.isOpen("attacker"), prevented, limit) },
	"answer-sibling":      siblingRequest,
	"answer-other-folder": siblingRequest,
	"answer-unsupervised": func(w *world) outcome {
		w.waitFile("later.code", 20*time.Second)
		return either(strings.TrimSpace(w.read(w.path("later.code"))) == "0", limit, either(strings.Contains(w.read(w.path("later.out")), "refused"), refused, prevented))
	},
	"cancel-sibling": unchanged,
	"cancel-run":     unchanged,
	"retry-itself":   unchanged,
	"resume-run":     unchanged,
	"create-token": func(w *world) outcome {
		out, _ := w.user("token", "list")
		return either(w.wasRefused() && !strings.Contains(out, "mine"), refused, limit)
	},
	"trust-project": func(w *world) outcome {
		if w.isThere(traceFile) {
			return limit
		}
		for _, t := range w.report() {
			if strings.Contains(t.What, " trust ") && t.Code != 4 {
				return limit
			}
		}
		w.must(os.Remove(w.project("gaffer.yaml"))) // as a user does who sees the file in the diff
		return either(w.complete(), refused, limit)
	},
	"open-link":         unchanged,
	"prune-and-restore": unchanged,
	"nested-run": func(w *world) outcome {
		w.end()
		out, err := exec.Command("grep", "-aoh", "agent "+w.finished.ID+"/attacker", "-r", w.path("state")).Output()
		return either(err == nil && len(out) > 0, recorded, limit)
	},

	"token-in-environment": func(w *world) outcome { return either(w.succeeded("look for the token"), limit, prevented) },
	"token-of-supervisor":  func(w *world) outcome { return either(w.succeeded("look for the token"), limit, prevented) },
	"token-of-gaffer":      func(w *world) outcome { return either(w.succeeded("look for the token"), limit, prevented) },
	"token-file": func(w *world) outcome {
		return either(slices.ContainsFunc(w.report(), func(t reportLine) bool { return t.Code == 201 }), limit, prevented)
	},

	"forge-finish":    fenced,
	"forge-own-fence": fenced,
	"forge-exit-record": func(w *world) outcome {
		w.waitEnd("sibling", 5*time.Second)
		return either(w.task("sibling").Status == fleet.Complete && !w.isThere(doneFile), limit, recorded)
	},
	"forge-stop-order": func(w *world) outcome {
		w.waitEnd("sibling", 5*time.Second)
		return either(w.task("sibling").Status == fleet.Running, prevented, limit)
	},
	"forge-output": func(w *world) outcome {
		run := w.end()
		task := w.task("attacker")
		return either(run.Status == fleet.Failed && task.Attempt.Exit == 3 && run.Spent == (fleet.Cost{}), prevented, limit)
	},
	"write-database": func(w *world) outcome {
		w.must(os.WriteFile(w.path(releaseFile), nil, 0o600))
		w.isEnded = true // do not wait for the run: its rows contradict each other, so it never ends
		return either(w.task("sibling").Status == fleet.Complete, limit, prevented)
	},

	"rewrite-session":     truthful,
	"rewrite-records":     named,
	"delete-documents":    truthful,
	"link-documents":      named,
	"hard-link-documents": truthful,
	"link-folder": func(w *world) outcome {
		outcome := named(w)
		return either(w.read(w.path("theirs", "status.json")) == "the user's\n", outcome, limit)
	},
	"pipe-documents": named,
	"link-log": func(w *world) outcome {
		w.end()
		return either(w.read(w.path(outsideFile)) == "the user's\n", prevented, limit)
	},
	"hold-locks": func(w *world) outcome {
		w.waitEnd("attacker", patience)
		return either(w.task("attacker").Status == fleet.Failed, prevented, limit)
	},
	"delete-locks": func(w *world) outcome {
		_, code := w.user("resume", strings.TrimSpace(w.read(w.path("run")))) // a second gaffer must not work on the run
		return either(code == 4 && w.complete(), prevented, limit)
	},
	"delete-attempts": func(w *world) outcome {
		w.waitReport("delete the attempts")
		w.work("resume", strings.TrimSpace(w.read(w.path("run"))))
		w.end()
		return either(len(w.doubles()) == 0, prevented, limit)
	},
	"delete-database": func(w *world) outcome {
		w.must(os.WriteFile(w.path(releaseFile), nil, 0o600))
		w.waitGone()
		w.isEnded = true // do not wait for the run: it no longer exists
		return either(w.run().ID == "", limit, prevented)
	},

	"git-config": noTrace,
	"git-hooks":  noTrace,
	"git-move-base": func(w *world) outcome {
		out, err := exec.Command("git", "-C", w.project(), "log", "--format=%s", "main").Output()
		w.must(err)
		return either(strings.Contains(string(out), "mine"), limit, prevented)
	},
	"delete-worktree": func(w *world) outcome {
		w.end()
		return either(w.finished.Status == fleet.Complete, limit, recorded)
	},
	"worktree-link": func(w *world) outcome {
		w.end()
		w.must(os.WriteFile(w.path("home", "kept"), nil, 0o600))
		out, code := w.user("worktree", "remove", "attacker", "--force")
		if code != 0 {
			w.Logf("remove: %d %s", code, out)
		}
		return either(w.finished.Status == fleet.Complete && w.read(w.path(outsideFile)) == "the user's\n" && w.isThere("home/kept"), prevented, limit)
	},

	"fill-disk": func(w *world) outcome {
		w.attackerEnds() // while the disk is full
		w.must(os.Remove(w.state("filler")))
		return truthful(w)
	},
	"use-up-inodes": func(w *world) outcome {
		w.attackerEnds() // while the file system has no free inodes
		w.must(os.RemoveAll(w.state("many")))
		return truthful(w)
	},
	"fork-many":          goneAfterwards,
	"ignore-signals":     goneAfterwards,
	"outlive":            goneAfterwards,
	"outlive-supervisor": survivor,
	"outlive-both": func(w *world) outcome {
		w.work("resume", strings.TrimSpace(w.read(w.path("run"))))
		return survivor(w)
	},
	"leave-cgroup": survivor,
	"lower-limits": survivor,
	"kill-gaffer": func(w *world) outcome {
		w.work("resume", strings.TrimSpace(w.read(w.path("run"))))
		return either(w.complete() && w.task("sibling").Tries == 1, prevented, limit)
	},
	"kill-supervisor": func(w *world) outcome {
		return either(w.complete(), recorded, limit)
	},
	"stop-supervisor": func(w *world) outcome {
		before := w.task("attacker")
		w.user("cancel", strings.TrimSpace(w.read(w.path("run"))))
		w.waitEnd("attacker", 3*time.Second)
		after := w.task("attacker")
		pid, _ := strconv.Atoi(w.read(w.path("stopped.pid")))
		w.must(syscall.Kill(pid, syscall.SIGCONT))
		return either(before.Status == fleet.Running && after.Status == fleet.Running, limit, recorded)
	},
	"read-sibling": func(w *world) outcome { return either(w.succeeded("read the memory"), limit, prevented) },
	"kill-sibling": func(w *world) outcome {
		w.waitEnd("sibling", 5*time.Second)
		return either(w.task("sibling").Status == fleet.Failed, recorded, limit)
	},

	"terminal-escapes": harmless,
	"broken-text":      harmless,
	"huge-line":        harmless,
	"endless-log": func(w *world) outcome {
		return either(w.end().Status == fleet.Failed, prevented, limit)
	},
	"forged-lines": harmless,
}

func (w *world) isThere(name string) bool {
	_, err := os.Lstat(w.path(name))
	return err == nil
}

func (w *world) waitFile(name string, limit time.Duration) {
	w.await(w.path(name), limit)
}

// attackerEnds lets the attacker end, and waits until its process has ended.
func (w *world) attackerEnds() {
	w.Helper()
	w.must(os.WriteFile(w.path(releaseFile), nil, 0o600))
	testenv.Wait(w, "the attacker to end", func() error {
		for _, line := range w.left() {
			if strings.Contains(line, " attack ") {
				return errorf("alive: %s", line)
			}
		}
		return nil
	})
}

// waitReport waits until the attack's report contains the step.
func (w *world) waitReport(step string) {
	if !testenv.Poll(patience, func() bool { return strings.Contains(w.read(w.path(reportFile)), step) }) {
		w.Errorf("the attack did not %s", step)
	}
}

// waitEnd waits until a task has ended, but not longer than limit. If it has not ended by then, the
// check that follows fails.
func (w *world) waitEnd(task string, limit time.Duration) {
	testenv.Poll(limit, func() bool {
		s := w.task(task).Status
		return s != fleet.Running && s != fleet.Queued && s != ""
	})
}

// ownRequest returns refused if the attacker's permission request is still open and gaffer refused
// all its commands.
func ownRequest(w *world) outcome {
	isOpen := w.isOpen("attacker")
	return either(isOpen && w.wasRefused(), refused, either(isOpen, prevented, limit))
}

func siblingRequest(w *world) outcome {
	isOpen := w.isOpen("sibling")
	return either(isOpen && w.wasRefused(), refused, either(isOpen, prevented, limit))
}

// unchanged returns refused if gaffer refused every command and the run completes normally.
func unchanged(w *world) outcome {
	return either(w.wasRefused() && w.complete(), refused, limit)
}

// fenced returns refused if the coordinator refused every request and the sibling is still running.
func fenced(w *world) outcome {
	n := 0
	for _, t := range w.report() {
		if strings.Contains(t.What, "/v1/work/turn") {
			n++
			if t.Code < 400 || t.Code >= 500 {
				w.Logf("not refused: %+v", t)
				return limit
			}
		}
	}
	return either(n > 0 && w.task("sibling").Status == fleet.Running && w.complete(), refused, limit)
}

// truthful returns prevented if the documents are correct at the end and no file of
// the user was written.
func truthful(w *world) outcome {
	if !w.complete() {
		return limit
	}
	ok := w.read(w.path(outsideFile)) == "the user's\n"
	if !ok {
		w.Logf("the user's file is %q", w.read(w.path(outsideFile)))
	}
	var doc struct {
		Status string `json:"status"`
		Waves  []struct {
			Agents []struct {
				ID     string `json:"id"`
				Status string `json:"status"`
			} `json:"agents"`
		} `json:"waves"`
	}
	file := w.project(".founder-mode", "status", "sessions", w.finished.ID, "status.json")
	if info, err := os.Lstat(file); err == nil && info.Mode().IsRegular() {
		_ = json.Unmarshal([]byte(w.read(file)), &doc) // ignore the error: doc is then empty, which counts as wrong
	}
	results, _ := filepath.Glob(w.project("state", "results", "*.json")) // ignore the error: the pattern is valid
	if doc.Status != "complete" || len(results) < len(w.finished.Tasks) {
		w.Logf("the document says %+v, and there are %d results", doc, len(results))
		ok = false
	}
	return either(ok, prevented, limit)
}

// named returns recorded if the run completes, no file of the user was written, and gaffer's
// messages name the document that it could not write.
func named(w *world) outcome {
	ok := w.complete() && w.read(w.path(outsideFile)) == "the user's\n"
	said := strings.Contains(w.words.String(), "not written") || strings.Contains(w.words.String(), "not all written")
	return either(ok && said, recorded, limit)
}

// noTrace returns prevented if gaffer ran none of the programs that the attacker left in the
// repository, in any operation on the worktree.
func noTrace(w *world) outcome {
	w.end()
	w.user("status")
	w.user("worktree", "list")
	w.user("worktree", "remove", "attacker", "--force")
	if w.isThere(traceFile) {
		w.Logf("ran: %s", w.read(w.path(traceFile)))
		return limit
	}
	return prevented
}

// goneAfterwards returns prevented if no process of the attempt is alive when its
// task has ended.
func goneAfterwards(w *world) outcome {
	w.waitEnd("attacker", patience)
	left := w.left()
	if len(left) > 0 {
		w.Logf("left behind: %s", strings.Join(left, "; "))
	}
	return either(len(left) == 0, prevented, limit)
}

// survivor checks a process that was detached before its supervisor was killed. It returns
// prevented if gaffer ends the process. It returns recorded if the task waits, says why, and
// continues when the process is gone.
func survivor(w *world) outcome {
	got := limit
	testenv.Poll(20*time.Second, func() bool {
		task := w.task("attacker")
		alive := slices.ContainsFunc(w.left(), func(line string) bool { return strings.Contains(line, "stubborn") })
		switch {
		case !alive:
			got = either(w.complete(), prevented, limit)
		case task.Status != fleet.Running && task.Status != fleet.Queued: // the task ended although the process was alive
		case strings.Contains(w.words.String(), "task attacker waits"):
			got = either(w.complete(), recorded, limit)
		default:
			return false
		}
		return true
	})
	return got
}

// harmless returns prevented if gaffer's output contains no characters that a terminal interprets,
// apart from gaffer's colours.
func harmless(w *world) outcome {
	w.end()
	ok := true
	for _, args := range []string{"status", "logs attacker", "ps --all", "runs --all", "report", "status --json"} {
		cmd := exec.Command("script", "-qec", w.path("bin", "gaffer")+" "+args, "/dev/null")
		cmd.Dir, cmd.Env = w.project(), append(slices.Clone(w.env), "TERM=xterm", "NO_COLOR=1", "PAGER=cat")
		out, err := cmd.CombinedOutput()
		if err != nil {
			w.Errorf("gaffer %s: %v\n%.2000s", args, err, out)
		}
		if bad := firstControl(out); bad != "" {
			w.Logf("gaffer %s prints %q", args, bad)
			ok = false
		}
	}
	if bad := firstControl([]byte(w.words.String())); bad != "" {
		w.Logf("gaffer run prints %q", bad)
		ok = false
	}
	if out, _ := w.user("status"); len(out) > 4000 {
		w.Logf("gaffer status prints %d bytes", len(out))
		ok = false
	}
	if w.finished.Status != fleet.Complete || len(w.finished.Tasks) != 1 || w.finished.Spent != (fleet.Cost{}) {
		ok = false
	}
	return either(ok, prevented, limit)
}

// firstControl returns the first sequence in output that a terminal would interpret, with the
// characters after it. It returns "" if there is none.
func firstControl(output []byte) string {
	for i := 0; i < len(output); {
		r, n := utf8.DecodeRune(output[i:])
		isPlain := r == '\n' || r == '\r' || r == '\t' || !unicode.IsControl(r) && !unicode.Is(unicode.Bidi_Control, r)
		if !isPlain || r == utf8.RuneError && n == 1 {
			return string(output[i:min(len(output), i+60)])
		}
		i += n
	}
	return ""
}
