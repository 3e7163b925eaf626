package agent

import (
	"bytes"
	"encoding/json"
)

// A result line of Claude Code that is too long is cut. These texts replace its missing part.
const (
	unknownDenials = "the result is too long to read, so it is unknown whether something was denied"
	unreadDenial   = `{"tool_name":"a tool with a long input"}`
)

// readLongResult reads a result line of Claude Code that was cut at MaxLine bytes. A result gets
// that long if many requests were denied, because each denial contains the whole input of its
// request. readLongResult reads the JSON members before the cut. If the list of denials is missing,
// a success becomes a failure, because it is unknown whether something was denied. For any line
// that is not a cut result, readLongResult returns false.
func readLongResult(line []byte) (claudeResult, bool) {
	var r claudeResult
	if len(line) < MaxLine || !bytes.HasPrefix(line, []byte(`{"type":"result"`)) {
		return r, false
	}
	members := membersBeforeCut(line)
	decode(encode(members), &r)
	if _, ok := members["permission_denials"]; !ok && string(r.IsError) == "false" {
		r.IsError, r.Result, r.Errors = nil, "", []string{unknownDenials}
	}
	return r, true
}

// membersBeforeCut returns the members of the JSON object in line, up to and including the list of
// denied requests. If line was cut within that list, the returned list ends with a placeholder. If
// line was cut within another member, that member is left out.
func membersBeforeCut(line []byte) map[string]json.RawMessage {
	members := map[string]json.RawMessage{}
	d := json.NewDecoder(bytes.NewReader(line))
	_, _ = d.Token() // skip the opening brace
	for {
		token, _ := d.Token()
		name, ok := token.(string)
		if !ok {
			return members
		}
		if name == "permission_denials" {
			members[name] = readDenials(d)
			return members // ignore the members after permission_denials
		}
		var value json.RawMessage
		if d.Decode(&value) != nil {
			return members
		}
		members[name] = value
	}
}

// readDenials reads the list of denied requests. If the list was cut, the last entry that
// readDenials returns is the placeholder unreadDenial.
func readDenials(d *json.Decoder) json.RawMessage {
	list := []json.RawMessage{}
	_, err := d.Token() // read the opening bracket
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
