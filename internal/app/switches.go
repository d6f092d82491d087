package app

import "ramet/internal/runner"

// switches returns the switches that tests set in this process; a released program has none.
var switches = func() runner.Switches { return runner.Switches{} }
