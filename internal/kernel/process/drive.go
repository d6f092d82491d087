package process

import (
	"encoding/json"

	"ramet/internal/base/fault"
	"ramet/internal/core/agent"
	"ramet/internal/model/llm"
)

// Drivers finds programs that drive agents by their names; a kernel that has some is one.
type Drivers interface {
	// Driver returns the placeholder of the child's model. It returns NOT_FOUND if there is no such program or it isn't
	// installed.
	Driver(name string) (llm.Ref, error)
	// Drivers are the names of those that are installed.
	Drivers() []string
}

// starts returns the program that a call would start for its child: the one that it names, or that
// the definition names.
func (f fork) starts(args json.RawMessage) string {
	a, err := decode[forkArgs](args)
	if err != nil {
		return ""
	}
	if roles, ok := f.kernel.(Roles); ok && a.Driver == "" && a.definition() != "" {
		r, err := roles.Role(a.definition())
		if err != nil {
			return ""
		}
		a.Driver, _, _ = agent.SplitDriver(r.Provider, r.Model)
	}
	return a.Driver
}

// drive lets another program drive a planned child.
func (f fork) drive(c *child) error {
	if c.args.Driver == "" {
		return nil
	}
	drivers, ok := f.kernel.(Drivers)
	if !ok {
		return fault.New(fault.NotFound, "no driver %.60q is known", c.args.Driver)
	}
	ref, err := drivers.Driver(c.args.Driver)
	if err != nil {
		return err
	}
	c.child.Provider, c.child.Model = ref.Vendor, ref.Name
	return nil
}
