//go:build !unix

package app

import "context"

const detached = "RAMET_DETACHED"

// Nothing goes on in the background here: exec waits for its children.
func detach([]string, Stdio) func(context.Context) (int, error) { return nil }

func leave(func(string) string) func(int) { return nil }
