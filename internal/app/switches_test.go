package app

import "ramet/internal/testkit/probe"

// The test binary, which scripts run as ramet, has the switches without the tag.
func init() {
	switches = probe.FromEnvironment
	probe.CountSteps()
}
