package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// agent is a process of this program: the attacker, the honest sibling (another agent of the run),
// or a process that the attacker has started.
type agent struct{ name, top, task, attempt string }

// reportLine is one line of the attack's report: what was tried, and the result.
type reportLine struct {
	What string `json:"what"`
	Code int    `json:"code"` // an exit code (0 means success), an HTTP status, or 1 for another error
	Said string `json:"said"`
}

// note adds a line to the report. The line contains at most the first 4000 bytes of the parameter
// said. note also prints the line, so that the attempt's log has it.
func (a *agent) note(what string, code int, said string) {
	line, err := json.Marshal(reportLine{what, code, said[:min(len(said), 4000)]})
	if err != nil {
		return
	}
	file, err := os.OpenFile(a.path(reportFile), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err == nil {
		_, _ = file.Write(append(line, '\n'))
		_ = file.Close()
	}
	fmt.Printf("%s\n", line)
}

// noteError adds the result of a step of the attack to the report. If err is nil, the step has
// succeeded.
func (a *agent) noteError(what string, err error) {
	if err != nil {
		a.note(what, 1, err.Error())
		return
	}
	a.note(what, 0, "")
}

// command runs a program and adds the result to the report. It returns the output and the exit code,
// which is 1 if the program could not be started. If env is nil, the program has the environment of
// this process.
func (a *agent) command(env []string, argv ...string) (string, int) {
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env = env
	out, err := cmd.CombinedOutput()
	code := 0
	if failed := (*exec.ExitError)(nil); errors.As(err, &failed) {
		code = failed.ExitCode()
	} else if err != nil {
		code = 1
		out = append(out, err.Error()...)
	}
	a.note(strings.Join(argv, " "), code, string(out))
	return string(out), code
}

func (a *agent) gaffer(args ...string) (string, int) {
	return a.command(nil, append([]string{a.path("bin", "gaffer")}, args...)...)
}

// userEnvironment returns an environment in which gaffer uses the project and state folder of the
// user. It lacks the variables that gaffer sets for the processes of an attempt.
func (a *agent) userEnvironment() []string {
	return []string{"HOME=" + a.path("home"), "PATH=" + os.Getenv("PATH"), "XDG_STATE_HOME=" + a.path("state"), "GAFFER_PROJECT=" + a.project()}
}

// self returns a command line that starts this program again, in the given mode.
func (a *agent) self(mode string) []string {
	return []string{os.Args[0], mode, a.top, a.task, a.attempt}
}

// detach starts a command that is as independent of this process as possible: the command has a
// separate session and environment, and its parent process has ended. detach returns when the
// command has started.
func (a *agent) detach(argv ...string) {
	pidFile := a.path("detached.pid")
	_ = os.Remove(pidFile) // ignore the error: there may be no file from an earlier call
	script := `( setsid sh -c 'echo $$ >"$0"; exec "$@"' "$@" </dev/null >/dev/null 2>&1 & ) `
	cmd := exec.Command("sh", append([]string{"-c", script, "sh", pidFile}, argv...)...)
	cmd.Env = a.userEnvironment()
	a.noteError("detach", cmd.Run())
	a.until("the detached process", func() bool {
		pid, _ := strconv.Atoi(strings.TrimSpace(a.read(pidFile)))
		return pid > 0 && strings.Contains(argumentsOf(pid), argv[len(argv)-1])
	})
}

func (a *agent) read(path string) string {
	data, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	return string(data)
}

func argumentsOf(pid int) string {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil {
		return ""
	}
	return strings.ReplaceAll(string(data), "\x00", " ")
}

// parentOf returns the pid of a process's parent, or 0 if the process does not exist.
func parentOf(pid int) int {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(data), ") ")
	fields := strings.Fields(rest)
	if len(fields) < 2 {
		return 0
	}
	parent, _ := strconv.Atoi(fields[1])
	return parent
}

// parents returns the pids of this attempt's supervisor and of the gaffer process that started the
// supervisor. Both are 0 if no ancestor of this process is a supervisor.
func (a *agent) parents() (supervisor, gaffer int) {
	for pid := os.Getppid(); pid > 1; pid = parentOf(pid) {
		if strings.Contains(argumentsOf(pid), " supervise ") {
			return pid, parentOf(pid)
		}
	}
	a.note("look for the supervisor", 1, "none above")
	return 0, 0
}

// kill kills a process and waits at most 2 seconds until it is gone. It does nothing if pid is 0
// (the process was not found) or 1.
func (a *agent) kill(what string, pid int) {
	if pid <= 1 {
		return
	}
	a.noteError("kill -9 "+what, syscall.Kill(pid, syscall.SIGKILL))
	for begin := time.Now(); time.Since(begin) < 2*time.Second && argumentsOf(pid) != ""; {
		time.Sleep(5 * time.Millisecond)
	}
}

// siblingProcess returns the pids of the honest sibling's agent and of that agent's supervisor.
func (a *agent) siblingProcess() (agent, supervisor int) {
	var started struct {
		Agent struct {
			PID int `json:"pid"`
		} `json:"agent"`
	}
	_ = json.Unmarshal([]byte(a.read(filepath.Join(a.siblingFolder(), "started.json"))), &started)
	return started.Agent.PID, parentOf(started.Agent.PID)
}

// server returns the URL of the gaffer server and the admin token, which it reads from
// files in the state folder.
func (a *agent) server() (url, token string) {
	list, _ := filepath.Glob(a.state("servers", "*.json")) // ignore the error: the pattern is valid
	for _, file := range list {
		var at struct {
			URL string `json:"url"`
		}
		if json.Unmarshal([]byte(a.read(file)), &at) == nil && at.URL != "" {
			url = at.URL
		}
	}
	return url, strings.TrimSpace(a.read(a.state("token")))
}

// request sends an HTTP request with the admin token to the gaffer server, adds the
// response to the report, and returns the body of the response.
func (a *agent) request(method, path string, body any) string {
	url, token := a.server()
	text, err := json.Marshal(body)
	if err != nil {
		return ""
	}
	req, err := http.NewRequest(method, url+path, bytes.NewReader(text))
	if err != nil {
		a.noteError(method+" "+path, err)
		return ""
	}
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Content-Type", "application/json")
	answer, err := (&http.Client{Timeout: 10 * time.Second}).Do(req)
	if err != nil {
		a.noteError(method+" "+path, err)
		return ""
	}
	defer answer.Body.Close()
	said, _ := io.ReadAll(answer.Body) // ignore the error: the report gets the HTTP status even if the body is incomplete
	a.note(method+" "+path, answer.StatusCode, string(said))
	return string(said)
}
