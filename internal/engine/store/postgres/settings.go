package postgres

import (
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
)

// settings are server settings for each transaction, as a query. It is empty if they are
// set for the whole connection.
type settings struct {
	query  string
	values []any
}

// configure sets the server settings that every transaction needs, except those that are
// set in the URL. If the URL asks for queries without prepared statements, the
// connections may be those of a pooler. Then nothing may be set for a connection, because
// the next transaction may run on another one.
func configure(c *pgx.ConnConfig, schema string) settings {
	params := c.RuntimeParams
	values := map[string]string{
		"lock_timeout":                        fmt.Sprint(lockTimeout.Milliseconds()),
		"idle_in_transaction_session_timeout": fmt.Sprint(maxIdle.Milliseconds()),
		// Every query has an index. A plan that was made while a table was small or not
		// yet analysed must not scan the whole table later.
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

// begin returns a batch that begins a transaction with the settings.
func (s settings) begin(statement string) *pgx.Batch {
	batch := &pgx.Batch{}
	batch.Queue(statement)
	if s.query != "" {
		batch.Queue(s.query, s.values...)
	}
	return batch
}
