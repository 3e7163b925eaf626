package discover

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"gaffer/internal/byhand/hookevents"
	"gaffer/statefile/jsontree"
)

const (
	// firstTail is how many bytes at the end of Codex's log are read first. They usually contain
	// the line that starts or the line that ends Codex's last turn. If they contain neither,
	// maxTail bytes are read.
	firstTail = 64 << 10
	maxTail   = 1 << 20
	maxRow    = 256 << 10 // maximum length of a line, in bytes; longer lines are skipped
)

// readRollout reads the state of a Codex thread from the end of its rollout, which is Codex's log
// of the thread. The parameter path is the path of the log. If it is not a regular file,
// readRollout returns nil without an error.
func readRollout(path string) (*Rollout, error) {
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }() // ignore the error: the file was only read
	info, err := file.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return nil, err
	}
	r := &Rollout{}
	for _, limit := range []int64{firstTail, maxTail} {
		from := max(0, info.Size()-limit)
		tail, err := io.ReadAll(io.NewSectionReader(file, from, limit))
		if err != nil {
			return nil, err
		}
		if r = parseRollout(tail); r.Status != "" || from == 0 {
			break
		}
	}
	r.Thread = threadOf(path)
	return r, nil
}

// threadOf returns the id of a Codex thread, which is the last part of the name of the thread's log
// file. It returns "" if the name does not contain an id.
func threadOf(path string) string {
	const length = len("01234567-89ab-cdef-0123-456789abcdef")
	name := strings.TrimSuffix(filepath.Base(path), ".jsonl")
	if len(name) < length || !hookevents.IsFileNameSafe(name[len(name)-length:]) {
		return ""
	}
	return name[len(name)-length:]
}

// parseRollout parses the last part of Codex's log of a thread. It reads the lines backwards until
// it has found the status and the number of tokens. The status is in the last line that starts or
// ends a turn of Codex. The number of tokens is in an earlier line than the end of the turn, so
// parseRollout may have to read on after it has found the status. It ignores an incomplete line at
// the beginning of the parameter tail.
func parseRollout(tail []byte) *Rollout {
	r := &Rollout{}
	for len(tail) > 0 && (r.Status == "" || r.Tokens == 0) {
		tail = bytes.TrimRight(tail, "\n")
		at := bytes.LastIndexByte(tail, '\n') + 1
		r.applyRow(tail[at:])
		tail = tail[:at]
	}
	return r
}

func (r *Rollout) applyRow(row []byte) {
	if len(row) > maxRow || !bytes.Contains(row, []byte(`"event_msg"`)) {
		return
	}
	doc, err := jsontree.Parse(row)
	if err != nil || doc.Value().Get("type").Text() != "event_msg" {
		return
	}
	payload := doc.Value().Get("payload")
	kind := payload.Get("type").Text()
	if kind == "token_count" && r.Tokens == 0 {
		r.Tokens, _ = payload.Get("info").Get("last_token_usage").Get("total_tokens").Int()
		r.Context, _ = payload.Get("info").Get("model_context_window").Int()
	}
	if r.Status != "" { // a later line of the log, which was read before, has set the status
		return
	}
	switch kind {
	case "task_started":
		r.Status = hookevents.Running
	case "task_complete":
		r.Status, r.Error = hookevents.Idle, hookevents.OneLine(payload.Get("error").Get("message").Text())
	case "turn_aborted":
		r.Status = hookevents.Idle
	default:
		return
	}
	r.Since, _ = time.Parse(time.RFC3339, doc.Value().Get("timestamp").Text())
}
