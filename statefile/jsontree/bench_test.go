package jsontree_test

import (
	"fmt"
	"strings"
	"testing"

	"gaffer/statefile/jsontree"
)

// thousand returns a session document with a thousand agents.
func thousand() []byte {
	var b strings.Builder
	b.WriteString("{\n  \"status\": \"running\",\n  \"agents\": [")
	for i := range 1000 {
		if i > 0 {
			b.WriteString(",")
		}
		fmt.Fprintf(&b, `
    {
      "id": "%03d",
      "name": "%03d-status-file-schema",
      "prompt_path": "prompts/monitor/%03d-status-file-schema.md",
      "status": "running",
      "wave": 1,
      "started_at": "2026-02-01T14:30:25Z",
      "completed_at": null,
      "duration_seconds": null,
      "exit_code": null,
      "pid": 12345,
      "log_file": ".founder-mode/status/sessions/20260201-143022-abc12345/%03d.log",
      "model": "claude",
      "error": null
    }`, i, i, i, i)
	}
	b.WriteString("\n  ],\n  \"summary\": {\n    \"total\": 1000\n  }\n}\n")
	return []byte(b.String())
}

func BenchmarkParse(b *testing.B) {
	data := thousand()
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		if _, err := jsontree.Parse(data); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkEditOneAgent measures the part of an update that needs no disk: check the document, find
// an agent, change it, read all agents, and encode the document.
func BenchmarkEditOneAgent(b *testing.B) {
	data := thousand()
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		doc, err := jsontree.Parse(data)
		if err != nil {
			b.Fatal(err)
		}
		running := 0
		for i, agent := range doc.Root().Child("agents").Items() {
			if i == 900 {
				agent.Set("status", "complete")
			}
			if agent.Get("status").Text() == "running" {
				running++
			}
		}
		doc.Root().Child("summary").Set("total", running)
		doc.Bytes()
	}
}
