package app

import "ramet/internal/testkit/probe"

// switches are what a test changes in this process: nothing, in a released one.
var switches = func() probe.Switches { return probe.Switches{} }
