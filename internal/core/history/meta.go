package history

import (
	"encoding/json"
	"fmt"
)

// Encode writes meta as JSON. Empty fields are left out.
func (m *Meta) Encode() ([]byte, error) {
	out, err := json.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("encode meta: %w", err)
	}
	return out, nil
}
