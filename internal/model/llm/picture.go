package llm

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"strings"

	"golang.org/x/image/draw"
	"golang.org/x/image/webp"
)

// The bounds. The bytes are those of the strictest vendor, Amazon.
const (
	Longest    = 2000
	MostBytes  = 3_750_000
	MostPixels = 50_000_000
	MostFile   = 64 << 20 // of a file that is looked at
)

// The types that are known.
const (
	PNG  = "image/png"
	JPEG = "image/jpeg"
	GIF  = "image/gif"
	WebP = "image/webp"
	PDF  = "application/pdf"
)

// PictureType describes what the first bytes of a file begin: one of the types; empty: something else.
func PictureType(head []byte) string {
	begins := func(s string) bool { return bytes.HasPrefix(head, []byte(s)) }
	switch {
	case begins("\x89PNG\r\n\x1a\n"):
		return PNG
	case begins("\xff\xd8\xff"):
		return JPEG
	case begins("GIF87a"), begins("GIF89a"):
		return GIF
	case begins("RIFF") && len(head) >= 12 && string(head[8:12]) == "WEBP":
		return WebP
	case begins("%PDF-"):
		return PDF
	}
	return ""
}

// IsImage reports whether a type is that of an image.
func IsImage(mediaType string) bool { return strings.HasPrefix(mediaType, "image/") }

// Picture is an image that fits.
type Picture struct {
	MediaType     string
	Data          []byte
	Width, Height int
	Was           image.Point // its size in the file, where that was another; else zero
	Frames        int         // of an animation, of which the first is shown; else 0
}

// String describes what it is, in a few words for a model.
func (i Picture) String() string {
	said := fmt.Sprintf("%s, %d×%d pixels", strings.ToUpper(strings.TrimPrefix(i.MediaType, "image/")), i.Width, i.Height)
	if i.Was != (image.Point{}) {
		said += fmt.Sprintf(", made smaller from %d×%d", i.Was.X, i.Was.Y)
	}
	if i.Frames > 0 {
		said += fmt.Sprintf(", the first of %d frames", i.Frames)
	}
	return said
}

// FitPicture brings an image to a size that every vendor takes. An error is a sentence without a
// subject: "is damaged: …".
func FitPicture(data []byte) (Picture, error) {
	kind := PictureType(data)
	if !IsImage(kind) {
		return Picture{}, fmt.Errorf("is not an image that can be shown")
	}
	config, _, err := image.DecodeConfig(bytes.NewReader(data))
	switch {
	case err != nil:
		return Picture{}, fmt.Errorf("is damaged: %w", err)
	case config.Width <= 0 || config.Height <= 0:
		return Picture{}, fmt.Errorf("is damaged: it has no size")
	case int64(config.Width)*int64(config.Height) > MostPixels:
		return Picture{}, fmt.Errorf("has %d×%d pixels, and more than %d million are not read", config.Width, config.Height, MostPixels/1_000_000)
	}
	whole, frames, err := decodeImage(kind, data)
	if err != nil {
		return Picture{}, err
	}
	size := whole.Bounds().Size()
	out := Picture{MediaType: kind, Data: data, Width: size.X, Height: size.Y, Frames: frames}
	if kind != GIF && max(size.X, size.Y) <= Longest && len(data) <= MostBytes {
		return out, nil
	}
	how := 1
	if kind == JPEG {
		how = readOrientation(data)
	}
	return out, out.shrink(whole, how)
}

// decodeImage reads all of it.
func decodeImage(kind string, data []byte) (whole image.Image, frames int, err error) {
	in := bytes.NewReader(data)
	switch kind {
	case PNG:
		whole, err = png.Decode(in)
	case JPEG:
		whole, err = jpeg.Decode(in)
	case WebP:
		whole, err = webp.Decode(in)
	case GIF:
		whole, err = gif.Decode(in)
		if frames = bytes.Count(data, []byte{0x21, 0xf9, 0x04}); frames < 2 {
			frames = 0
		}
	}
	if err != nil {
		return nil, 0, fmt.Errorf("is damaged, or of a kind that is not read: %w", err)
	}
	return whole, frames, nil
}

// shrink encodes an image anew, upright, smaller and smaller until it fits.
func (i *Picture) shrink(whole image.Image, how int) error {
	size := whole.Bounds().Size()
	for long := min(Longest, max(size.X, size.Y)); long > 0; long = long * 3 / 4 {
		now := whole
		if long < max(size.X, size.Y) {
			now = scaleImage(whole, long)
		}
		now = turnUpright(now, how) // which is slow, and faster for what is small
		data, kind, err := encodeImage(now, i.MediaType == JPEG)
		if err != nil {
			return fmt.Errorf("could not be made smaller: %w", err)
		}
		if len(data) > MostBytes {
			continue
		}
		at := now.Bounds().Size()
		if long < max(size.X, size.Y) {
			i.Was = size
		}
		i.Data, i.MediaType, i.Width, i.Height = data, kind, at.X, at.Y
		return nil
	}
	return fmt.Errorf("could not be made small enough")
}

// scaleImage returns an image with this long side.
func scaleImage(from image.Image, long int) image.Image {
	size := from.Bounds().Size()
	most := max(size.X, size.Y)
	to := image.NewRGBA(image.Rect(0, 0, max(1, size.X*long/most), max(1, size.Y*long/most)))
	draw.CatmullRom.Scale(to, to.Bounds(), from, from.Bounds(), draw.Src, nil)
	return to
}

// encodeImage keeps letters sharp (PNG) where that is not too long, and photographs as such.
func encodeImage(i image.Image, photograph bool) ([]byte, string, error) {
	var out bytes.Buffer
	if !photograph {
		if err := png.Encode(&out, i); err != nil || out.Len() <= MostBytes {
			return out.Bytes(), PNG, err
		}
		out.Reset()
	}
	onWhite := image.NewRGBA(image.Rectangle{Max: i.Bounds().Size()}) // JPEG knows no transparency
	draw.Draw(onWhite, onWhite.Bounds(), image.White, image.Point{}, draw.Src)
	draw.Draw(onWhite, onWhite.Bounds(), i, i.Bounds().Min, draw.Over)
	err := jpeg.Encode(&out, onWhite, &jpeg.Options{Quality: 85})
	return out.Bytes(), JPEG, err
}

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
