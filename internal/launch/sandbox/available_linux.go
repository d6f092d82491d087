package sandbox

import (
	"context"
	"os"
	"sync"

	"ramet/internal/base/fault"
)

// Available reports whether commands can be confined here: nil, or a DENIED fault that
// names what is missing. The answer is found by doing it, once; what
// killed ramets left in the temporary folder is removed on that occasion.
func Available() error { return available() }

var available = sync.OnceValue(func() error {
	missing := func(err error) error {
		return fault.New(fault.Denied, "commands cannot be confined on this system: %w", err).
			WithHint("ramet asks before each command; Linux 6.2 or newer with Landlock and, for users other than root, user namespaces would change that")
	}
	if _, err := landlockABI(); err != nil {
		return missing(err)
	}
	in, err := (&Box{}).resolve()
	if err != nil {
		return missing(err)
	}
	removeAbandoned(os.TempDir())
	p, err := order{Box: in, Dry: true}.start(context.Background(), nil)
	if err != nil {
		return missing(err)
	}
	if _, err := p.Wait(); err != nil {
		return missing(err)
	}
	return nil
})
