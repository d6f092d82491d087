package local

import (
	"fmt"
	"io"
	"path"

	"ramet/internal/model/llm"
	"ramet/internal/turn/tool"
)

// attach shows an image or a document to the model that reads the answer, if it can.
func (l *Local) attach(kind, rel string, size int64, in io.Reader, to llm.Model) (tool.Answer, error) {
	what := fmt.Sprintf("%s is a PDF of %d bytes", showPath(rel), size)
	if llm.IsImage(kind) {
		what = fmt.Sprintf("%s is an image (%s) of %d bytes", showPath(rel), kind, size)
	}
	switch {
	case llm.IsImage(kind) && to.Known && !to.Images:
		return tool.Failed(what + ", and the model that you are cannot see images."), nil
	case kind == llm.PDF && !to.PDF:
		return tool.Failed(what + ", which the model that you are cannot be given. Make text of it with bash, such as with pdftotext where that is installed."), nil
	case size > llm.MostFile:
		return tool.Failed(what + ", too many to be shown."), nil
	}
	data, err := io.ReadAll(io.LimitReader(in, llm.MostFile))
	if err != nil {
		return tool.Answer{}, explainPath(rel, err)
	}
	part, said, err := llm.PicturePart(path.Base(rel), data)
	if err != nil {
		return tool.Failed(showPath(rel) + " " + err.Error() + "."), nil
	}
	said = showPath(rel) + ": " + said
	return tool.Answer{Text: said + ". It is shown below.", Show: said, File: &part}, nil
}
