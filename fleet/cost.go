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

// The values of CostGrouping.
const (
	CostByDay     CostGrouping = "day"
	CostByAgent   CostGrouping = "agent"
	CostByModel   CostGrouping = "model"
	CostByAccount CostGrouping = "account"
	CostByProject CostGrouping = "project"
	CostByRun     CostGrouping = "run"
)

// CostGroupings returns all values of CostGrouping.
func CostGroupings() []CostGrouping {
	return []CostGrouping{CostByDay, CostByAgent, CostByModel, CostByAccount, CostByProject, CostByRun}
}

// CostQuery selects the attempts of a cost report, and says how the report groups them. An attempt
// is selected if it started between Since and Until.
type CostQuery struct {
	Project string    // path or name of the project to report on; empty means all projects
	Since   time.Time // start of the period of time; zero means no limit
	Until   time.Time // end of the period, exclusive; zero means no limit
	By      CostGrouping
	Zone    *time.Location // time zone that determines when a day begins; nil means UTC
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
	Days []CostRow `json:"days"` // the cost of each day, oldest first; days without attempts are left out
	// Hours has the cost of each hour. It is set only if all attempts of the report started on the
	// same day. CostRow.Key of an hour has the form 2026-11-18T09.
	Hours []CostRow `json:"hours,omitempty"`
	// Budgets has the runs with a budget that are running now or have an attempt in this report.
	// The run that has spent the largest part of its budget comes first.
	Budgets []RunBudget `json:"budgets"`
	// Limits has the limits that the user has set for the cost of a day or a month, with the
	// amounts spent in the current day and month. These are the same whatever period and project
	// the report is about.
	Limits []CostLimit `json:"limits,omitempty"`
}

// CostRow is the cost of a group of attempts.
type CostRow struct {
	// Key identifies the group: a day such as 2026-11-18, the name of an agent, model, account or
	// project, or the id of a run. Key is empty in CostReport.Total. It is also empty for
	// attempts that lack the property of the grouping, for example a model.
	Key      string   `json:"key"`
	Name     string   `json:"name,omitempty"`    // name of the run; empty if the group is not a run
	Project  string   `json:"project,omitempty"` // project of the run; empty if the group is not a run
	Status   Status   `json:"status,omitempty"`  // status of the run; empty if the group is not a run
	Attempts int      `json:"attempts"`
	Running  int      `json:"running,omitempty"` // number of running attempts
	USD      *float64 `json:"usd"`               // sum of the known costs; null if no attempt has a known cost
	Unknown  int      `json:"unknown,omitempty"` // number of attempts whose cost is unknown
	Tokens   int64    `json:"tokens"`            // input and output tokens
	// Input and Output are the two parts of Tokens, and Cached is a part of Input. They do not
	// include attempts that have reported only a total number of tokens.
	Input     int64 `json:"input"`
	Output    int64 `json:"output"`
	Cached    int64 `json:"cached"`
	Uncounted int   `json:"uncounted,omitempty"` // number of attempts with unknown Input and Output
}

// RunBudget is the budget of a run, and what the run has spent. Spent includes running attempts,
// and attempts outside of the period of the report.
type RunBudget struct {
	Run     string `json:"run"`
	Name    string `json:"name,omitempty"`
	Project string `json:"project,omitempty"`
	Status  Status `json:"status"`
	Spent   Cost   `json:"spent"`
	Budget  Cost   `json:"budget"`
}

// Share returns the fraction of the budget that is spent; 1 means all of it. If both money and
// tokens are limited, Share returns the larger fraction.
func (b RunBudget) Share() (share float64) { return b.Spent.Share(b.Budget) }

// CostLimit is a limit that the user has set for the cost of all runs in a day or a month, and the
// amount that was spent in the current day or month.
type CostLimit struct {
	Period  string    `json:"period"`            // day or month
	Key     string    `json:"key"`               // the current day (2026-11-18) or month (2026-11)
	Account string    `json:"account,omitempty"` // the limited account; empty if the limit is for all accounts
	Spent   Cost      `json:"spent"`
	Limit   Cost      `json:"limit"`
	Left    Cost      `json:"left"`
	Until   time.Time `json:"until"` // when the next day or month begins
}

// Share returns the fraction of the limit that is spent; 1 means all of it. If both money and
// tokens are limited, Share returns the larger fraction.
func (l CostLimit) Share() float64 { return l.Spent.Share(l.Limit) }

// WriteCSV writes the Rows of the report as CSV (RFC 4180), with a header line. It writes an
// unknown cost as the word unknown. It puts an apostrophe before a name that a spreadsheet would
// execute as a formula.
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
