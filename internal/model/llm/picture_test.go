package llm

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"math/rand/v2"
	"strings"
	"testing"

	"ramet/internal/testkit"
)

// halves is an image whose left half is red and whose right half is blue.
func halves(w, h int) *image.NRGBA {
	out := image.NewNRGBA(image.Rect(0, 0, w, h))
	for y := range h {
		for x := range w {
			c := color.NRGBA{R: 255, A: 255}
			if x >= w/2 {
				c = color.NRGBA{B: 255, A: 255}
			}
			out.SetNRGBA(x, y, c)
		}
	}
	return out
}

func asPNG(t *testing.T, i image.Image) []byte {
	t.Helper()
	var b bytes.Buffer
	testkit.OK(t, png.Encode(&b, i))
	return b.Bytes()
}

func asJPEG(t *testing.T, i image.Image) []byte {
	t.Helper()
	var b bytes.Buffer
	testkit.OK(t, jpeg.Encode(&b, i, nil))
	return b.Bytes()
}

// tiny is a WebP of one pixel.
const tiny = "UklGRiIAAABXRUJQVlA4IBYAAAAwAQCdASoBAAEADsD+JaQAA3AAAAAA"

func TestWhatFitsStaysAsItIs(t *testing.T) {
	webp := testkit.Must(base64.StdEncoding.DecodeString(tiny))(t)
	for kind, data := range map[string][]byte{PNG: asPNG(t, halves(40, 20)), JPEG: asJPEG(t, halves(40, 20)), WebP: webp} {
		got, err := FitPicture(data)
		if err != nil || got.MediaType != kind || !bytes.Equal(got.Data, data) || got.Was != (image.Point{}) {
			t.Errorf("%s: %v %v", kind, got, err)
		}
	}
}

func TestWhatIsTooLargeBecomesSmaller(t *testing.T) {
	for _, c := range []struct {
		data []byte
		kind string
		w, h int
	}{
		{asPNG(t, halves(4000, 1000)), PNG, 2000, 500},
		{asPNG(t, halves(1, 2001)), PNG, 1, 2000},
		{asJPEG(t, halves(2600, 1300)), JPEG, 2000, 1000},
	} {
		got, err := FitPicture(c.data)
		if err != nil || got.MediaType != c.kind || got.Width != c.w || got.Height != c.h || got.Was == (image.Point{}) {
			t.Fatalf("%v %v, want %s %d×%d", got, err, c.kind, c.w, c.h)
		}
		again, kind, err := image.Decode(bytes.NewReader(got.Data))
		if err != nil || "image/"+kind != c.kind || again.Bounds().Dx() != c.w || again.Bounds().Dy() != c.h {
			t.Fatal(kind, again.Bounds(), err)
		}
		if r, _, b, _ := again.At(0, c.h/2).RGBA(); r < 0xe000 && c.w > 1 || b > 0x2000 && c.w > 1 {
			t.Errorf("the left side is not red: %x %x", r, b)
		}
		if !strings.Contains(got.String(), "made smaller from") {
			t.Error(got)
		}
	}
}

// Noise cannot be compressed: as PNG it is too long, and becomes JPEG.
func TestBytesAreBounded(t *testing.T) {
	noise := image.NewNRGBA(image.Rect(0, 0, 1100, 1100))
	r := rand.New(rand.NewPCG(1, 2))
	for i := range noise.Pix {
		noise.Pix[i] = byte(r.Uint32())
	}
	got, err := FitPicture(asPNG(t, noise))
	if err != nil || got.MediaType != JPEG || len(got.Data) > MostBytes {
		t.Fatal(got, len(got.Data), err)
	}
}

func TestAnAnimationShowsItsFirstFrame(t *testing.T) {
	frame := func(c color.Color) *image.Paletted {
		return image.NewPaletted(image.Rect(0, 0, 10, 10), color.Palette{c})
	}
	var b bytes.Buffer
	red, blue := color.NRGBA{R: 255, A: 255}, color.NRGBA{B: 255, A: 255}
	testkit.OK(t, gif.EncodeAll(&b, &gif.GIF{Image: []*image.Paletted{frame(red), frame(blue)}, Delay: []int{5, 5}}))
	got, err := FitPicture(b.Bytes())
	if err != nil || got.MediaType != PNG || got.Frames != 2 {
		t.Fatal(got, err)
	}
	i := testkit.Must(png.Decode(bytes.NewReader(got.Data)))(t)
	if r, _, _, _ := i.At(5, 5).RGBA(); r != 0xffff {
		t.Error("it is not the first frame")
	}
}

func TestWhatIsRefused(t *testing.T) {
	good := asPNG(t, halves(40, 20))
	bomb := bytes.Clone(good[:33]) // a header alone that claims much
	binary.BigEndian.PutUint32(bomb[16:], 60_000)
	binary.BigEndian.PutUint32(bomb[20:], 60_000)
	for name, data := range map[string][]byte{
		"empty": nil, "text": []byte("hello"), "cut": good[:len(good)-20], "only a head": good[:16], "bomb": bomb,
		"pdf": []byte("%PDF-1.7\n"), "svg": []byte(`<svg xmlns="http://www.w3.org/2000/svg"/>`), "a broken webp": []byte("RIFF\x10\x00\x00\x00WEBPVP8 abcd"),
	} {
		if got, err := FitPicture(data); err == nil {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// A photograph that was taken upright is turned when it is encoded anew.
func TestAPhotographIsTurned(t *testing.T) {
	data := asJPEG(t, halves(2400, 1200))
	exif := append([]byte("Exif\x00\x00MM\x00\x2a\x00\x00\x00\x08\x00\x01\x01\x12\x00\x03\x00\x00\x00\x01\x00\x06\x00\x00"), 0, 0, 0, 0)
	head := append([]byte{0xff, 0xd8, 0xff, 0xe1, 0, byte(len(exif) + 2)}, exif...)
	got, err := FitPicture(append(head, data[2:]...))
	if err != nil || got.Width != 1000 || got.Height != 2000 {
		t.Fatal(got, err)
	}
	i := testkit.Must(jpeg.Decode(bytes.NewReader(got.Data)))(t)
	if r, _, b, _ := i.At(500, 100).RGBA(); r < 0xe000 || b > 0x3000 { // what was left is above
		t.Errorf("the top is not red: %x %x", r, b)
	}
}

func FuzzFit(f *testing.F) {
	f.Add([]byte("\x89PNG\r\n\x1a\n"))
	f.Add([]byte("GIF89a\x01\x00\x01\x00"))
	f.Add([]byte("\xff\xd8\xff\xe1\x00\x20Exif\x00\x00II\x2a\x00\x08\x00\x00\x00\xff\xff"))
	webp, _ := base64.StdEncoding.DecodeString(tiny)
	f.Add(webp)
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 64<<10 {
			return
		}
		got, err := FitPicture(data)
		if err == nil && (max(got.Width, got.Height) > Longest || len(got.Data) > MostBytes || PictureType(got.Data) != got.MediaType) {
			t.Errorf("%v", got)
		}
		readOrientation(data)
	})
}
