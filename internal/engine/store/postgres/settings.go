package postgres

import (
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
)

// settings holds a query that sets server settings for one transaction, and the query's arguments.
// The query is empty if the settings are set once for each connection, when it is opened.
type settings struct {
	query  string
	values []any
}

// configure determines the server settings that every transaction needs. Settings in the database
// URL have precedence. Normally, configure writes the settings to c, so that they are set when a
// connection is opened. But if the URL turns prepared statements off, there may be a connection
// pooler between gaffer and the server, and the next transaction may run on another connection to
// the server. In this case configure returns the settings, because they must be set in each
// transaction.
func configure(c *pgx.ConnConfig, schema string) settings {
	params := c.RuntimeParams
	values := map[string]string{
		"lock_timeout":                        fmt.Sprint(lockTimeout.Milliseconds()),
		"idle_in_transaction_session_timeout": fmt.Sprint(maxIdle.Milliseconds()),
		// There is an index for every query. Without these settings, PostgreSQL could plan to scan
		// a table while the table is small, and keep this plan when the table has become large.
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

// begin returns a batch that begins a transaction with the given statement, and sets the settings.
func (s settings) begin(statement string) *pgx.Batch {
	batch := &pgx.Batch{}
	batch.Queue(statement)
	if s.query != "" {
		batch.Queue(s.query, s.values...)
	}
	return batch
}
