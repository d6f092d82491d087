package public

import "time"

// stampForm is the format of times.
const stampForm = "2006-01-02T15:04:05.000000Z"

// Stamp is a moment as all shapes have it; none is empty.
func Stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(stampForm)
}
