//go:build linux

package main

import (
	"bytes"
	"fmt"
)

// workerID returns the id of gaffer's worker with the index i. Agents of the coordinator protocol
// have other ids; see agentID.
func workerID(i int) string { return fmt.Sprintf("worker-%04d", i) }

// workerRequests returns a function that returns the next request of one of gaffer's workers. The
// first request is a claim. Each later request finishes the current task and claims the next one;
// the last request only finishes. left is the number of claims that the workers together may still
// send. The label in a claim selects the tasks of the channel.
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

// turnBody returns the body of a request that finishes an attempt. body is the answer with which
// the server assigned that attempt to the worker. If claimNext is true, the request also claims the
// next task.
func turnBody(body []byte, labels string, claimNext bool) string {
	finish := fmt.Sprintf(`"finish":{"attempt":%q,"token":%s,"exit":0,"summary":"it is about tasks"}`, member(body, "id"), numberMember(body, "token"))
	if !claimNext {
		return "{" + finish + "}"
	}
	return "{" + finish + `,"claim":{` + labels + "}}"
}

// numberMember returns the text of the value of the first member called name in a JSON text, or an
// empty slice if there is none. The caller must know that the value is a number.
func numberMember(body []byte, name string) []byte {
	_, rest, _ := bytes.Cut(body, []byte(`"`+name+`":`))
	end := bytes.IndexAny(rest, ",}")
	return rest[:max(end, 0)]
}
