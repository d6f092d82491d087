package app

import "ramet/internal/testkit/probe"

// The test binary, which scripts run as ramet, has the switches without the tag.
func init() {
	switches = probe.FromEnvironment
	probe.CountSteps()
}

// RunIn lets tests run a command in this process: it costs a tenth of a start.
var RunIn = runIn
