package config

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestTheUsersFileNamesTheSourcesThatAServerWatches(t *testing.T) {
	values, err := parse("gaffer.yaml", []byte(`sources:
  shop: {from: "gh:ada/shop label:agent", plan: night.yaml, every: 5m, limit: 3}
  ideas:
    from: inbox
    project: /srv/shop
`))
	if err != nil {
		t.Fatal(err)
	}
	c := &Config{values: map[string]Value{}}
	c.add(userLayer, values)
	want := map[string]WatchedSource{
		"shop":  {From: "gh:ada/shop label:agent", Plan: "night.yaml", Every: 5 * time.Minute, Limit: 3},
		"ideas": {From: "inbox", Project: "/srv/shop", Every: 10 * time.Minute},
	}
	if diff := cmp.Diff(want, c.Sources()); diff != "" {
		t.Error(diff)
	}
	for _, v := range values {
		if !v.Key.Own {
			t.Errorf("a project's file may set %s", v.Key.Name)
		}
	}
}

func TestASourceThatIsNotValidSaysWhy(t *testing.T) {
	for text, want := range map[string]string{
		"sources: [a]":                                  "sources: found a list",
		"sources: {shop: {plan: x}}":                    "sources.shop: from is missing",
		"sources: {shop: {from: inbox, evry: 1m}}":      "evry",
		"sources: {shop: {from: inbox, every: 1}}":      `every: found "1", want a duration`,
		"sources: {shop: {from: inbox, every: 1s}}":     "want 10s at least",
		"sources: {shop: {from: inbox, project: here}}": "want an absolute path",
		"sources: {\"a b\": {from: inbox}}":             "letters, digits",
	} {
		if _, err := parse("gaffer.yaml", []byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}
