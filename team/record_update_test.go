package team

import (
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gaffer/statefile/jsontree"
)

func TestRecordChangesOnlyWhatDiffers(t *testing.T) {
	root := seedFolder(t)
	s := openAt(t, root, noon)
	record(t, s, next(t))
	want := strings.NewReplacer(
		`"status": "in_progress"`, `"status": "complete"`, // the statuses of the task, its group and its phase
		`"iteration": 12`, `"iteration": 13`,
		`"last_update": "2025-01-06T10:30:00Z"`, `"last_update": "2025-01-06T12:00:00Z"`,
		",\n  \"estimated_time_remaining_minutes\": 5", "",
	).Replace(string(seed(t, PMStateDoc)))
	if diff := cmp.Diff(want, string(readFile(t, s.path(PMStateDoc)))); diff != "" {
		t.Error(diff)
	}
	text := string(readFile(t, s.path(OrchestratorDoc)))
	if strings.Contains(text, "10:28:00Z\"\n    }") || !strings.Contains(text, `"last_update": "2025-01-06T10:28:00Z"`) {
		t.Errorf("an agent that ended is still there, or the clock was asked:\n%s", text)
	}
	if found := string(readFile(t, s.path(QAToTechLeadDoc))); found != string(seed(t, QAToTechLeadDoc)) {
		t.Error(found)
	}
	for _, f := range validate(t, root) {
		if f.Name != "timestamp-order" { // the order of timestamps is irrelevant here
			t.Error(f)
		}
	}
	before := files(t, root)
	record(t, s, next(t))
	sameFiles(t, before, files(t, root))
}

func TestEquivalentSpellingsStayUnlessTheProtocolForbidsThem(t *testing.T) {
	root := seedFolder(t)
	theirs := strings.NewReplacer(
		`"iteration": 12`, `"iteration": 1.2e1`,
		`"last_update": "2025-01-06T10:30:00Z"`, `"last_update": "2025-01-06T11:30:00.0+01:00"`,
		`"mode": "parallel"`, `"mode": "parall\u0065l"`, `66.7`, `66.70`,
	).Replace(string(seed(t, PMStateDoc)))
	put(t, root, PMStateDoc, []byte(theirs))
	put(t, root, OrchestratorDoc, []byte(strings.Replace(string(seed(t, OrchestratorDoc)),
		`"start_time": "2025-01-06T10:00:00Z"`, `"start_time": "2025-01-06 10:00:00Z"`, 1)))
	s := openAt(t, root, noon)
	record(t, s, seedContents(t))
	if diff := cmp.Diff(theirs, string(readFile(t, s.path(PMStateDoc)))); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(string(seed(t, OrchestratorDoc)), string(readFile(t, s.path(OrchestratorDoc)))); diff != "" {
		t.Error(diff)
	}
}

func TestOtherProgramsMembersStayAtEveryLevel(t *testing.T) {
	root := seedFolder(t)
	added := map[Document][]string{ // before each of these texts the test inserts a member
		PMStateDoc:       {`"mode":`, `"description": "Implement password`, `"branch_name": "feature/group-C`, `"group_ids": ["C"]`},
		GroupStatusDoc:   {`"group_name": "JWT`, `"developer":`, `"passed":`, `"feedback":`, `"first_pass_approval":`},
		OrchestratorDoc:  {`"current_phase":`, `"reasoning":`},
		DevToQADoc:       {`"messages":`, `"subject":`, `"branch_name":`},
		QAToTechLeadDoc:  {`"subject":`, `"total_time":`, `"implementation_summary":`},
		TechLeadToDevDoc: {`"subject":`, `"title":`},
	}
	const theirs = `"x_theirs": {"n": 1.50e3, "s": "\u00e9"}, `
	count := map[Document]int{}
	for d, places := range added {
		text := string(seed(t, d))
		for _, place := range places {
			if !strings.Contains(text, place) {
				t.Fatalf("%s has no %s", d, place)
			}
			text = strings.ReplaceAll(text, place, theirs+place)
		}
		count[d] = strings.Count(text, theirs)
		if d == GroupStatusDoc {
			text = strings.Replace(text, "{", `{"a_note": "no group", "b_note": {"mood": "good"}, `, 1)
		}
		put(t, root, d, []byte(text))
	}
	s := openAt(t, root, noon)
	record(t, s, next(t))
	for d, n := range count {
		text := string(readFile(t, s.path(d)))
		if got := strings.Count(text, strings.TrimSuffix(theirs, ", ")); got != n {
			t.Errorf("%s: %d of %d are left:\n%s", d, got, n, text)
		}
	}
	if text := string(readFile(t, s.path(GroupStatusDoc))); !strings.Contains(text, `"a_note": "no group", "b_note": {"mood": "good"}`) {
		t.Error(text)
	}
	before := files(t, root)
	record(t, s, next(t))
	sameFiles(t, before, files(t, root))
}

