package agent

import (
	"bytes"
	"encoding/json"
)

// What stands for that part of a result which is too long to be read.
const (
	unknownDenials = "the result is too long to be read, so nobody knows whether something was denied"
	unreadDenial   = `{"tool_name":"a tool with a long input"}`
)

// cutResult reads a result that is longer than a line may be, as it is if much
// was denied: each denial has its whole input. What stands before the cut is
// read; a success whose denials were not come to is none.
func cutResult(line []byte) (claudeResult, bool) {
	var r claudeResult
	if len(line) < MaxLine || !bytes.HasPrefix(line, []byte(`{"type":"result"`)) {
		return r, false
	}
	members := leading(line)
	decode(encode(members), &r)
	if _, ok := members["permission_denials"]; !ok && string(r.IsError) == "false" {
		r.IsError, r.Result, r.Errors = nil, "", []string{unknownDenials}
	}
	return r, true
}

// leading are the members of a result before the cut.
func leading(line []byte) map[string]json.RawMessage {
	members := map[string]json.RawMessage{}
	d := json.NewDecoder(bytes.NewReader(line))
	_, _ = d.Token() // {
	for {
		token, _ := d.Token()
		name, ok := token.(string)
		if !ok {
			return members
		}
		if name == "permission_denials" {
			members[name] = denials(d)
			return members // what follows tells only of errors how they came about
		}
		var value json.RawMessage
		if d.Decode(&value) != nil {
			return members
		}
		members[name] = value
	}
}

// denials is the list that follows. Something stands for the one that was cut.
func denials(d *json.Decoder) json.RawMessage {
	list := []json.RawMessage{}
	_, err := d.Token() // [
	for err == nil && d.More() {
		var value json.RawMessage
		if err = d.Decode(&value); err == nil {
			list = append(list, value)
		}
	}
	if end, _ := d.Token(); end != json.Delim(']') {
		list = append(list, json.RawMessage(unreadDenial))
	}
	return encode(list)
}
