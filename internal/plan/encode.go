package plan

import (
	"encoding/json"
	"fmt"
	"reflect"
)

// Version is the version of the JSON format of plans and tasks. It must be increased if an older
// gaffer would misunderstand the changed format. It stays the same if a new field is added that an
// older gaffer may ignore. JSON without a version has the format of version 1. A plan or task gets
// the lowest version that describes it, so that an older gaffer can read it too.
const Version = 2

// VersionError reports that a newer version of gaffer has written a plan or a task.
type VersionError struct{ Found int }

func (e *VersionError) Error() string {
	return fmt.Sprintf("a newer gaffer has written this plan (version %d; this gaffer reads version %d)", e.Found, Version)
}

// Hint advises the user to install the newer gaffer.
func (*VersionError) Hint() string { return "install the newer gaffer here, too" }

// CheckVersion returns a [*VersionError] if this gaffer does not know the format with this version
// yet.
func CheckVersion(version int) error {
	if version > Version {
		return &VersionError{version}
	}
	return nil
}

// encodedPlan is the JSON format of a plan that is stored or sent to another machine.
type encodedPlan struct {
	Version int `json:"Version"`
	Plan
}

// encodedTask is the JSON format of a task that is stored or sent without its plan.
type encodedTask struct {
	Version int `json:"Version"`
	Task
}

// Encode returns the JSON of a plan, to store it or send it to a server.
func Encode(p Plan) (json.RawMessage, error) {
	version := 1
	for _, t := range p.Tasks {
		version = max(version, t.version())
	}
	return json.Marshal(encodedPlan{version, p})
}

// EncodeTask returns the JSON of a task, to store it or send it to a worker.
func EncodeTask(t Task) (json.RawMessage, error) { return json.Marshal(encodedTask{t.version(), t}) }

// version returns the lowest version of the format that describes the task completely. Version 2
// adds rules for permissions and the sandbox. A gaffer that knows only version 1 would ignore both,
// and so allow what they deny.
func (t Task) version() int {
	if t.Questions == Rules || !t.Permissions.Empty() || !reflect.ValueOf(t.Sandbox).IsZero() {
		return 2
	}
	return 1
}

// Decode reads a plan from JSON. The error is a [*VersionError] if a newer gaffer has written the
// JSON. Decode does not check the plan; use [Plan.Check] for that.
func Decode(text []byte) (Plan, error) {
	var e encodedPlan
	err := json.Unmarshal(text, &e)
	return e.Plan, decoded(e.Version, err)
}

// DecodeHeader reads a plan from JSON, but leaves out its tasks.
func DecodeHeader(text []byte) (Plan, error) {
	var e struct {
		encodedPlan
		Tasks ignored `json:"Tasks"`
	}
	err := json.Unmarshal(text, &e)
	return e.Plan, decoded(e.Version, err)
}

// DecodeTask reads a task from JSON.
func DecodeTask(text []byte) (Task, error) {
	var e encodedTask
	err := json.Unmarshal(text, &e)
	return e.Task, decoded(e.Version, err)
}

// decoded returns the error to report after JSON of the given format version was decoded. The
// parameter err is the error of the JSON decoder, or nil. If a newer gaffer has written the JSON,
// decoded returns a [*VersionError] instead of err.
func decoded(version int, err error) error {
	if newer := CheckVersion(version); newer != nil {
		return newer
	}
	return err
}

// ignored is the type of a field whose value in the JSON is skipped.
type ignored struct{}

func (*ignored) UnmarshalJSON([]byte) error { return nil }
