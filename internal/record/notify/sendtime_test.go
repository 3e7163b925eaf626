package notify

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestQuietHours(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		from, to int
		at       string
		holds    bool
		end      string
	}{
		{22 * 60, 7 * 60, "2026-03-01T21:59:59+01:00", false, "2026-03-02T07:00:00+01:00"},
		{22 * 60, 7 * 60, "2026-03-01T22:00:00+01:00", true, "2026-03-02T07:00:00+01:00"},
		{22 * 60, 7 * 60, "2026-03-01T23:30:00Z", true, "2026-03-02T07:00:00+01:00"}, // 0:30 in Berlin
		{22 * 60, 7 * 60, "2026-03-02T06:59:59+01:00", true, "2026-03-02T07:00:00+01:00"},
		{22 * 60, 7 * 60, "2026-03-02T07:00:00+01:00", false, "2026-03-03T07:00:00+01:00"},
		{12 * 60, 13*60 + 30, "2026-03-02T13:29:00+01:00", true, "2026-03-02T13:30:00+01:00"},
		{12 * 60, 13*60 + 30, "2026-03-02T13:30:00+01:00", false, "2026-03-03T13:30:00+01:00"},
		{22 * 60, 7 * 60, "2026-03-29T01:30:00+01:00", true, "2026-03-29T07:00:00+02:00"}, // daylight saving time starts in this night
		{22 * 60, 7 * 60, "2026-10-25T02:30:00+01:00", true, "2026-10-25T07:00:00+01:00"}, // daylight saving time ends in this night
	} {
		at, err := time.Parse(time.RFC3339, c.at)
		if err != nil {
			t.Fatal(err)
		}
		q := QuietHours{From: c.from, To: c.to, Zone: berlin}
		if got := q.Contains(at); got != c.holds {
			t.Errorf("%s: quiet is %v", c.at, got)
		}
		if got := q.End(at).Format(time.RFC3339); got != c.end {
			t.Errorf("%s: ends at %s, want %s", c.at, got, c.end)
		}
	}
	if (QuietHours{}).Contains(noon) {
		t.Error("without hours it is quiet")
	}
}

// toldBy returns a text that says what an action sends, or how long it waits.
func toldBy(m nextAction, now time.Time) string {
	switch {
	case len(m.entries) == 0 && m.wait.IsZero():
		return "nothing"
	case len(m.entries) == 0:
		return "wait " + m.wait.Sub(now).String()
	}
	n := m.message()
	if n.ID != m.id {
		return "a message with another id"
	}
	return strings.ReplaceAll(n.Title, " notifications", "")
}

func waits(at time.Time, kinds ...Kind) (list []entry) {
	for i, k := range kinds {
		n := Notification{ID: fmt.Sprint(k, i), Kind: k, Title: fmt.Sprint(k, " ", i), Time: at}
		list = append(list, entry{Note: n, Queued: at, State: Pending})
	}
	return list
}

func batched(list []entry, id string) []entry {
	for i := range list {
		list[i].Batch = id
	}
	return list
}

