package ledger

import "embed"

//go:embed schemas/run.schema.json schemas/result.schema.json
var schemas embed.FS

// Schema returns the JSON Schema (draft 2020-12) of run records or of result records, as gaffer
// writes them. It panics if the kind is unknown.
func Schema(kind Kind) []byte {
	data, err := schemas.ReadFile("schemas/" + string(kind) + ".schema.json")
	if err != nil {
		panic("ledger: no schema of a " + string(kind))
	}
	return data
}