func TestOtherProgramsMembersKeepTheirFormat(t *testing.T) {
	root := seedFolder(t)
	put(t, root, PMStateDoc, []byte(`{"session_id": "v4_20250106_100000",
  "task_groups": {"first": {"id": "A", "k": "a"}, "B": {"k": "b"}},
  "execution_phases": [{"phase": 2, "k": "two"}, {"phase": "1", "groups": ["A", "B"], "k": "one"}]}`))
	s := openAt(t, root, noon)
	record(t, s, seedContents(t))
	pm := parse(t, readFile(t, s.path(PMStateDoc)))
	for list, want := range map[string]string{"task_groups": "a b ", "execution_phases": "one two"} {
		var got []string
		for _, item := range pm.Get(list).Items() {
			got = append(got, item.Get("k").Text())
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %q", list, got)
		}
	}
	before := files(t, root)
	record(t, s, seedContents(t))
	sameFiles(t, before, files(t, root))
}

func TestMovedListItemsKeepOtherProgramsMembers(t *testing.T) {
	root := seedFolder(t)
	put(t, root, PMStateDoc, []byte(`{"session_id": "v4_20250106_100000", "all_tasks": ["T9", {"id": "T2", "k": "t2"}, {"id": "T1", "k": "t1"}, {"id": "T7"}],
  "task_groups": {"B": {"k": "b"}, "Z": {"k": "z"}, "A": {"id": "A", "k": "a"}}, "execution_phases": [{"phase_number": 2.0, "k": "two"}]}`))
	put(t, root, OrchestratorDoc, []byte(`{"session_id": "v4_20250106_100000", "active_agents": [
  {"agent_type": "developer", "group_id": "C", "spawned_at": "2025-01-06T09:00:00Z", "pid": 1},
  {"agent_type": "tech_lead", "group_id": "C", "spawned_at": "2025-01-06T11:28:00+01:00", "pid": 2}], "decisions_log": [{"iteration": 1, "decision": "mine", "k": 3}]}`))
	s := openAt(t, root, noon)
	record(t, s, seedContents(t))
	pm, o := parse(t, readFile(t, s.path(PMStateDoc))), parse(t, readFile(t, s.path(OrchestratorDoc)))
	for list, want := range map[string]string{"all_tasks": "t1 t2  ", "task_groups": "a b ", "execution_phases": " two"} {
		var got []string
		for _, item := range pm.Get(list).Items() {
			got = append(got, item.Get("k").Text())
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %q", list, got)
		}
	}
	for _, agent := range o.Get("active_agents").Items() {
		if pid, _ := agent.Get("pid").Int(); pid != 2 || o.Get("active_agents").Len() != 1 {
			t.Errorf("%s", o.Get("active_agents").Raw())
		}
	}
	if strings.Contains(o.String(), `"k"`) {
		t.Errorf("a decision that is not in the picture is still there: %s", o)
	}
	for _, f := range validate(t, root) {
		if f.Name != "unknown-key" {
			t.Error(f)
		}
	}
}

func TestAGroupThatIsNotInTheContentsIsDeleted(t *testing.T) {
	root := seedFolder(t)
	text := strings.Replace(string(seed(t, GroupStatusDoc)), "{", `{"Z": {"status": "complete"}, "note": 1, `, 1)
	put(t, root, GroupStatusDoc, []byte(text))
	s := openAt(t, root, noon)
	record(t, s, seedContents(t))
	if got := parse(t, readFile(t, s.path(GroupStatusDoc))); got.Get("Z").Kind() != jsontree.Missing || got.Get("note").Kind() != jsontree.Number {
		t.Error(got)
	}
}

