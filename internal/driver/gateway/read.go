package gateway

import (
	"bytes"

	"ramet/internal/model/catalog"
)

const (
	// margin is for what a request makes the vendor add: once in any case, and for each thing that the
	// request only names.
	margin = 32 << 10
	// maxSearches is how often tools of the vendor search.
	maxSearches = 10
	// usualContext is the most that a model reads where no table says it.
	usualContext = 1 << 20
	// mostOutput and mostAnswers are more than any vendor writes; what they cost is still a number.
	mostOutput  = 1 << 32
	mostAnswers = 1 << 10
)

// named are the forms in which requests name images and documents that the vendor fetches, or keeps. In
// words that are quoted the last mark would stand behind a stroke.
var named = [][]byte{
	[]byte(`"type":"url"`), []byte(`"type": "url"`), []byte(`"file_id"`), []byte(`"file_url"`), []byte(`"fileUri"`), []byte(`"file_uri"`),
	[]byte(`"image_url":"http`), []byte(`"image_url": "http`), []byte(`"image_url":{"url":"http`), []byte(`"image_url": {"url": "http`),
}

// read is the most tokens that a call reads: a token is a byte at least. Where the vendor reads what it
// keeps it may be all that the model can.
func (c *metered) read(q request, plain []byte) int64 {
	out := int64(len(plain)) + margin
	for _, form := range named {
		out += int64(bytes.Count(plain, form)) * margin
	}
	if q.continues() {
		out = max(out, contextOf(c.vendor, c.rec.Model))
	}
	return out
}

// contextOf is the most that a model reads.
func contextOf(vendor, model string) int64 {
	v, err := catalog.Find(vendor)
	if err != nil {
		return usualContext
	}
	if m, known := v.Model(model); known && m.Context > 0 {
		return int64(m.Context)
	}
	return usualContext
}
