// Command hostile is an agent that attacks gaffer. Its test starts it as the agent of
// a task, once for each attack of the table in attacks.go, and checks the result from
// outside. docs/attacks.md shows the table.
//
//	hostile attack NAME FOLDER               try one attack
//	hostile sibling FOLDER                   an honest agent beside the attacker
//	hostile linger FOLDER TASK ATTEMPT       a process that an attack leaves behind
//	hostile stubborn FOLDER TASK ATTEMPT     the same, but it ignores SIGTERM, SIGINT and SIGHUP
//
// FOLDER belongs to one attack and contains its project, state folder and report. If TASK
// and ATTEMPT are not given, the program restarts itself with these two arguments. The
// test finds each process by its last three arguments, even if the process has changed
// its environment, session or parent.
package main

import (
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

func main() { os.Exit(act(os.Args[1:])) }

// Files in the folder of an attack.
const (
	attackedFile = "attacked"     // created by the attacker after the attack, or before a step that may kill the attacker
	releaseFile  = "release"      // created by the test; processes that wait for it may then end
	reportFile   = "report"       // what the attacker tried, and the results
	doneFile     = "sibling.done" // ids of the attempts in which the honest agent (the sibling) has done its work, one per line
	outsideFile  = "outside"      // a file of the user that no attack may change through gaffer
	traceFile    = "trace"        // written by programs that the attacker has planted, if gaffer runs them
)

// maxLifetime is how long a process of an attack waits for the release file. Then the process ends,
// even if the test has crashed and never creates the file.
const maxLifetime = 60 * time.Second

func act(args []string) int {
	switch {
	case len(args) == 3 && args[0] == "attack", len(args) == 2 && args[0] == "sibling":
		return showAttempt(args)
	case len(args) == 5 && args[0] == "attack":
		return tryAttack(&agent{name: args[1], top: args[2], task: args[3], attempt: args[4]})
	case len(args) == 4:
		a := &agent{top: args[1], task: args[2], attempt: args[3]}
		switch args[0] {
		case "sibling":
			return a.work()
		case "stubborn":
			signal.Ignore(syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
			fallthrough
		case "linger":
			a.await(a.path(releaseFile), maxLifetime)
			return 0
		}
	}
	fmt.Fprintln(os.Stderr, "usage: hostile attack NAME FOLDER; see the package's documentation")
	return 2
}

// showAttempt restarts this process as the same program with two more arguments: the ids of its
// task and its attempt. The test finds the process by its arguments.
func showAttempt(args []string) int {
	words := slices.Concat([]string{os.Args[0]}, args, []string{os.Getenv("GAFFER_TASK"), os.Getenv("GAFFER_ATTEMPT")})
	self, err := os.Executable()
	if err == nil {
		err = syscall.Exec(self, words, os.Environ())
	}
	fmt.Fprintln(os.Stderr, "hostile:", err)
	return 1
}

// tryAttack tries an attack in the first attempt of a task. A later attempt only runs for half a
// second, so that the test notices if processes of the first attempt are still alive.
func tryAttack(a *agent) int {
	i := slices.IndexFunc(attacks, func(t attack) bool { return t.name == a.name })
	if i < 0 {
		fmt.Fprintln(os.Stderr, "hostile: no attack", a.name)
		return 2
	}
	if _, err := os.Lstat(a.path(attackedFile)); err == nil || os.Getenv("GAFFER_ATTEMPT_NUMBER") != "1" {
		time.Sleep(500 * time.Millisecond)
		return 0
	}
	a.write(a.path("run"), os.Getenv("GAFFER_RUN"))
	if attacks[i].sibling != "" {
		a.until("the sibling to start", func() bool { return a.siblingFolder() != "" })
	}
	attacks[i].try(a)
	a.write(a.path(attackedFile), "")
	if attacks[i].stays {
		a.await(a.path(releaseFile), maxLifetime)
	}
	return attacks[i].exit
}

// work is what the sibling, the honest agent beside the attacker, does. It waits for the release
// file, and then adds the id of its attempt to doneFile. It returns the exit code, which is 1 if
// the release file does not appear in time.
func (a *agent) work() int {
	if !a.await(a.path(releaseFile), maxLifetime) {
		return 1
	}
	file, err := os.OpenFile(a.path(doneFile), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return 1
	}
	fmt.Fprintln(file, a.attempt)
	fmt.Println("honest work is done")
	return 0
}

// await waits until the file at path exists. It returns false if the file did not appear within the
// limit.
func (a *agent) await(path string, limit time.Duration) bool {
	for begin := time.Now(); time.Since(begin) < limit; time.Sleep(20 * time.Millisecond) {
		if _, err := os.Lstat(path); err == nil {
			return true
		}
	}
	return false
}

// until waits until condition returns true. After half of maxLifetime it gives up: it adds a line
// to the report and returns false. The parameter what is a description of the condition for this
// line.
func (a *agent) until(what string, condition func() bool) bool {
	for begin := time.Now(); time.Since(begin) < maxLifetime/2; time.Sleep(20 * time.Millisecond) {
		if condition() {
			return true
		}
	}
	a.note("waited in vain for "+what, 1, "")
	return false
}

func (a *agent) path(names ...string) string {
	return filepath.Join(append([]string{a.top}, names...)...)
}

func (a *agent) project(names ...string) string {
	return a.path(append([]string{"project"}, names...)...)
}

func (a *agent) state(names ...string) string {
	return a.path(append([]string{"state", "gaffer"}, names...)...)
}

// documents returns the path of a file in the folder where gaffer stores the JSON documents about
// this run. Without names, it returns the path of the folder.
func (a *agent) documents(names ...string) string {
	return a.project(append([]string{".founder-mode", "status", "sessions", os.Getenv("GAFFER_RUN")}, names...)...)
}

// siblingFolder returns the folder of the sibling's attempt in gaffer's state folder, or "" if the
// sibling has not started.
func (a *agent) siblingFolder() string {
	for _, pattern := range []string{a.state("attempts", "*", "*"), a.state("workers", "*", "attempts", "*", "*"), a.state("workers", "*", "attempts", "*")} {
		list, _ := filepath.Glob(pattern) // ignore the error: the pattern is valid
		for _, dir := range list {
			if _, err := os.Stat(filepath.Join(dir, "started.json")); err == nil && !strings.Contains(dir, a.attempt) {
				return dir
			}
		}
	}
	return ""
}

func (a *agent) write(path, text string) {
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		fmt.Fprintln(os.Stderr, "hostile:", err)
	}
}
