package mcp_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

const (
	clients = 20
	each    = 6 // number of calls of each changing tool, per client
)

// Twenty clients, each with its own server, call all tools at the same time.
func TestTwentyServersAtOnceLoseNothing(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	p.run("team", "init", "Requirements")
	all := make([]*client, clients)
	for i := range all {
		all[i] = p.serve(nil)
	}
	var mu sync.Mutex
	messages, taken, items := map[string]bool{}, map[string]int{}, map[string]bool{}
	together(clients, func(i int) {
		c := all[i]
		together(each, func(j int) {
			var added struct{ Item struct{ ID string } }
			c.call("inbox_add", fmt.Sprintf(`{"type": "feature", "content": "item %d of %d"}`, j, i), &added)
			c.call("event_emit", fmt.Sprintf(`{"kind": "checkpoint-saved", "fields": {"summary": "event %d of %d"}}`, j, i), nil)
			var sent struct{ ID string }
			c.call("message_send", fmt.Sprintf(`{"from": "developer", "group": "G%d", "subject": "message %d of %d"}`, i, j, i), &sent)
			c.call("step_finish", fmt.Sprintf(`{"step": "state-owner-scan", "summary": "%d of %d"}`, j, i), nil)
			mu.Lock()
			messages[sent.ID], items[added.Item.ID] = true, true
			mu.Unlock()
		})
		together(each, func(int) {
			var got struct {
				Taken bool
				Item  struct{ ID string }
			}
			c.call("inbox_take", `{}`, &got)
			mu.Lock()
			taken[got.Item.ID]++
			mu.Unlock()
		})
	})
	if len(items) != clients*each || len(messages) != clients*each {
		t.Errorf("%d items and %d messages have an id of their own, want %d of each", len(items), len(messages), clients*each)
	}
	// Together the clients have taken as many items as they added, so each item was taken once.
	for id := range items {
		if taken[id] != 1 {
			t.Errorf("item %s was taken %d times", id, taken[id])
		}
	}
	var box []struct{ ID, Content, Status string }
	p.document(".fctry/inbox.json", &box)
	var mail struct {
		Messages []struct{ ID, Subject string }
	}
	p.document("coordination/messages/dev_to_qa.json", &mail)
	if len(box) != clients*each || len(mail.Messages) != clients*each {
		t.Errorf("%d items are in the inbox and %d messages were sent, want %d of each", len(box), len(mail.Messages), clients*each)
	}
	feed := p.feed()
	for i := range clients {
		for j := range each {
			if want := fmt.Sprintf("event %d of %d", j, i); feed[want] != 1 {
				t.Errorf("%s is %d times in the feed", want, feed[want])
			}
		}
	}
	var state struct{ CompletedSteps []string }
	p.document(".fctry/state.json", &state)
	if len(state.CompletedSteps) != 1 {
		t.Errorf("complete: %v", state.CompletedSteps)
	}
}

// together calls fn n times concurrently.
func together(n int, fn func(i int)) {
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { fn(i) })
	}
	all.Wait()
}

// feed returns, for each summary, how often it occurs in the activity feed and its archive.
func (p project) feed() map[string]int {
	p.t.Helper()
	type event struct{ Summary string }
	var state struct{ BuildEvents []event }
	p.document(".fctry/state.json", &state)
	events := state.BuildEvents
	old, err := filepath.Glob(filepath.Join(p.root, ".fctry", "build-events", "*.json"))
	if err != nil {
		p.t.Fatal(err)
	}
	var archived struct{ BuildEventsArchived int }
	p.document(".fctry/state.json", &archived)
	moved := map[string][]event{}
	for _, path := range old {
		var batch []event
		data, err := os.ReadFile(path)
		if err == nil {
			err = json.Unmarshal(data, &batch)
		}
		if err != nil {
			p.t.Fatal(err)
		}
		moved[strings.SplitN(filepath.Base(path), "-", 2)[0]] = batch
	}
	for at, batch := range moved {
		var n int
		if _, err := fmt.Sscanf(at, "%d", &n); err != nil {
			p.t.Fatal(err)
		}
		if n < archived.BuildEventsArchived {
			events = append(events, batch...)
		}
	}
	count := map[string]int{}
	for _, e := range events {
		count[e.Summary]++
	}
	return count
}
