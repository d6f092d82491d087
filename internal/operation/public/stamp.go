package public

import "time"

// stampForm is how moments look.
const stampForm = "2006-01-02T15:04:05.000000Z"

// Stamp is a moment as all shapes have it; none is empty.
func Stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return string(appendStamp(make([]byte, 0, len(stampForm)), t))
}

// appendStamp appends a moment, as time's Format writes it by stampForm, in a fraction of the time; nothing
// for none.
func appendStamp(b []byte, t time.Time) []byte {
	if t.IsZero() {
		return b
	}
	t = t.UTC()
	year, month, day := t.Date()
	if year < 0 || year > 9999 {
		return t.AppendFormat(b, stampForm)
	}
	hour, minute, second := t.Clock()
	b = append(digits(b, 4, year), '-')
	b = append(digits(b, 2, int(month)), '-')
	b = append(digits(b, 2, day), 'T')
	b = append(digits(b, 2, hour), ':')
	b = append(digits(b, 2, minute), ':')
	b = append(digits(b, 2, second), '.')
	return append(digits(b, 6, t.Nanosecond()/1000), 'Z')
}

// digits appends a number with so many digits.
func digits(b []byte, n, value int) []byte {
	at := len(b)
	b = append(b, "000000"[:n]...)
	for i := at + n - 1; i >= at; i-- {
		b[i] = byte('0' + value%10)
		value /= 10
	}
	return b
}
