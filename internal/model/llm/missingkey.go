package llm

// MissingKey is the cause of a fault: a vendor needs a key, and none is known.
type MissingKey struct {
	Vendor   string
	Variable string // of the environment, that would hold it
}

// Error implements error.
func (m *MissingKey) Error() string { return "there is no key for " + m.Vendor }