func TestMessagesOfOthersStayInTheirPlace(t *testing.T) {
	root := seedFolder(t)
	s := openAt(t, root, noon)
	theirs := "{\"messages\": [\n  {\"id\": \"other\", \"x\": 1}, 7, {\"id\": \"msg_20250106_100800\", \"read\": false, \"x\": 2},\n  {\"no\": \"id\"}\n], \"n\": 1}"
	put(t, root, DevToQADoc, []byte(theirs))
	sent, err := s.Send(ctx, Draft{Group: "A", From: Developer, To: QAExpert, Subject: "by a user"})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		record(t, s, next(t))
		got := parse(t, readFile(t, s.path(DevToQADoc)))
		var ids []string
		for _, item := range got.Get("messages").Items() {
			ids = append(ids, item.Get("id").Text())
		}
		if want := []string{"other", "", "msg_20250106_100800", "", sent.ID, "msg_new"}; !slices.Equal(ids, want) {
			t.Errorf("%q", ids)
		}
		if text := got.String(); !strings.Contains(text, `{"id": "other", "x": 1}, 7,`) || !strings.Contains(text, `"x": 2`) || !strings.Contains(text, `"n": 1`) {
			t.Error(text)
		}
	}
}

func TestTheNextRecordingRepairsADamagedDocument(t *testing.T) {
	wanted, err := next(t).documents()
	if err != nil {
		t.Fatal(err)
	}
	for n := range uint64(3000) {
		random := rand.New(rand.NewPCG(n, 1))
		d := Documents()[n%6]
		value := jsontree.Interface(parse(t, seed(t, d)))
		for range 1 + random.IntN(6) {
			value = spoil(value, random)
		}
		data, err := marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		doc, err := jsontree.Parse(data)
		if err != nil || whyUneditable(d, doc.Value()) != "" {
			continue
		}
		updateTo(doc.Root(), wanted[d], rules(d))
		mark := doc.Mark()
		updateTo(doc.Root(), wanted[d], rules(d))
		if at := differs(doc.Value(), wanted[d], rules(d)); at != "" || doc.Err() != nil || doc.Mark() != mark {
			t.Fatalf("seed %d: %s in %s (%v) from\n%s", n, at, doc.Bytes(), doc.Err(), data)
		}
	}
}

// spoil returns a copy of the value v with one random error.
func spoil(v any, random *rand.Rand) any {
	switch v := v.(type) {
	case map[string]any:
		names := slices.Sorted(maps.Keys(v))
		if len(names) == 0 || random.IntN(8) == 0 {
			v["x_theirs"] = len(names)
			return v
		}
		name := names[random.IntN(len(names))]
		if random.IntN(6) == 0 {
			delete(v, name)
		} else {
			v[name] = spoil(v[name], random)
		}
		return v
	case []any:
		i := random.IntN(len(v) + 1)
		switch {
		case i == len(v):
			return append(v, slices.Clone(v)...)
		case random.IntN(4) == 0:
			return slices.Delete(v, i, i+1)
		case random.IntN(4) == 0:
			random.Shuffle(len(v), func(i, j int) { v[i], v[j] = v[j], v[i] })
		default:
			v[i] = spoil(v[i], random)
		}
		return v
	}
	return []any{nil, "x", 7, true, []any{v}, map[string]any{"id": v, "status": "complete"}}[random.IntN(6)]
}

// differs returns the path of the first value in v that does not match want, or "" if all match.
func differs(v, want jsontree.Value, r *rule) string {
	if v.Kind() != want.Kind() {
		return "the kind"
	}
	if r.sent && allTexts(v) {
		return ""
	}
	for name, member := range want.Members() {
		of := r.field(name)
		if r.form == dictionary {
			of = r.each
		}
		if at := differs(v.Get(name), member, of); at != "" {
			return name + "." + at
		}
	}
	for _, f := range r.fields {
		if want.Get(f.name).Kind() == jsontree.Missing && v.Get(f.name).Kind() != jsontree.Missing {
			return f.name
		}
	}
	if want.Kind() == jsontree.Array {
		return listDiffers(v, want, r)
	}
	if want.Kind() != jsontree.Object && !same(v, want, r) && (!r.sticky || !isTrue(v)) {
		return string(v.Raw())
	}
	return ""
}

// listDiffers compares the items of two lists in order. v may have more items than want only if
// other programs may add to the list.
func listDiffers(v, want jsontree.Value, r *rule) string {
	var items []jsontree.Value
	for _, item := range v.Items() {
		items = append(items, item)
	}
	if !r.open && len(items) != want.Len() {
		return "the length"
	}
	for i, item := range want.Items() {
		at := slices.IndexFunc(items, func(found jsontree.Value) bool { return differs(found, item, r.each) == "" })
		if at < 0 || (!r.open && differs(items[i], item, r.each) != "") {
			return "an item"
		}
	}
	return ""
}
