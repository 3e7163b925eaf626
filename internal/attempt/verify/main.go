package verify

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"

	"gaffer/statefile"
	"gaffer/statefile/host"
	"gaffer/workflow"
)

// Exit codes of [Main].
const (
	exitPassed = 0
	exitFailed = 1
	exitUsage  = 2
)

// AttemptVariable is the environment variable with the number of the task's current attempt. The
// first attempt has the number 1, which is also the default.
const AttemptVariable = "GAFFER_ATTEMPT_NUMBER"

// Main is the main function of the command `gaffer verify CHECKS.json`. It reads a [Request] from
// that file, runs its checks, and writes the [Outcome] to CHECKS.attempt-N.json in the same folder.
// N is the number of the task's attempt. Main prints the failed checks and the summary. It returns
// 0 if all checks passed, 2 if the arguments or the request are invalid, and 1 otherwise. If it is
// interrupted, it writes no outcome.
func Main(args []string, stdout, stderr io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if len(args) != 1 {
		fmt.Fprintln(stderr, "gaffer verify: want one argument, the file with the checks")
		return exitUsage
	}
	passed, err := verifyFile(ctx, args[0], os.Getenv(AttemptVariable), stdout)
	if err != nil {
		fmt.Fprintf(stderr, "gaffer verify: %s\n", printable(err.Error()))
	}
	var bad interface{ Invalid() bool }
	switch {
	case errors.As(err, &bad) && bad.Invalid():
		return exitUsage
	case err != nil || !passed:
		return exitFailed
	}
	return exitPassed
}

func verifyFile(ctx context.Context, path, attempt string, stdout io.Writer) (bool, error) {
	target, err := outcomePath(path, attempt)
	if err != nil {
		return false, err
	}
	request, err := Load(path)
	if err != nil {
		return false, err
	}
	outcome := Run(ctx, request, FindTools())
	if ctx.Err() != nil {
		return false, errors.New("stopped before all checks were made")
	}
	data, err := json.MarshalIndent(outcome, "", "  ")
	if err != nil {
		return false, err
	}
	if err := writeFile(host.OS(), target, append(data, '\n')); err != nil {
		return false, err
	}
	_, err = io.WriteString(stdout, report(outcome))
	return outcome.Passed, err
}

// OutcomePath returns the path of the file to which [Main] writes the outcome of the attempt with
// this number. The parameter request is the path of the file with the request.
func OutcomePath(request string, attempt int) string {
	return fmt.Sprintf("%s.attempt-%d.json", strings.TrimSuffix(request, ".json"), attempt)
}

func outcomePath(request, attempt string) (string, error) {
	if attempt == "" {
		attempt = "1"
	}
	n, err := strconv.Atoi(attempt)
	if err != nil || n < 1 {
		return "", &RequestError{AttemptVariable, fmt.Sprintf("is %q, want a whole number from 1", shorten(attempt))}
	}
	return OutcomePath(request, n), nil
}

// Load reads a request from a file. It returns a [*RequestError] if the file is missing
// or invalid. Unknown fields are errors, because their names may be misspelt.
func Load(path string) (Request, error) {
	data, err := statefile.ReadBytes(host.OS(), path)
	if err != nil {
		return Request{}, &RequestError{Problem: err.Error()}
	}
	var r Request
	in := json.NewDecoder(bytes.NewReader(data))
	in.DisallowUnknownFields()
	if err := in.Decode(&r); err != nil {
		return Request{}, &RequestError{path, err.Error()}
	}
	if in.More() {
		return Request{}, &RequestError{path, "has more than one JSON value"}
	}
	if err := r.Validate(); err != nil {
		return Request{}, &RequestError{path, err.Error()}
	}
	return r, nil
}

// reportSize is the maximum size of a report, in bytes. Of a longer output of a failed verify
// command, the agent's next attempt would receive only the last part.
const reportSize = 2000

// report returns the text that [Main] prints: the names of the failed checks, the summary, and as
// much output of the failed checks as fits into reportSize.
func report(o Outcome) string {
	var heads, outputs []string
	size := len(o.Summary) + 1
	for i, c := range o.Checks {
		if c.Result == workflow.Pass {
			continue
		}
		head := "failed: " + c.Name + "\n"
		if size += len(head); size > reportSize {
			break // the report is full; the summary has the number of passed checks
		}
		heads, outputs = append(heads, head), append(outputs, o.Details[i].Output)
	}
	var b strings.Builder
	for i, head := range heads {
		room := (reportSize - size) / (len(heads) - i)
		text := indentedEnd(outputs[i], room)
		size += len(text)
		b.WriteString(head + text)
	}
	return b.String() + o.Summary + "\n"
}

// indentedEnd returns the last part of text as indented lines, with at most room bytes in total.
func indentedEnd(text string, room int) string {
	const margin = "  "
	lines := strings.Split(text, "\n")
	from, size := len(lines), 0
	for from > 0 && size+len(margin)+len(lines[from-1])+1 <= room {
		from--
		size += len(margin) + len(lines[from]) + 1
	}
	if text == "" || from == len(lines) && room < 10*len(margin) {
		return ""
	}
	if from == len(lines) { // even the last line alone is too long, so cut it
		from--
		lines[from] = strings.ToValidUTF8(lines[from][len(lines[from])-(room-len(margin)-1):], "")
	}
	return margin + strings.Join(lines[from:], "\n"+margin) + "\n"
}
