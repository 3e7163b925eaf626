package agent

import (
	"fmt"
	"strconv"
	"strings"
)

// claudeCost is the prefix of the ids of requests by which gaffer asks Claude Code for its cost so
// far.
const claudeCost = "gaffer-cost-"

// askCost returns a request that asks Claude Code for its cost so far. Claude Code reports the
// tokens of each message by itself, but the cost only in its result.
func (c *claudeReader) askCost() Signal {
	c.costRequests++
	id := fmt.Sprint(claudeCost, c.costRequests)
	return Signal{ReplyTo: id, Reply: encode(object{"type": "control_request", "request_id": id, "request": object{"subtype": "get_session_cost"}})}
}

// cost handles the answer to a request of askCost. The answer is a text for people, with the cost
// in a line such as "Total cost: $0.0123". If Claude Code has already printed its result, cost
// ignores the answer, because the result has the exact cost.
func (c *claudeReader) cost(l claudeLine) []Signal {
	closed := Signal{Closed: l.Response.RequestID}
	for line := range strings.Lines(l.Response.Response.Text) {
		text, ok := strings.CutPrefix(line, "Total cost:")
		if !ok {
			continue
		}
		amount, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimSpace(text), "$"), " ")
		usd, err := strconv.ParseFloat(strings.ReplaceAll(amount, ",", ""), 64)
		if err != nil || !(usd > c.usage.USD) || c.final != nil {
			break
		}
		c.usage.USD = usd
		used := c.usage
		closed.Usage = &used
		break
	}
	return []Signal{closed}
}
