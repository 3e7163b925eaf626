package build

import (
	"fmt"

	"gaffer/workflow"
)

// ID is the id of a chunk (a part of the build): a number or, in some projects, a text.
type ID string

// UnmarshalYAML decodes an id that is a number or a text.
func (id *ID) UnmarshalYAML(decode func(any) error) error {
	var v any
	if err := decode(&v); err != nil {
		return err
	}
	switch v := v.(type) {
	case string:
		*id = ID(v)
	case uint64, int64:
		*id = ID(fmt.Sprint(v))
	default:
		return fmt.Errorf("found %v, want a number or a text", v)
	}
	return nil
}

// Workflow converts the id to the type that package workflow uses for ids.
func (id ID) Workflow() workflow.ID { return workflow.ID(id) }

func workflowIDs(ids []ID) []workflow.ID {
	list := make([]workflow.ID, len(ids))
	for i, id := range ids {
		list[i] = id.Workflow()
	}
	return list
}

// UnmarshalYAML decodes a check that is a shell command or a mapping.
func (c *Check) UnmarshalYAML(decode func(any) error) error {
	var command string
	if decode(&command) == nil {
		*c = Check{Command: command}
		return nil
	}
	type plain Check
	return decode((*plain)(c))
}
