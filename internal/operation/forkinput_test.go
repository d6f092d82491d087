package operation_test

import (
	"testing"

	"ramet/internal/base/fault"
	"ramet/internal/operation"
)

func TestCleanNeedsAWorktree(t *testing.T) {
	if err := (&operation.ForkInput{Clean: true}).Check(); fault.CodeOf(err) != fault.Usage {
		t.Errorf("clean without a worktree: %v", err)
	}
	if err := (&operation.ForkInput{Clean: true, Worktree: true}).Check(); err != nil {
		t.Error(err)
	}
}
