package teamstate

import (
	"fmt"
	"strconv"
	"strings"

	"gaffer/statefile/jsontree"
	"gaffer/statefile/lazyregexp"
	"gaffer/team"
)

// maxNumber is the highest number that is accepted in an agent's answer. Higher numbers count as 0.
const maxNumber = 1e9

// readNumber returns the number v. If v is negative, above maxNumber or not a number, it returns 0.
func readNumber(v jsontree.Value) float64 {
	f, ok := v.Float()
	if !ok || f < 0 || f > maxNumber {
		return 0
	}
	return f
}

// Patterns for numbers of tests in a text, such as "8/8 passed".
var (
	ratio  = lazyregexp.New(`(\d{1,9})\s*/\s*(\d{1,9})`)
	passes = lazyregexp.New(`(\d{1,9})\s+pass`)
	fails  = lazyregexp.New(`(\d{1,9})\s+fail`)
)

// readTestCount reads a test count from an object {total, passed, failed} or a text such as "8/8
// passed". It returns false if there is no count.
func readTestCount(v jsontree.Value) (team.TestCount, bool) {
	if text, ok := v.Str(); ok {
		return countText(clip(text, maxLine))
	}
	c := team.TestCount{
		Total:  int(readNumber(v.Get("total"))),
		Passed: int(readNumber(v.Get("passed"))),
		Failed: int(readNumber(v.Get("failed"))),
	}
	return c, v.Kind() == jsontree.Object && c.Total+c.Passed+c.Failed > 0
}

func countText(text string) (team.TestCount, bool) {
	if m := ratio().FindStringSubmatch(text); m != nil {
		passed, total := parseDigits(m[1]), parseDigits(m[2])
		return team.TestCount{Total: total, Passed: passed, Failed: total - passed}, passed <= total
	}
	passed, failed := passes().FindStringSubmatch(text), fails().FindStringSubmatch(text)
	if passed == nil && failed == nil {
		return team.TestCount{}, false
	}
	var c team.TestCount
	if passed != nil {
		c.Passed = parseDigits(passed[1])
	}
	if failed != nil {
		c.Failed = parseDigits(failed[1])
	}
	c.Total = c.Passed + c.Failed
	return c, true
}

// parseDigits converts digits to a number. The patterns ratio, passes and fails limit the number of
// digits, so parsing cannot fail.
func parseDigits(digits string) int {
	n, _ := strconv.Atoi(digits)
	return n
}

// formatCount returns the test count v as text that ends with word, such as "8/8 passed". If v is
// already a text, formatCount returns that text. If v has no test count, it returns "".
func formatCount(v jsontree.Value, word string) string {
	if text, ok := v.Str(); ok {
		return oneLine(text)
	}
	if c, ok := readTestCount(v); ok {
		return fmt.Sprintf("%d/%d %s", c.Passed, c.Total, word)
	}
	return ""
}

// countUnits stores the results of the unit tests that a developer has run. body is the developer's
// answer.
func (g *group) countUnits(body jsontree.Value) {
	v := body.Get("unit_tests")
	if text := formatCount(v, "passing"); text != "" {
		g.units = text
	}
	if c, ok := readTestCount(v); ok {
		r := g.results()
		r.UnitTests = &c
		g.status.TestResults = &r
	}
}

// countTests stores the test results in QA's answer. Kinds of tests that the answer does not
// mention keep their results.
func (g *group) countTests(body jsontree.Value) {
	r, found := g.results(), false
	for name, to := range map[string]**team.TestCount{
		"unit_tests": &r.UnitTests, "integration_tests": &r.IntegrationTests,
		"contract_tests": &r.ContractTests, "e2e_tests": &r.E2ETests,
	} {
		if c, ok := readTestCount(body.Get("test_results").Get(name)); ok {
			*to, found = &c, true
		}
	}
	if found {
		g.status.TestResults = &r
	}
}

// results returns a copy of the group's test results. Callers change the copy and store it, because
// the contents that [Session.Contents] has returned still refer to the original.
func (g *group) results() team.TestResults {
	if g.status.TestResults == nil {
		return team.TestResults{}
	}
	return *g.status.TestResults
}

// storeQuality stores the quality metrics in the tech lead's answer. Metrics that the answer does
// not mention keep their values. first is true if the tech lead has approved the work without an
// earlier request for changes.
func (g *group) storeQuality(body jsontree.Value, first bool) {
	q := team.QualityMetrics{}
	if g.status.QualityMetrics != nil {
		q = *g.status.QualityMetrics
	}
	if v := body.Get("code_quality_score"); !v.Absent() {
		score := readNumber(v)
		q.CodeQualityScore = &score
	}
	if v := body.Get("security_issues_count"); !v.Absent() {
		count := int(readNumber(v))
		q.SecurityIssuesCount = &count
	}
	q.FirstPassApproval = first
	g.status.QualityMetrics = &q
}

// readIssues reads the first maxList issues of a review. Priorities that the protocol does not
// define become empty.
func readIssues(v jsontree.Value) []team.Issue {
	var list []team.Issue
	for i, item := range v.Items() {
		if i == maxList {
			break
		}
		list = append(list, issue(item))
	}
	return list
}

func issue(v jsontree.Value) team.Issue {
	if text, ok := v.Str(); ok {
		return team.Issue{Title: oneLine(text)}
	}
	i := team.Issue{
		ID:       oneLine(v.Get("id").Text()),
		Priority: strings.ToLower(v.Get("priority").Text()), Title: oneLine(v.Get("title").Text()),
		Location: oneLine(v.Get("location").Text()), Description: clip(v.Get("description").Text(), maxLine),
		FixSuggestion: clip(v.Get("fix_suggestion").Text(), maxLine),
	}
	switch i.Priority {
	case "critical", "high", "medium", "low":
	default:
		i.Priority = ""
	}
	return i
}
