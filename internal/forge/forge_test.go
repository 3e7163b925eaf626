package forge_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"gaffer/internal/forge"
)

func TestAProgramThatDoesNotEndInTimeIsNamed(t *testing.T) {
	p := forge.Program{Name: "sleep", Dir: t.TempDir(), Timeout: 50 * time.Millisecond}
	_, err := p.Run(t.Context(), "", "60")
	if failed := (*forge.Error)(nil); !errors.As(err, &failed) || failed.Error() != "sleep 60: it did not end within 50ms" {
		t.Errorf("the error is %v", err)
	}
}

func TestACancelledCallIsNoFailureOfTheProgram(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, cancel)
	p := forge.Program{Name: "sleep", Dir: t.TempDir()}
	_, err := p.Run(ctx, "", "60")
	if failed := (*forge.Error)(nil); err == nil || errors.As(err, &failed) {
		t.Errorf("the error is %v", err)
	}
}

func TestAFailedProgramIsReportedWithItsMessage(t *testing.T) {
	p := forge.Program{Name: "sh", Dir: t.TempDir()}
	_, err := p.Run(t.Context(), "echo no such issue >&2; exit 1")
	if failed := (*forge.Error)(nil); !errors.As(err, &failed) || !strings.Contains(failed.Problem, "no such issue") {
		t.Errorf("the error is %v", err)
	}
}
