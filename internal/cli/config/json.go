package config

import (
	"gaffer/internal/cli/env"
	"gaffer/internal/config"
)

// setting is the JSON form of one setting and its value.
type setting struct {
	Key     string `json:"key"`
	Value   string `json:"value"`
	From    string `json:"from"`
	Default string `json:"default"`
	Env     string `json:"env"`
	Doc     string `json:"doc"`
}

func describe(v config.Value) setting {
	return setting{
		Key: v.Key.Name, Value: v.Text, From: v.Origin.String(),
		Default: v.Key.Default, Env: v.Key.Env(), Doc: v.Key.Doc,
	}
}

func printAll(e *env.Env, c *config.Config) error {
	p, err := e.Project()
	if err != nil {
		return err
	}
	settings := make([]setting, 0, len(c.Values()))
	for _, v := range c.Values() {
		settings = append(settings, describe(v))
	}
	return e.PrintJSON(map[string]any{"project": p.Root, "project_from": p.From, "settings": settings})
}
