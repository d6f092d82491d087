//go:build rametprobe

package app

import "ramet/internal/testkit/probe"

func init() {
	switches = probe.FromEnvironment
	probe.CountSteps()
}
