package postgres

import (
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
)

// settings is a query that sets server settings for one transaction. The query is empty if
// the settings apply to whole connections.
type settings struct {
	query  string
	values []any
}

// configure sets the server settings that every transaction needs. Values in the URL have
// precedence. If the URL asks for queries without prepared statements, the connections may
// go through a connection pooler. Then settings must be set in each transaction, because
// the next transaction may run on another connection.
func configure(c *pgx.ConnConfig, schema string) settings {
	params := c.RuntimeParams
	values := map[string]string{
		"lock_timeout":                        fmt.Sprint(lockTimeout.Milliseconds()),
		"idle_in_transaction_session_timeout": fmt.Sprint(maxIdle.Milliseconds()),
		// Every query has an index. Without these settings, the server could choose a plan
		// while a table is small, and scan the whole table with it later.
		"enable_seqscan":    "off",
		"enable_bitmapscan": "off",
		"plan_cache_mode":   "force_generic_plan",
		"jit":               "off",
	}
	for name, value := range values {
		if _, set := params[name]; !set {
			params[name] = value
		}
	}
	params["search_path"] = schema
	var s settings
	if c.DefaultQueryExecMode == pgx.QueryExecModeExec || c.DefaultQueryExecMode == pgx.QueryExecModeSimpleProtocol {
		var calls []string
		for name, value := range params {
			s.values = append(s.values, name, value)
			calls = append(calls, fmt.Sprintf("set_config($%d, $%d, true)", len(s.values)-1, len(s.values)))
		}
		s.query = "SELECT " + strings.Join(calls, ", ")
		clear(params)
	}
	if params["application_name"] == "" {
		params["application_name"] = "gaffer"
	}
	return s
}

// begin returns a batch with a statement that begins a transaction, and the settings.
func (s settings) begin(statement string) *pgx.Batch {
	batch := &pgx.Batch{}
	batch.Queue(statement)
	if s.query != "" {
		batch.Queue(s.query, s.values...)
	}
	return batch
}
