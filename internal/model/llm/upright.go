package llm

import (
	"bytes"
	"encoding/binary"
	"image"
	"image/color"
)

// readOrientation returns how a camera was held, 1 to 8 as Exif has it; 1 where nothing is said.
func readOrientation(data []byte) int {
	for at := 2; at+4 <= len(data) && data[at] == 0xff; {
		marker, size := data[at+1], int(binary.BigEndian.Uint16(data[at+2:]))
		end := at + 2 + size
		if marker == 0xda || size < 2 || end > len(data) { // the picture itself begins
			return 1
		}
		if body, ok := bytes.CutPrefix(data[at+4:end], []byte("Exif\x00\x00")); ok && marker == 0xe1 {
			return exifOrientation(body)
		}
		at = end
	}
	return 1
}

func exifOrientation(tiff []byte) int {
	if len(tiff) < 8 {
		return 1
	}
	var order binary.ByteOrder = binary.LittleEndian
	if tiff[0] == 'M' {
		order = binary.BigEndian
	}
	at := int64(order.Uint32(tiff[4:]))
	if at+2 > int64(len(tiff)) {
		return 1
	}
	for n := int64(order.Uint16(tiff[at:])); n > 0; n-- {
		entry := at + 2 + (n-1)*12
		if entry+12 > int64(len(tiff)) {
			continue
		}
		if order.Uint16(tiff[entry:]) == 0x0112 {
			if v := int(order.Uint16(tiff[entry+8:])); v >= 1 && v <= 8 {
				return v
			}
		}
	}
	return 1
}

// turnUpright returns an image turned as it was seen.
func turnUpright(from image.Image, how int) image.Image {
	if how <= 1 || how > 8 {
		return from
	}
	return turned{from, how}
}

// turned reads another image in another order; nothing is copied.
type turned struct {
	image.Image
	how int
}

// Bounds begins at 0,0.
func (t turned) Bounds() image.Rectangle {
	size := t.Image.Bounds().Size()
	if t.how >= 5 {
		size.X, size.Y = size.Y, size.X
	}
	return image.Rectangle{Max: size}
}

// At returns a point of the upright image.
func (t turned) At(x, y int) color.Color {
	in := t.Image.Bounds()
	w, h := in.Dx()-1, in.Dy()-1
	switch t.how {
	case 2:
		x = w - x
	case 3:
		x, y = w-x, h-y
	case 4:
		y = h - y
	case 5:
		x, y = y, x
	case 6:
		x, y = y, h-x
	case 7:
		x, y = w-y, h-x
	case 8:
		x, y = w-y, x
	}
	return t.Image.At(in.Min.X+x, in.Min.Y+y)
}
