package main

import (
	"bytes"
	"fmt"
)

// workerID returns the id of one of gaffer's own workers. These are not agents of the
// protocol.
func workerID(i int) string { return fmt.Sprintf("worker-%04d", i) }

// workerRequests returns the requests of one of gaffer's own workers: first a claim, and then
// requests that each finish the current task and claim the next one. The worker's label
// selects the tasks of the channel, which is the queue of the protocol's agents too.
func (b *bench) workerRequests(worker, channel string, left *int, all *claiming) func(answer) ([]byte, *result) {
	labels := fmt.Sprintf(`"worker":%q,"labels":["channel:%s"]`, worker, channel)
	held := false
	return func(last answer) ([]byte, *result) {
		*left--
		switch more := *left >= 0; {
		case !held && !more:
			return nil, nil
		case !held:
			held = true
			b.keys++
			return b.server.request("POST", "/v1/work/claim", fmt.Sprintf(`{%s,"key":"%d"}`, labels, b.keys)), &all.claim
		default:
			held = more
			return b.server.request("POST", "/v1/work/turn", turnBody(last.body, labels, more)), &all.finish
		}
	}
}

// turnBody returns a request body that finishes the attempt in an answer. If more is true,
// it also claims the next task.
func turnBody(body []byte, labels string, more bool) string {
	finish := fmt.Sprintf(`"finish":{"attempt":%q,"token":%s,"exit":0,"summary":"it is about tasks"}`, member(body, "id"), numberMember(body, "token"))
	if !more {
		return "{" + finish + "}"
	}
	return "{" + finish + `,"claim":{` + labels + "}}"
}

// numberMember returns the value of a numeric member of an answer.
func numberMember(body []byte, name string) []byte {
	_, rest, _ := bytes.Cut(body, []byte(`"`+name+`":`))
	end := bytes.IndexAny(rest, ",}")
	return rest[:max(end, 0)]
}
