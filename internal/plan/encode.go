package plan

import (
	"encoding/json"
	"fmt"
)

// Version is the version of the JSON form of plans and tasks. It grows when an older
// gaffer would misunderstand what a newer one writes. A new field that older ones may
// ignore does not change it. Text without a version was written before versions were
// counted, and has the form of version 1.
const Version = 1

// VersionError reports a plan or a task that a newer gaffer has written.
type VersionError struct{ Found int }

func (e *VersionError) Error() string {
	return fmt.Sprintf("a newer gaffer has written this plan (version %d; this gaffer reads version %d)", e.Found, Version)
}

// Hint returns advice for the user.
func (*VersionError) Hint() string { return "install the newer gaffer here, too" }

// CheckVersion returns a [*VersionError] if this gaffer cannot read the version.
func CheckVersion(found int) error {
	if found > Version {
		return &VersionError{found}
	}
	return nil
}

// encodedPlan is the JSON form of a plan, in the store and between machines.
type encodedPlan struct {
	Version int `json:"Version"`
	Plan
}

// encodedTask is the JSON form of a task that is stored or sent without its plan.
type encodedTask struct {
	Version int `json:"Version"`
	Task
}

// Encode returns the JSON form of a plan, which is stored and sent to servers.
func Encode(p Plan) (json.RawMessage, error) { return json.Marshal(encodedPlan{Version, p}) }

// EncodeTask returns the JSON form of a task, which is stored and sent to workers.
func EncodeTask(t Task) (json.RawMessage, error) { return json.Marshal(encodedTask{Version, t}) }

// Decode reads the JSON form of a plan. It does not check the plan, see [Plan.Check].
func Decode(text []byte) (Plan, error) {
	var e encodedPlan
	err := json.Unmarshal(text, &e)
	return e.Plan, decoded(e.Version, err)
}

// DecodeHeader reads the JSON form of a plan without its tasks.
func DecodeHeader(text []byte) (Plan, error) {
	var e struct {
		encodedPlan
		Tasks ignored `json:"Tasks"`
	}
	err := json.Unmarshal(text, &e)
	return e.Plan, decoded(e.Version, err)
}

// DecodeTask reads the JSON form of a task.
func DecodeTask(text []byte) (Task, error) {
	var e encodedTask
	err := json.Unmarshal(text, &e)
	return e.Task, decoded(e.Version, err)
}

// decoded returns the error of a decoding. A newer version explains any other error.
func decoded(version int, err error) error {
	if newer := CheckVersion(version); newer != nil {
		return newer
	}
	return err
}

// ignored is a member whose value is not read.
type ignored struct{}

func (*ignored) UnmarshalJSON([]byte) error { return nil }
