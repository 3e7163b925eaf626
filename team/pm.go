package team

import (
	"errors"
	"strconv"
	"strings"

	"gaffer/statefile/jsontree"
)

// PMState is the content of pm_state.json, the project manager's memory.
type PMState struct {
	SessionID            string               `json:"session_id"`
	Mode                 Mode                 `json:"mode"`
	ModeReasoning        string               `json:"mode_reasoning"`
	OriginalRequirements string               `json:"original_requirements"`
	AllTasks             List[Task]           `json:"all_tasks"`
	TaskGroups           TaskGroups           `json:"task_groups"`
	ExecutionPhases      List[ExecutionPhase] `json:"execution_phases"`
	CompletedGroups      List[string]         `json:"completed_groups"`
	InProgressGroups     List[string]         `json:"in_progress_groups"`
	PendingGroups        List[string]         `json:"pending_groups"`
	Iteration            int                  `json:"iteration"` // grows with every change of this document
	LastUpdate           Time                 `json:"last_update"`
	CompletionPercentage float64              `json:"completion_percentage"`
	EstimatedRemaining   *float64             `json:"estimated_time_remaining_minutes,omitempty"`
}

// DecodeJSON reads the content of the document. It also accepts a counter that is written with a
// decimal point, such as 5.0.
func (p *PMState) DecodeJSON(v jsontree.Value) error {
	type plain PMState
	if err := decodeObject(v, (*plain)(p)); err != nil {
		return err
	}
	return decodeCounts(v, map[string]*int{"iteration": &p.Iteration})
}

// Task is one task of the plan.
type Task struct {
	ID          string     `json:"id"`
	Description string     `json:"description"`
	GroupID     string     `json:"group_id"`
	Status      WorkStatus `json:"status"`
}

// DecodeJSON reads a task, which is an object or a string. A string of one word is the task's id;
// any other string is its description.
func (t *Task) DecodeJSON(v jsontree.Value) error {
	if text, ok := v.Str(); ok {
		if strings.ContainsAny(text, " \t\n") {
			t.Description = text
		} else {
			t.ID = text
		}
		return nil
	}
	type plain Task
	return decodeObject(v, (*plain)(t))
}

// TaskGroup is a group of tasks in the project manager's plan.
type TaskGroup struct {
	ID                     string       `json:"id"`
	Name                   string       `json:"name"`
	Tasks                  List[string] `json:"tasks"`
	FilesAffected          List[string] `json:"files_affected"`
	BranchName             string       `json:"branch_name"`
	Status                 WorkStatus   `json:"status"`
	CanParallel            bool         `json:"can_parallel"`
	DependsOn              List[string] `json:"depends_on"`
	Complexity             string       `json:"complexity,omitempty"` // low, medium or high
	EstimatedEffortMinutes float64      `json:"estimated_effort_minutes,omitempty"`
}

// TaskGroups is the list of the groups in the project manager's plan.
type TaskGroups []TaskGroup

// MarshalJSON writes the groups as a list, as the protocol requires, even if there are none.
func (g TaskGroups) MarshalJSON() ([]byte, error) { return List[TaskGroup](g).MarshalJSON() }

// DecodeJSON reads a list of groups, or an object in which each group's id is the key.
func (g *TaskGroups) DecodeJSON(v jsontree.Value) error {
	switch v.Kind() {
	case jsontree.Array:
		for _, item := range v.Items() {
			var group TaskGroup
			jsontree.Decode(item, &group)
			*g = append(*g, group)
		}
		return nil
	case jsontree.Object:
		for id, member := range v.Members() {
			group := TaskGroup{}
			jsontree.Decode(member, &group)
			if group.ID == "" {
				group.ID = id
			}
			*g = append(*g, group)
		}
		return nil
	}
	return errors.New("an array")
}

// ExecutionPhase is a set of groups that agents may work on at the same time.
type ExecutionPhase struct {
	PhaseNumber   int          `json:"phase_number"`
	GroupIDs      List[string] `json:"group_ids"`
	ParallelCount int          `json:"parallel_count"`
	Status        WorkStatus   `json:"status"`
}

// DecodeJSON reads an execution phase. It also accepts the member names phase and groups, which
// some programs write instead of phase_number and group_ids.
func (p *ExecutionPhase) DecodeJSON(v jsontree.Value) error {
	type plain ExecutionPhase
	if err := decodeObject(v, (*plain)(p)); err != nil {
		return err
	}
	p.PhaseNumber, _ = intOf(v.Get("phase_number"))
	if v.Get("phase_number").Absent() {
		p.PhaseNumber = wholeNumber(v.Get("phase"))
	}
	if v.Get("group_ids").Absent() {
		for _, item := range v.Get("groups").Items() {
			p.GroupIDs = append(p.GroupIDs, groupName(item))
		}
	}
	return nil
}

// groupName returns the id of a group. v is either the id itself, or an object that contains the
// id.
func groupName(v jsontree.Value) string {
	if v.Kind() == jsontree.Object {
		return v.Get("id").Text()
	}
	return v.Text()
}

// wholeNumber returns the integer v, which may be in quotes. It returns 0 if v is not an integer.
func wholeNumber(v jsontree.Value) int {
	if n, ok := intOf(v); ok {
		return n
	}
	n, err := strconv.Atoi(v.Text())
	if err != nil {
		return 0
	}
	return n
}

// decodeCounts reads integer members of the object v. counts maps the name of each member to the
// int that receives its value. The int is set to 0 if the member is missing or not an integer.
func decodeCounts(v jsontree.Value, counts map[string]*int) error {
	if v.Kind() != jsontree.Object {
		return errors.New("an object")
	}
	for name, n := range counts {
		*n, _ = intOf(v.Get(name))
	}
	return nil
}

func decodeObject(v jsontree.Value, into any) error {
	if v.Kind() != jsontree.Object {
		return errors.New("an object")
	}
	jsontree.Decode(v, into)
	return nil
}
