package postgres_test

import (
	"os"
	"testing"

	"gaffer/internal/engine/store"
	"gaffer/internal/engine/store/postgres"
	"gaffer/internal/engine/store/postgres/pgtest"
	"gaffer/internal/engine/store/storetest"
	"gaffer/internal/testkit/testenv"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

func open(t *testing.T, url string) *postgres.Store {
	t.Helper()
	s, err := postgres.Open(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestContract(t *testing.T) {
	testenv.Integration(t)
	storetest.Run(t, func(t *testing.T) storetest.Database {
		url := pgtest.Database(t)
		return storetest.Database{Open: func(t *testing.T) store.Store { return open(t, url) }}
	})
}
