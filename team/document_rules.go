package team

import "gaffer/statefile/jsontree"

// rules returns the rule for the complete content of a document: it says which members the JSON
// object must or may have, and which values are allowed.
func rules(d Document) *rule {
	switch d {
	case PMStateDoc:
		return pmRules()
	case GroupStatusDoc:
		return &rule{form: dictionary, each: groupRules()}
	case OrchestratorDoc:
		return orchestratorRules()
	case DevToQADoc:
		return messageRules(Developer, QAExpert, handoffRules()...)
	case QAToTechLeadDoc:
		return messageRules(QAExpert, TechLead, testReportRules()...)
	case TechLeadToDevDoc:
		return messageRules(TechLead, Developer, reviewRules()...)
	}
	return &rule{}
}

func texts() *rule { return listOf(a(text)) }

func pmRules() *rule {
	return objectOf(
		must("session_id", a(text)).saying("unique for the project, such as v4_20250106_100000"),
		must("mode", oneOf("unknown-mode", "simple", "parallel").orNull()).saying("null before planning"),
		opt("mode_reasoning", a(text)).saying("why the project manager chose the mode"),
		must("original_requirements", a(text)).saying("the user's text in full"),
		opt("all_tasks", listOf(taskRules()).by("id")),
		must("task_groups", listOf(taskGroupRules()).by("id").
			named(jsontree.Object, "groups-as-map").
			named(jsontree.Missing, "groups-missing").
			named(jsontree.Null, "groups-missing")),
		opt("execution_phases", listOf(phaseRules()).by("phase_number")),
		opt("completed_groups", texts()),
		opt("in_progress_groups", texts()),
		opt("pending_groups", texts()),
		must("iteration", a(integer)).saying("grows by one with every write"),
		must("last_update", a(moment)),
		opt("completion_percentage", a(number)).saying("complete groups of all groups, one decimal"),
		opt("estimated_time_remaining_minutes", a(number)),
	)
}

func taskRules() *rule {
	return objectOf(
		opt("id", a(text)),
		opt("description", a(text)),
		opt("group_id", a(text)),
		opt("status", oneOf("unknown-status", "pending", "in_progress", "complete")),
	).named(jsontree.String, "tasks-as-strings")
}

func taskGroupRules() *rule {
	return objectOf(
		opt("id", a(text)),
		opt("name", a(text)),
		opt("tasks", texts()),
		opt("files_affected", texts()),
		opt("branch_name", a(text)),
		opt("status", oneOf("unknown-status", "pending", "assigned", "in_progress", "complete")),
		opt("can_parallel", a(boolean)),
		opt("depends_on", texts()),
		opt("complexity", oneOf("unknown-complexity", "low", "medium", "high")),
		opt("estimated_effort_minutes", a(number)),
	)
}

func phaseRules() *rule {
	r := objectOf(
		opt("phase_number", a(integer)),
		opt("group_ids", texts()),
		opt("parallel_count", a(integer)),
		opt("status", oneOf("unknown-status", "pending", "in_progress", "complete")),
	)
	r.aliases, r.alias = map[string]string{"phase": "phase_number", "groups": "group_ids"}, "phase-form"
	return r
}

func groupRules() *rule {
	var statuses []string
	for _, s := range GroupStatuses() {
		statuses = append(statuses, string(s))
	}
	return objectOf(
		opt("group_id", a(text)),
		opt("group_name", a(text)),
		opt("status", oneOf("unknown-status", statuses...)),
		opt("current_agent", oneOf("unknown-agent", "developer", "qa_expert", "tech_lead", "none")),
		opt("iterations", objectOf(opt("developer", a(integer)), opt("qa", a(integer)), opt("tech_lead", a(integer)))),
		opt("start_time", a(moment).orNull()).saying("null before the first start"),
		opt("end_time", a(moment).orNull()).saying("null until complete"),
		opt("duration_minutes", a(number).orNull()).saying("null until complete"),
		opt("branch_name", a(text)),
		opt("files_modified", texts()),
		opt("commits", texts()),
		opt("test_results", objectOf(
			opt("unit_tests", testCountRules()),
			opt("integration_tests", testCountRules()),
			opt("contract_tests", testCountRules()),
			opt("e2e_tests", testCountRules()),
		)),
		opt("tech_lead_feedback", listOf(objectOf(
			opt("iteration", a(integer)),
			opt("decision", decisionRules()),
			opt("feedback", a(text)),
			opt("timestamp", a(moment)),
		)).by("iteration", "decision")),
		opt("blockers", listOf(objectOf(
			opt("description", a(text)),
			opt("resolved", a(boolean)),
			opt("resolution", a(text)),
		)).by("description")),
		opt("quality_metrics", objectOf(
			opt("code_quality_score", a(number)),
			opt("security_issues_count", a(integer)),
			opt("first_pass_approval", a(boolean)),
		)),
		opt("last_update", a(moment)),
	)
}

