package operation_test

import (
	"testing"

	"ramet/internal/base/fault"
	"ramet/internal/operation"
	"ramet/internal/testkit"
)

func TestCleanNeedsAWorktree(t *testing.T) {
	if err := (&operation.ForkInput{Clean: true}).Check(); fault.CodeOf(err) != fault.Usage {
		t.Errorf("clean without a worktree: %v", err)
	}
	testkit.OK(t, (&operation.ForkInput{Clean: true, Worktree: true}).Check())
}
