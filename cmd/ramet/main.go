// Command ramet is an operating environment for LLM agents.
package main

import (
	"context"
	"os"

	"ramet/internal/app"
)

func main() {
	ctx := &signals{Context: context.Background()}
	os.Exit(app.Main(ctx, os.Args[1:], os.Getenv, app.Stdio{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}))
}
