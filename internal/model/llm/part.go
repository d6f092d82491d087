package llm

import (
	"bytes"
	"fmt"
)

// MostPDF is the size of a document: it is sent with every request.
const MostPDF = 10 << 20

// PicturePart returns an image or a document as a part of a message, and what it is in a few words. An
// error is a sentence without a subject.
func PicturePart(name string, data []byte) (part Part, said string, err error) {
	if PictureType(data) == PDF {
		if err := checkPDF(data); err != nil {
			return part, "", err
		}
		return Part{Type: Document, Name: name, MediaType: PDF, Data: data}, fmt.Sprintf("PDF, %d bytes", len(data)), nil
	}
	i, err := FitPicture(data)
	if err != nil {
		return part, "", err
	}
	return Part{Type: Image, Name: name, MediaType: i.MediaType, Data: i.Data}, i.String(), nil
}

// checkPDF refuses what every vendor would.
func checkPDF(data []byte) error {
	switch {
	case len(data) > MostPDF:
		return fmt.Errorf("is a PDF of %d bytes, more than the %d MiB that are sent", len(data), MostPDF>>20)
	case bytes.Contains(data, []byte("/Encrypt")):
		return fmt.Errorf("is a PDF with a password, which nobody could read")
	case !bytes.Contains(data[max(0, len(data)-2048):], []byte("%%EOF")):
		return fmt.Errorf("is a PDF whose end is missing")
	}
	return nil
}
