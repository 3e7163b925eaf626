package memory_test

import (
	"testing"

	"gaffer/internal/engine/store"
	"gaffer/internal/engine/store/memory"
	"gaffer/internal/engine/store/storetest"
)

func TestContract(t *testing.T) {
	storetest.Run(t, func(*testing.T) storetest.Database {
		s := memory.New()
		return storetest.Database{Open: func(*testing.T) store.Store { return s }}
	})
}
