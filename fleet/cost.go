package fleet

import (
	"encoding/csv"
	"io"
	"strconv"
	"strings"
	"time"
)

// CostGrouping is the property by which a cost report groups attempts, such as their day or their
// agent.
type CostGrouping string

// The groupings of a cost report.
const (
	CostByDay     CostGrouping = "day"
	CostByAgent   CostGrouping = "agent"
	CostByModel   CostGrouping = "model"
	CostByAccount CostGrouping = "account"
	CostByProject CostGrouping = "project"
	CostByRun     CostGrouping = "run"
)

// CostGroupings returns all groupings.
func CostGroupings() []CostGrouping {
	return []CostGrouping{CostByDay, CostByAgent, CostByModel, CostByAccount, CostByProject, CostByRun}
}

// CostQuery selects the attempts of a cost report, and says how the report groups them.
type CostQuery struct {
	Project string    // path or name of the project to report on; empty means all projects
	Since   time.Time // leaves out attempts that started before this time; zero means no limit
	Until   time.Time // leaves out attempts that started at this time or later; zero means no limit
	By      CostGrouping
	Zone    *time.Location // time zone in which a day begins and ends; nil means UTC
}

// CostReport says what attempts have cost. For running attempts it includes what they have reported
// so far. Attempts that run a command instead of an agent are included only if they report a cost.
type CostReport struct {
	By    CostGrouping `json:"by"`
	Zone  string       `json:"tz"`
	Since time.Time    `json:"since,omitzero"`
	Until time.Time    `json:"until,omitzero"`
	Total CostRow      `json:"total"`
	// Rows has one row for each group. Days and runs are sorted by time, the latest first. Other
	// groups are sorted by cost, the highest first.
	Rows []CostRow `json:"rows"`
	Days []CostRow `json:"days"` // the same attempts by day, oldest first; days without an attempt are missing
	// Hours has the same attempts by hour, if all of them started on one day. An hour's key has the
	// form 2026-11-18T09.
	Hours []CostRow `json:"hours,omitempty"`
	// Budgets has the runs with a budget that are running or have an attempt in this report. The
	// run that has used the largest share of its budget comes first.
	Budgets []RunBudget `json:"budgets"`
	// Limits has the user's limits for the current day and month, of all projects. They do not
	// depend on the time span of the report.
	Limits []CostLimit `json:"limits,omitempty"`
}

// CostRow is the cost of a group of attempts.
type CostRow struct {
	// Key identifies the group: a day such as 2026-11-18, the name of an agent, model, account or
	// project, or the id of a run. It is empty in a total, and in the group of attempts that have,
	// for example, no account.
	Key      string   `json:"key"`
	Name     string   `json:"name,omitempty"`    // name of the run; empty in other groups
	Project  string   `json:"project,omitempty"` // project of the run; empty in other groups
	Status   Status   `json:"status,omitempty"`  // status of the run; empty in other groups
	Attempts int      `json:"attempts"`
	Running  int      `json:"running,omitempty"` // number of running attempts
	USD      *float64 `json:"usd"`               // cost of the attempts whose cost is known; null if none is
	Unknown  int      `json:"unknown,omitempty"` // number of attempts whose cost is unknown
	Tokens   int64    `json:"tokens"`            // tokens that were read and written
	// The parts of Tokens, for the attempts that have reported them. Cached is a part of Input.
	Input     int64 `json:"input"`
	Output    int64 `json:"output"`
	Cached    int64 `json:"cached"`
	Uncounted int   `json:"uncounted,omitempty"` // number of attempts whose tokens, or the parts of their tokens, are unknown
}

// RunBudget is the budget of a run and what the run has spent, including what its running attempts
// have spent so far. It does not depend on the time span of the report.
type RunBudget struct {
	Run     string `json:"run"`
	Name    string `json:"name,omitempty"`
	Project string `json:"project,omitempty"`
	Status  Status `json:"status"`
	Spent   Cost   `json:"spent"`
	Budget  Cost   `json:"budget"`
}

// Share returns the part of the budget that is spent: 1 is all of it. If money and tokens are
// limited, the greater part counts.
func (b RunBudget) Share() (share float64) { return b.Spent.Share(b.Budget) }

// CostLimit is a limit that the user has set for the cost of all runs in a day or a month, and what
// was spent of it so far.
type CostLimit struct {
	Period  string    `json:"period"`            // day or month
	Key     string    `json:"key"`               // the current day, such as 2026-11-18, or month, such as 2026-11
	Account string    `json:"account,omitempty"` // the account that is limited; empty if the limit is for all accounts
	Spent   Cost      `json:"spent"`
	Limit   Cost      `json:"limit"`
	Left    Cost      `json:"left"`
	Until   time.Time `json:"until"` // when the next day or month begins
}

// Share returns the part of the limit that is spent: 1 is all of it.
func (l CostLimit) Share() float64 { return l.Spent.Share(l.Limit) }

// WriteCSV writes the field Rows of the report as CSV (RFC 4180), with a heading. It writes an
// unknown cost as the word unknown. Names come from plans and projects, so WriteCSV puts an
// apostrophe before a text that a spreadsheet would take for a formula.
func (r CostReport) WriteCSV(to io.Writer) error {
	out := csv.NewWriter(to)
	out.UseCRLF = true
	head := []string{string(r.By)}
	if r.By == CostByRun {
		head = append(head, "name", "project", "status")
	}
	head = append(head, "attempts", "running", "cost_usd", "attempts_of_unknown_cost", "tokens", "input_tokens", "output_tokens", "cached_tokens")
	if err := out.Write(head); err != nil {
		return err
	}
	for _, row := range r.Rows {
		line := []string{plainCell(row.Key)}
		if r.By == CostByRun {
			line = append(line, plainCell(row.Name), plainCell(row.Project), plainCell(string(row.Status)))
		}
		usd := "unknown"
		if row.USD != nil {
			usd = strconv.FormatFloat(*row.USD, 'f', -1, 64)
		}
		line = append(line, strconv.Itoa(row.Attempts), strconv.Itoa(row.Running), usd, strconv.Itoa(row.Unknown))
		for _, n := range []int64{row.Tokens, row.Input, row.Output, row.Cached} {
			line = append(line, strconv.FormatInt(n, 10))
		}
		if err := out.Write(line); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}

// plainCell returns a text with an apostrophe in front if a spreadsheet would treat the text as a
// formula. It returns other texts unchanged.
func plainCell(text string) string {
	if text != "" && strings.ContainsRune("=+-@\t\r\n＝＋－＠", []rune(text)[0]) {
		return "'" + text
	}
	return text
}