func testCountRules() *rule {
	return objectOf(opt("total", a(integer)), opt("passed", a(integer)), opt("failed", a(integer)))
}

func decisionRules() *rule {
	return oneOf("unknown-decision", "approved", "changes_requested", "unblocked")
}

func orchestratorRules() *rule {
	return objectOf(
		must("session_id", a(text)),
		must("current_phase", oneOf("unknown-phase", "initialization", "pm_planning", "developer_working",
			"qa_testing", "tech_review", "pm_final_check", "completed")),
		opt("active_agents", listOf(objectOf(
			opt("agent_type", a(text)),
			opt("group_id", a(text)),
			opt("spawned_at", a(moment)),
		)).by("agent_type", "group_id", "spawned_at")),
		must("iteration", a(integer)).saying("grows by one with every start of an agent"),
		opt("total_spawns", a(integer)),
		opt("decisions_log", listOf(objectOf(
			opt("iteration", a(integer)),
			opt("decision", a(text)),
			opt("reasoning", a(text)),
			opt("timestamp", a(moment)),
		)).by("iteration", "decision", "timestamp")),
		must("status", oneOf("unknown-status", "running", "completed", "error")),
		must("start_time", a(moment)),
		opt("end_time", a(moment).orNull()).saying("null while running"),
		opt("last_update", a(moment)),
	)
}

// messageRules returns the rule for a document with messages from one role of the team to another.
// The parameter body lists the fields that only these messages have. In each message, these fields
// come after the common fields from id to subject, and before the common field read.
func messageRules(from, to Role, body ...field) *rule {
	fields := append([]field{
		opt("id", a(text)),
		opt("group_id", a(text)),
		opt("from", only(string(from))),
		opt("to", only(string(to))),
		opt("timestamp", a(moment)),
		opt("subject", a(text)),
	}, body...)
	fields = append(fields, opt("read", a(boolean).staysTrue()).saying("set when the receiver is started with the message"))
	return objectOf(opt("messages", listOf(objectOf(fields...)).by("id").othersMayAdd()))
}

func handoffRules() []field {
	return []field{
		opt("status", a(text)),
		opt("context", objectOf(
			opt("branch_name", a(text)),
			opt("files_modified", texts().fixedWhenSent()),
			opt("commits", texts().fixedWhenSent()),
			opt("unit_tests_status", a(text)),
			opt("notes", a(text)),
		)),
	}
}

func testReportRules() []field {
	return []field{
		opt("result", oneOf("unknown-result", "PASS", "FAIL")),
		opt("test_results", objectOf(
			opt("integration_tests", a(text)),
			opt("contract_tests", a(text)),
			opt("e2e_tests", a(text)),
			opt("total_time", a(text)),
		)),
		opt("developer_context", objectOf(
			opt("files_modified", texts().fixedWhenSent()),
			opt("implementation_summary", a(text)),
		)),
	}
}

func reviewRules() []field {
	return []field{
		opt("decision", decisionRules()),
		opt("feedback", a(text)),
		opt("issues", listOf(objectOf(
			opt("id", a(text)).saying("by which the developer answers it"),
			opt("priority", oneOf("unknown-priority", "critical", "high", "medium", "low")),
			opt("title", a(text)),
			opt("location", a(text)),
			opt("description", a(text)),
			opt("fix_suggestion", a(text)),
		)).by("title", "location")),
		opt("actionable_items", texts()),
	}
}
