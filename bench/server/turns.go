package main

import (
	"bytes"
	"fmt"
)

// workerID is a worker of gaffer's own, which is none of the protocol's agents.
func workerID(i int) string { return fmt.Sprintf("worker-%04d", i) }

// turner does as gaffer's own workers do: one claim to begin with, and then one
// request that ends what it has and claims the next. It takes from the same queue
// as the protocol's agents, by the label that the tasks of a channel have.
func (b *bench) turner(worker, channel string, left *int, all *claiming) func(answer) ([]byte, *result) {
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
			return b.server.request("POST", "/v1/work/turn", turnOf(last.body, labels, more)), &all.finish
		}
	}
}

// turnOf ends the attempt of an answer, and claims the next unless there is no more.
func turnOf(body []byte, labels string, more bool) string {
	finish := fmt.Sprintf(`"finish":{"attempt":%q,"token":%s,"exit":0,"summary":"it is about tasks"}`, member(body, "id"), number(body, "token"))
	if !more {
		return "{" + finish + "}"
	}
	return "{" + finish + `,"claim":{` + labels + "}}"
}

// number returns a member of an answer that is a number.
func number(body []byte, name string) []byte {
	_, rest, _ := bytes.Cut(body, []byte(`"`+name+`":`))
	end := bytes.IndexAny(rest, ",}")
	return rest[:max(end, 0)]
}