func TestNextAction(t *testing.T) {
	night, evening := time.Date(2026, 3, 1, 23, 0, 0, 0, time.UTC), time.Date(2026, 3, 1, 21, 0, 0, 0, time.UTC)
	morning := time.Date(2026, 3, 2, 8, 0, 0, 0, time.UTC)
	hours := QuietHours{From: 22 * 60, To: 7 * 60}
	all, questions := Rules{Quiet: hours, HoldQuestions: true, Burst: 3}, Rules{Quiet: hours, Burst: 3}
	sent := func(ago ...time.Duration) (s sender) {
		for _, d := range ago {
			s.Sent = append(s.Sent, noon.Add(-d))
		}
		return s
	}
	for name, c := range map[string]struct {
		now   time.Time
		open  []entry
		s     sender
		rules Rules
		want  string
	}{
		"nothing waits":                       {noon, nil, sender{}, all, "nothing"},
		"one":                                 {noon, waits(noon, Failed), sender{}, all, "failed 0"},
		"some, one by one":                    {noon, waits(noon, Failed, Waiting, Finished), sender{}, all, "failed 0"},
		"more than fit a minute, as one":      {noon, waits(noon, Failed, Failed, Finished, Waiting), sender{}, all, "4: 1 waiting, 2 failed, 1 finished"},
		"more than the rest of a minute":      {noon, waits(noon, Failed, Waiting), sent(50*time.Second, time.Second), all, "2: 1 waiting, 1 failed"},
		"the minute is full":                  {noon, waits(noon, Failed), sent(50*time.Second, 2*time.Second, time.Second), all, "wait 10s"},
		"the minute was full":                 {noon, waits(noon, Failed), sent(60*time.Second, 2*time.Second, time.Second), all, "failed 0"},
		"after a failure":                     {noon, waits(noon, Failed), sender{Retry: noon.Add(5 * time.Second)}, all, "wait 5s"},
		"in the night":                        {night, waits(night, Failed, Waiting), sender{}, all, "wait 8h0m0s"},
		"a question in the night":             {night, waits(night, Failed, Waiting), sender{}, questions, "waiting 1"},
		"of the evening, in the night":        {night, waits(evening, Failed), sender{}, all, "wait 8h0m0s"},
		"in the morning, of the night":        {morning, waits(night, Failed, Waiting), sender{}, all, "2: 1 waiting, 1 failed"},
		"in the morning, the only one":        {morning, waits(night, Failed), sender{}, all, "failed 0"},
		"in the morning, a late question":     {morning, waits(night, Failed, Waiting, Failed), sender{}, questions, "2: 2 failed"},
		"of the morning":                      {morning, waits(morning, Failed, Failed), sender{}, all, "failed 0"},
		"perhaps sent":                        {noon, append(waits(noon, Waiting), batched(waits(noon, Failed), "failed0")...), sender{}, all, "failed 0"},
		"perhaps sent, in the night":          {night, batched(waits(evening, Failed), "failed0"), sender{}, all, "wait 8h0m0s"},
		"perhaps sent, though minute is full": {noon, batched(waits(noon, Failed), "failed0"), sent(3*time.Second, 2*time.Second, time.Second), all, "failed 0"},
	} {
		if got := toldBy(next(c.now, c.open, c.s, c.rules), c.now); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

func TestADigestThatIsSentAgainIsTheSame(t *testing.T) {
	open := waits(noon, Failed, Waiting, Failed, Failed)
	r := Rules{Burst: 2}
	first := next(noon, open, sender{}, r)
	open = append(batched(open, first.id), waits(noon.Add(time.Second), Finished)...)
	again := next(noon.Add(time.Minute), open, sender{}, r)
	if a, b := first.message(), again.message(); a.ID != b.ID || a.Text != b.Text || a.Count != 4 || len(a.Notes) != 4 {
		t.Errorf("%+v, then %+v", a, b)
	}
}

func TestADigestShowsTheQuestionsFirstAndIsBounded(t *testing.T) {
	kinds := make([]Kind, 500)
	for i := range kinds {
		kinds[i] = Failed
	}
	kinds[499] = Waiting
	n := next(noon, waits(noon, kinds...), sender{}, Rules{Burst: 10}).message()
	if n.Count != 500 || len(n.Notes) != digestNotes || !strings.HasPrefix(n.Text, "waiting 499\nfailed 0\n") || !strings.HasSuffix(n.Text, "and 492 more") {
		t.Errorf("%d of %d: %s", len(n.Notes), n.Count, n.Text)
	}
}

func TestATryWaitsLongerEachTimeButNotForEver(t *testing.T) {
	var got []time.Duration
	for tries := range 6 {
		got = append(got, backoff(tries+1))
	}
	if want := "[5s 15s 45s 2m15s 5m0s 5m0s]"; fmt.Sprint(got) != want {
		t.Errorf("%v, want %s", got, want)
	}
}
