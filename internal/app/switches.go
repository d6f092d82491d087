package app

import "ramet/internal/testkit/probe"

// switches returns the switches that tests set in this process; a released program has none.
var switches = func() probe.Switches { return probe.Switches{} }
