package ledger

// form is the type of the values of a field in a run or result record. It has nothing to do with
// the full and the minimal form of a record; see need.
type form uint8

const (
	aText     form = iota
	anInstant      // a time in RFC 3339
	aHash          // a SHA-256 in hexadecimal
	aNumber        // a whole number
	aTruth         // true or false
	aList
	anObject
	aVersion // a schema version; only Version is valid
)

// need says in which records a field is required. A record with a schema_version has the full form,
// and a record without it has the minimal form.
type need uint8

const (
	optional need = iota // required in no record
	inFull               // required in the full form of a record
	inBoth               // required in the full and the minimal form of a record
)

// anyNumber is the value of rule.least for a field without a lower limit.
const anyNumber = -1 << 31

// rule defines which values one field of a run or result record may have.
type rule struct {
	name    string
	need    need
	form    form
	null    bool     // null is a valid value
	filled  bool     // an empty text is invalid
	least   int      // smallest valid number; anyNumber for no limit
	oneOf   []string // the valid texts; nil if any text is valid
	open    bool     // texts that are not in oneOf are invalid only if empty or if the check is strict
	path    bool     // the text is a file path
	members []rule   // rules for the members of a JSON object; a member without a rule may have any value
}

var (
	statuses = []string{string(Running), string(Done), string(Failed), string(TimedOut)}
	agents   = []string{"claude", "codex"}
	outcomes = []string{"pass", "fail", "skipped"}
)

// ownSteps begins the agent name in the record of a step that gaffer executes itself, without an
// agent, such as a merge. A strict check of records accepts only names with this prefix and the two
// agent names that the protocol defines, claude and codex.
const ownSteps = "gaffer-"

var verification = rule{name: "verification", form: anObject, null: true, members: []rule{
	{name: "lint", oneOf: outcomes},
	{name: "tests", oneOf: outcomes},
	{name: "ubs", oneOf: []string{"clean", "issues", "skipped"}},
	{name: "lint_details", form: aList, null: true},
	{name: "overall", oneOf: outcomes[:2]},
}}

// runRules and resultRules define the fields of run records and of result records. The validation
// of records uses these rules, and the JSON schemas are generated from them.
var runRules = []rule{
	{name: "schema_version", need: inFull, form: aVersion},
	{name: "bead", need: inBoth, filled: true},
	{name: "agent", need: inBoth, oneOf: agents, open: true},
	{name: "model", need: inBoth, filled: true},
	{name: "repo", need: inBoth, filled: true, path: true},
	{name: "prompt", need: inBoth},
	{name: "prompt_full", need: inFull},
	{name: "prompt_hash", need: inFull, form: aHash},
	{name: "started_at", need: inBoth, form: anInstant},
	{name: "finished_at", need: inFull, form: anInstant, null: true},
	{name: "duration_seconds", need: inFull, form: aNumber, null: true},
	{name: "status", need: inFull, oneOf: statuses},
	{name: "attempt", need: inBoth, form: aNumber, least: 1},
	{name: "max_retries", need: inFull, form: aNumber, least: 1},
	{name: "session_name", need: inFull, filled: true},
	{name: "result_file", need: inFull, filled: true, path: true},
	{name: "exit_code", need: inFull, form: aNumber, null: true, least: anyNumber},
	{name: "output_summary", null: true},
	{name: "failure_reason", null: true},
	{name: "template_name", null: true},
	verification,
}

var resultRules = []rule{
	{name: "schema_version", need: inFull, form: aVersion},
	{name: "bead", need: inBoth, filled: true},
	{name: "agent", need: inFull, oneOf: agents, open: true},
	{name: "status", need: inBoth, oneOf: statuses},
	{name: "reason", need: inFull, filled: true},
	{name: "started_at", need: inFull, form: anInstant},
	{name: "finished_at", need: inBoth, form: anInstant, null: true},
	{name: "duration_seconds", need: inFull, form: aNumber, null: true},
	{name: "attempt", need: inBoth, form: aNumber, least: 1},
	{name: "max_retries", need: inFull, form: aNumber, least: 1},
	{name: "will_retry", need: inFull, form: aTruth},
	{name: "exit_code", need: inFull, form: aNumber, null: true, least: anyNumber},
	{name: "session_name", need: inFull, filled: true},
	{name: "output_summary", null: true},
	verification,
}

func (k Kind) rules() []rule {
	if k == RunKind {
		return runRules
	}
	return resultRules
}

func (k Kind) position(field string) (int, bool) {
	at, ok := positions[k][field]
	return at, ok
}

var positions = map[Kind]map[string]int{
	RunKind:    positionsOf(runRules),
	ResultKind: positionsOf(resultRules),
}

func positionsOf(rules []rule) map[string]int {
	at := make(map[string]int, len(rules))
	for i, r := range rules {
		at[r.name] = i
	}
	return at
}
