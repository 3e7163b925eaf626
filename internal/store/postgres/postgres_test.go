package postgres_test

import (
	"os"
	"testing"

	"gaffer/internal/store"
	"gaffer/internal/store/postgres"
	"gaffer/internal/store/postgres/pgtest"
	"gaffer/internal/store/storetest"
	"gaffer/internal/testenv"
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
