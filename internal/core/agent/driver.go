package agent

import "strings"

// DriverVendor is the vendor of agents that another program drives: driver/NAME or driver/NAME/MODEL.
const DriverVendor = "driver"

// SplitDriver splits a provider and model into a driver's name and the model that its program is to use.
// ok is false if no program drives such an agent.
func SplitDriver(provider, ref string) (name, model string, ok bool) {
	if provider != DriverVendor {
		return "", "", false
	}
	name, model, _ = strings.Cut(ref, "/")
	return name, model, true
}

// Driver returns the name of the program that drives the agent, or "" for ramet's own loop.
func (a Agent) Driver() string {
	name, _, _ := SplitDriver(a.Provider, a.Model)
	return name
}
