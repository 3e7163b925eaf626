package team

import (
	"bytes"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"gaffer/statefile"
)

func compiled(t *testing.T, d Document) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(Schemas()[string(d)]))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource("schema.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func schemaTakes(t *testing.T, s *jsonschema.Schema, data []byte) bool {
	t.Helper()
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	return s.Validate(v) == nil
}

func TestTheSchemasAcceptTheSeedsExamplesAndNewDocuments(t *testing.T) {
	for _, d := range Documents() {
		s := compiled(t, d)
		if !schemaTakes(t, s, seed(t, d)) {
			t.Errorf("%s: the example is refused", d)
		}
		fresh, err := newSession{"v4_20250106_100000", "Do it", At(noon)}.document(d)
		if err != nil {
			t.Fatal(err)
		}
		if !schemaTakes(t, s, fresh) {
			t.Errorf("%s: a new document is refused:\n%s", d, fresh)
		}
		if found := ValidateDocument(d, "", fresh); len(found) > 0 {
			t.Errorf("%s: a new document has findings: %v", d, found)
		}
	}
}

// Each row changes one value in one of the protocol's examples. The validation and the schema must
// agree on whether the document is still valid.
func TestValidationAndSchemasAgree(t *testing.T) {
	for _, c := range []struct{ doc, old, new string }{
		{"pm_state", `"mode": "parallel"`, `"mode": null`},
		{"pm_state", `"mode": "parallel"`, `"mode": "fast"`},
		{"pm_state", `"mode": "parallel"`, `"mode": 1`},
		{"pm_state", `"mode": "parallel",`, ``},
		{"pm_state", `"mode_reasoning": "3`, `"mode_reasons": "3`},
		{"pm_state", `"session_id": "v4_20250106_100000"`, `"session_id": null`},
		{"pm_state", `"session_id": "v4_20250106_100000",`, ``},
		{"pm_state", `"iteration": 12`, `"iteration": 12.0`},
		{"pm_state", `"iteration": 12`, `"iteration": 12.5`},
		{"pm_state", `"iteration": 12`, `"iteration": "12"`},
		{"pm_state", `"iteration": 12`, `"iteration": 123456789012345678901234567890`},
		{"pm_state", `"iteration": 12,`, ``},
		{"pm_state", `"last_update": "2025-01-06T10:30:00Z"`, `"last_update": "soon"`},
		{"pm_state", `"last_update": "2025-01-06T10:30:00Z"`, `"last_update": "2025-01-06T10:30:00.5+01:00"`},
		{"pm_state", `"last_update": "2025-01-06T10:30:00Z"`, `"last_update": null`},
		{"pm_state", `"tasks": ["T3"]`, `"tasks": [3]`},
		{"pm_state", `"tasks": ["T3"]`, `"tasks": "T3"`},
		{"pm_state", `"can_parallel": true`, `"can_parallel": "yes"`},
		{"pm_state", `"complexity": "low"`, `"complexity": "trivial"`},
		{"pm_state", `"estimated_effort_minutes": 10`, `"estimated_effort_minutes": 10.5`},
		{"pm_state", `"estimated_effort_minutes": 10`, `"estimated_effort_minutes": null`},
		{"pm_state", `"phase_number": 1`, `"phase_number": "1"`},
		{"pm_state", `"phase_number": 1`, `"phase": 1`},
		{"pm_state", `"pending_groups": []`, `"pending_groups": {}`},
		{"pm_state", `"completion_percentage": 66.7`, `"completion_percentage": "66.7%"`},
		{"group_status", `"status": "complete"`, `"status": "COMPLETED"`},
		{"group_status", `"current_agent": "none"`, `"current_agent": "pm"`},
		{"group_status", `"developer": 2`, `"developer": 2.5`},
		{"group_status", `"end_time": "2025-01-06T10:15:00Z"`, `"end_time": null`},
		{"group_status", `"duration_minutes": 15`, `"duration_minutes": null`},
		{"group_status", `"decision": "approved"`, `"decision": "APPROVED"`},
		{"group_status", `"blockers": []`, `"blockers": ["none"]`},
		{"group_status", `"blockers": []`, `"blockers": [{"resolved": "no"}]`},
		{"group_status", `"group_id": "A"`, `"group_id": 1`},
		{"group_status", `"code_quality_score": 8.5`, `"code_quality_score": "8.5"`},
		{"group_status", `"B": {`, `"B": null, "C": {`},
		{"orchestrator_state", `"current_phase": "tech_review"`, `"current_phase": "review"`},
		{"orchestrator_state", `"status": "running"`, `"status": "done"`},
		{"orchestrator_state", `"status": "running",`, ``},
		{"orchestrator_state", `"start_time": "2025-01-06T10:00:00Z",`, ``},
		{"orchestrator_state", `"end_time": null`, `"end_time": 0`},
		{"orchestrator_state", `"agent_type": "tech_lead"`, `"agent_type": "anything"`},
		{"dev_to_qa", `"from": "developer"`, `"from": "qa_expert"`},
		{"dev_to_qa", `"read": true`, `"read": "true"`},
		{"dev_to_qa", `"status": "READY_FOR_QA"`, `"status": "ANYTHING"`},
		{"qa_to_techlead", `"result": "PASS"`, `"result": "OK"`},
		{"techlead_to_dev", `"priority": "high"`, `"priority": "urgent"`},
		{"techlead_to_dev", `"to": "developer"`, `"to": null`},
	} {
		d := Document(c.doc)
		broken := strings.Replace(string(seed(t, d)), c.old, c.new, 1)
		if broken == string(seed(t, d)) {
			t.Fatalf("%s has no %s", d, c.old)
		}
		invalid := slices.ContainsFunc(ValidateDocument(d, "", []byte(broken)), func(f statefile.Finding) bool {
			return f.Severity == statefile.Invalid
		})
		if takes := schemaTakes(t, compiled(t, d), []byte(broken)); takes == invalid {
			t.Errorf("%s with %s: the schema takes it: %t, validation calls it invalid: %t", d, c.new, takes, invalid)
		}
	}
}

