package lazyregexp_test

import (
	"testing"

	"gaffer/statefile/lazyregexp"
)

func TestAnExpressionIsCompiledOnce(t *testing.T) {
	word := lazyregexp.New(`^\w+$`)
	if !word().MatchString("word") || word().MatchString("two words") {
		t.Error("it does not match what it should")
	}
	if first, again := word(), word(); first != again {
		t.Error("it was compiled twice")
	}
}

func TestAnInvalidExpressionPanicsAtTheFirstUse(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	lazyregexp.New(`(`)()
}
