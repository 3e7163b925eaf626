package agent

import (
	"fmt"
	"strconv"
	"strings"
)

// claudeCost is the prefix of the ids of requests by which gaffer asks Claude Code what it has spent.
const claudeCost = "gaffer-cost-"

// askCost returns a request for what the program has spent so far. The program prints the tokens of
// each message, but its cost only with the result.
func (c *claudeReader) askCost() Signal {
	c.costRequests++
	id := fmt.Sprint(claudeCost, c.costRequests)
	return Signal{ReplyTo: id, Reply: encode(object{"type": "control_request", "request_id": id, "request": object{"subtype": "get_session_cost"}})}
}

// cost handles the answer to a request of askCost. The answer is a text for people, in which small
// amounts have four decimal places. After the program's result, which has the exact cost, the
// answer is ignored.
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
