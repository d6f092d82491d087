//go:build rametprobe

package app

import "ramet/internal/app/probe"

func init() {
	switches = probe.FromEnvironment
	probe.CountSteps()
}