func TestRulesAndTypesHaveTheSameFieldsInTheSameOrder(t *testing.T) {
	message := func(d Document) *rule { return rules(d).field("messages").each }
	around := func(body any) []string {
		return slices.Concat(tags(head{}), tags(body), tags(tail{}))
	}
	pm, group, orchestrator := pmRules(), groupRules(), orchestratorRules()
	for _, c := range []struct {
		rule *rule
		tags []string
	}{
		{pm, tags(PMState{})},
		{pm.field("all_tasks").each, tags(Task{})},
		{pm.field("task_groups").each, tags(TaskGroup{})},
		{pm.field("execution_phases").each, tags(ExecutionPhase{})},
		{group, tags(Group{})},
		{group.field("iterations"), tags(Iterations{})},
		{group.field("test_results"), tags(TestResults{})},
		{group.field("test_results").field("e2e_tests"), tags(TestCount{})},
		{group.field("tech_lead_feedback").each, tags(Feedback{})},
		{group.field("blockers").each, tags(Blocker{})},
		{group.field("quality_metrics"), tags(QualityMetrics{})},
		{orchestrator, tags(OrchestratorState{})},
		{orchestrator.field("active_agents").each, tags(ActiveAgent{})},
		{orchestrator.field("decisions_log").each, tags(LogEntry{})},
		{message(DevToQADoc), around(Handoff{})},
		{message(DevToQADoc).field("context"), tags(HandoffContext{})},
		{message(QAToTechLeadDoc), around(TestReport{})},
		{message(QAToTechLeadDoc).field("test_results"), tags(TestSummary{})},
		{message(QAToTechLeadDoc).field("developer_context"), tags(DeveloperContext{})},
		{message(TechLeadToDevDoc), around(Review{})},
		{message(TechLeadToDevDoc).field("issues").each, tags(Issue{})},
	} {
		var names []string
		for _, f := range c.rule.fields {
			names = append(names, f.name)
		}
		if diff := cmp.Diff(names, c.tags); diff != "" {
			t.Error(diff)
		}
	}
}

func tags(v any) []string {
	var names []string
	for i := range reflect.TypeOf(v).NumField() {
		name, _, _ := strings.Cut(reflect.TypeOf(v).Field(i).Tag.Get("json"), ",")
		names = append(names, name)
	}
	return names
}
