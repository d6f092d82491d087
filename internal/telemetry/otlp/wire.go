package otlp

import "encoding/binary"

// The wire format of protocol buffers, as far as spans need it. The library for it is what tests
// read with; before main it looks at the program's file, and every command would wait for that.

// kind is how the value of a field is written.
type kind uint64

// The kinds.
const (
	varint  kind = 0
	fixed64 kind = 1
	lengthy kind = 2
	begins  kind = 3 // a group, as they were written once
	ends    kind = 4
	fixed32 kind = 5
)

// head writes which field follows, and how.
func head(b []byte, field int, k kind) []byte {
	return binary.AppendUvarint(b, uint64(field)<<3|uint64(k))
}

func number(b []byte, field int, v uint64) []byte {
	return binary.AppendUvarint(head(b, field, varint), v)
}

func fixed(b []byte, field int, v uint64) []byte {
	return binary.LittleEndian.AppendUint64(head(b, field, fixed64), v)
}

func data[T []byte | string](b []byte, field int, value T) []byte {
	return append(binary.AppendUvarint(head(b, field, lengthy), uint64(len(value))), value...)
}

// each goes through the fields of a message, as far as it is one, and passes groups by: v is the
// value of a varint, value that of another kind.
func each(b []byte, do func(field int, k kind, v uint64, value []byte)) {
	var within []uint64 // groups
	for len(b) > 0 {
		first, n := binary.Uvarint(b)
		field, k := first>>3, kind(first&7)
		if n <= 0 || field == 0 || field > mostField {
			return
		}
		b = b[n:]
		switch last := len(within) - 1; {
		case k == begins:
			within = append(within, field)
			continue
		case k == ends && (last < 0 || within[last] != field):
			return
		case k == ends:
			within = within[:last]
			continue
		}
		v, length, n := extent(b, k)
		if n < 0 || length > uint64(len(b)-n) {
			return
		}
		b = b[n:]
		if len(within) == 0 {
			do(int(field), k, v, b[:length])
		}
		b = b[length:]
	}
}

// mostField is the largest number of a field.
const mostField = 1<<29 - 1

// extent is the value of a varint, or how many bytes of another value follow the n that say so;
// n is negative where neither can be read.
func extent(b []byte, k kind) (v, length uint64, n int) {
	switch k {
	case varint:
		if v, n = binary.Uvarint(b); n <= 0 {
			n = -1
		}
	case lengthy:
		if length, n = binary.Uvarint(b); n <= 0 {
			n = -1
		}
	case fixed64:
		length = 8
	case fixed32:
		length = 4
	default:
		n = -1
	}
	return v, length, n
}

// rejected reads how many spans a collector did not take, out of a protobuf answer.
func rejected(answer []byte) int64 {
	var n int64
	each(answer, func(field int, k kind, _ uint64, inner []byte) {
		if field != 1 || k != lengthy {
			return
		}
		each(inner, func(field int, k kind, v uint64, _ []byte) {
			if field == 1 && k == varint && v < 1<<31 {
				n = int64(v)
			}
		})
	})
	return n
}
