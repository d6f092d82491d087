package app

import (
	"bytes"
	"context"
	"encoding/json"
	"os/exec"
	"strings"

	"ramet/internal/base/fault"
	"ramet/internal/operation/control"
	"ramet/internal/operation/public"
)

// again carries out another command line of ramet in a process of its own, which may go on
// in the background, and gives what it prints. Its error is the one that the process told.
func again(ctx context.Context, dir string, args ...string) (string, error) {
	var out, told bytes.Buffer
	c := exec.CommandContext(ctx, control.OwnProgram(), args...)
	c.Args[0] = "ramet" // for ps
	c.Dir, c.Stdout, c.Stderr = dir, &out, &told
	err := c.Run()
	if err == nil {
		return strings.TrimSpace(out.String()), nil
	}
	for one := range strings.Lines(told.String()) {
		var said struct{ Error *public.Error }
		if json.Unmarshal([]byte(one), &said) == nil && said.Error != nil {
			return "", said.Error.Fault()
		}
	}
	return "", fault.New(fault.Failed, "ramet %s: %w", args[0], err)
}
