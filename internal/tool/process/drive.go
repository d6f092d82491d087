package process

import (
	"ramet/internal/fault"
	"ramet/internal/llm"
)

// Drivers finds programs that drive agents by their names; a kernel that has some is one.
type Drivers interface {
	// Driver is what stands in the place of the child's model. NOT_FOUND: there is no such
	// program, or it is not installed.
	Driver(name string) (llm.Ref, error)
	// Drivers are the names of those that are installed.
	Drivers() []string
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
