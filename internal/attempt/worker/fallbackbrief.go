package worker

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"gaffer/fleet"
	"gaffer/internal/attempt/account"
	"gaffer/internal/attempt/agent"
	"gaffer/internal/engine"
	"gaffer/internal/engine/failure"
	"gaffer/internal/plan"
	"gaffer/internal/text/truncate"
)

// account returns the user's account with this name for an agent. The empty name means the account
// that the agent program uses by default, which every worker has. ok is false if the worker has no
// account with the name.
func (w *Worker) account(agent, name string) (_ account.Account, ok bool) {
	for _, a := range w.opts.Accounts {
		if a.Agent == agent && a.Name == name {
			return a, true
		}
	}
	return account.Account{}, name == ""
}

// conversation returns how the agent of this attempt learns what happened in the previous attempt.
// own is the account of this attempt. There are three cases:
//   - If there is no previous attempt, or another worker ran it, or the task runs a command instead
//     of an agent, the result is empty.
//   - If the previous attempt had the same agent, this attempt continues its conversation, unless a
//     new one was requested. If the conversation belongs to another account, it is first copied to
//     own.
//   - If the copy fails, or if the previous attempt had another agent, the agent begins a new
//     conversation, and the result has a handover.
func (h *heldAttempt) conversation(spec plan.Task, own account.Account) conversation {
	before, thread := h.Before, earlierThread(h.Assignment, spec)
	if before == nil || before.Worker != h.Attempt.Worker || len(spec.Argv) > 0 {
		return conversation{}
	}
	if thread != "" && before.Account != h.Attempt.Account {
		if err := h.copyConversation(spec, thread, own); err != nil {
			if !errors.Is(err, account.ErrNoConversation) {
				h.worker.opts.Notice(fmt.Sprintf("task %s: %v; its agent begins a new conversation", h.Task.Task, err))
			}
			return conversation{handover: h.handover(spec)}
		}
	}
	if thread == "" && !sameAgent(h.Assignment, spec) {
		return conversation{handover: h.handover(spec)}
	}
	return conversation{thread: thread}
}

// copyConversation copies the previous attempt's conversation from the account of that attempt to
// the account own.
func (h *heldAttempt) copyConversation(spec plan.Task, thread string, own account.Account) error {
	name, _ := engine.AgentOfAttempt(spec, h.Attempt.Fallback)
	from, ok := h.worker.account(name, h.Before.Account)
	if !ok {
		return account.ErrNoConversation
	}
	from.Kind, own.Kind = firstKind(from, own), firstKind(own, from)
	return account.CopyConversation(thread, from, own, os.Getenv)
}

// firstKind returns the kind of account a, or the kind of account b if a has none. The kind is the
// name of the built-in agent, such as claude, whose protocol is used with the account. The account
// that an agent program uses by default has no kind.
func firstKind(a, b account.Account) string {
	if a.Kind != "" {
		return a.Kind
	}
	return b.Kind
}

// handover returns a text for the prompt of this attempt. It tells the new agent what the agent of
// the previous attempt has done.
func (h *heldAttempt) handover(spec plan.Task) string {
	before := h.Before
	name, _ := engine.AgentOfAttempt(spec, before.Fallback)
	var b strings.Builder
	fmt.Fprintf(&b, "\n\n---\nAnother agent (%s) has worked on this task before you", name)
	if before.Class == failure.RateLimited {
		b.WriteString(", until it reached its rate limit")
	}
	b.WriteString(". The work in this folder is its work. Look at it first, and continue it; do not begin again.\n")
	if messages := lastMessages(h.worker.opts.Workspace.Log(h.Task), before.LogFrom); len(messages) > 0 {
		b.WriteString("\nIts last messages:\n")
		for _, text := range messages {
			b.WriteString("\n" + text + "\n")
		}
	}
	var diff fleet.Diff
	if json.Unmarshal(before.Diff, &diff) == nil && len(diff.Files) > 0 {
		b.WriteString("\nThe files that it has changed:\n")
		for _, f := range diff.Files[:min(len(diff.Files), handoverFiles)] {
			fmt.Fprintf(&b, "- %s\n", f.Path)
		}
		if more := diff.Changed - handoverFiles; more > 0 {
			fmt.Fprintf(&b, "- and %d more\n", more)
		}
	}
	return b.String()
}

const (
	handoverFiles    = 100       // maximum number of changed files that a handover lists
	handoverMessages = 3         // maximum number of messages of the previous agent that a handover repeats
	handoverChars    = 2000      // maximum length of a message in a handover, in characters
	handoverLog      = 512 << 10 // number of bytes at the end of the log to search for messages
)

// lastMessages returns the agent's last messages in a log. It searches only the last handoverLog
// bytes of the log. It first searches only the bytes from offset on, which are the output of the
// previous attempt. If it finds no messages there, it also searches the bytes before offset.
func lastMessages(log string, offset int64) []string {
	f, err := os.Open(log)
	if err != nil {
		return nil
	}
	defer func() { _ = f.Close() }() // ignore the error: the file was only read
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return nil
	}
	for _, from := range []int64{max(offset, info.Size()-handoverLog), max(0, info.Size()-handoverLog)} {
		if list := messagesIn(io.NewSectionReader(f, from, info.Size()-from)); len(list) > 0 {
			return list
		}
	}
	return nil
}

func messagesIn(r io.Reader) (list []string) {
	var t agent.Transcript
	add := func(entries []agent.Entry) {
		for _, e := range entries {
			if e.Kind == agent.AgentText {
				list = append(list, truncate.Chars(e.Text, handoverChars))
			}
		}
	}
	in := bufio.NewReader(r)
	for {
		line, err := in.ReadBytes('\n')
		entries, _ := t.Line(bytes.TrimRight(line, "\r\n"))
		if add(entries); err != nil {
			break
		}
	}
	add(t.End())
	return list[max(0, len(list)-handoverMessages):]
}
