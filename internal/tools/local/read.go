package local

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"
	"unicode/utf8"

	"ramet/internal/base/text"
	"ramet/internal/model/llm"
	"ramet/internal/turn/tool"
)

const (
	mostLines  = 2000
	mostBytes  = 256 << 10
	widestLine = 2000 // bytes of a line that are shown
)

type readArgs struct {
	Path          string
	Offset, Limit float64 // the shape sees to it that they are whole
}

func (l *Local) read() tool.Tool {
	return l.remember(l.reading(withArguments(l.runRead)), tool.Describe("read", tool.Spec{
		Args:    readShape,
		Subject: l.subject, Summary: l.summary("read"),
	}))
}

func (l *Local) runRead(ctx context.Context, c tool.Call, args readArgs) (tool.Answer, error) {
	if shelf, ok := l.shelf(args.Path); ok {
		a, err := shelf.runRead(ctx, c, args)
		a.Memo = "" // it is not a file of the workspace
		return a, err
	}
	s, err := l.find(args.Path, toRead)
	if err != nil {
		return tool.Answer{}, err
	}
	defer s.close()
	if s.info == nil {
		return tool.Answer{}, l.missing(args.Path)
	}
	f, err := s.file()
	if err != nil {
		return tool.Answer{}, err
	}
	defer f.Close()
	sum := sha256.New()
	// A file that grows while it is read has an end all the same.
	in := bufio.NewReaderSize(io.TeeReader(io.LimitReader(f, max(s.info.Size(), largest)), sum), 64<<10)
	p := page{first: max(1, int(args.Offset)), most: mostLines}
	if args.Limit > 0 {
		p.most = min(mostLines, int(args.Limit))
	}
	start, err := in.Peek(8 << 10)
	if err != nil && !errors.Is(err, io.EOF) {
		return tool.Answer{}, explainPath(s.rel, err)
	}
	if kind := llm.PictureType(start); kind != "" {
		return l.attach(kind, s.rel, s.info.Size(), in, c.Model)
	}
	if bytes.IndexByte(start, 0) >= 0 {
		return tool.Failed(fmt.Sprintf("%s is a binary file of %d bytes, and is not shown.", showPath(s.rel), s.info.Size())), nil
	}
	if bytes.HasPrefix(start, []byte(bom)) {
		in.Discard(len(bom))
	}
	whole := s.info.Size() <= largest // else the sum is not worth the time
	if !whole {
		p.size = s.info.Size()
	}
	if err := p.fill(ctx, in, whole); err != nil {
		return tool.Answer{}, explainPath(s.rel, err)
	}
	answer := tool.Answer{Text: p.String(), Show: p.brief(s.rel)}
	if whole {
		l.sawSum(s.rel, [sha256.Size]byte(sum.Sum(nil)))
		answer.Memo = l.sawMemo(s.rel)
	}
	return answer, nil
}

// page is a part of a file, as it is shown.
type page struct {
	first, most int
	size        int64 // of a file whose lines are not counted; 0: they are

	out     strings.Builder
	lines   int  // of the file, as far as it was read
	shown   int  // lines on this page
	full    bool // there is more
	invalid bool // some bytes are no UTF-8
	cut     bool // some lines were too long
}

// fill reads lines until the page is full; with whole, to the end of the file.
func (p *page) fill(ctx context.Context, in *bufio.Reader, whole bool) error {
	for ctx.Err() == nil && (whole || !p.full) {
		line, long, err := readLine(ctx, in)
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		p.lines++
		if p.lines < p.first || p.full {
			continue
		}
		if p.shown == p.most || p.out.Len()+len(line) > mostBytes {
			p.full = true
			continue
		}
		p.invalid = p.invalid || !utf8.Valid(line)
		mark := ""
		if long {
			mark, p.cut = " […]", true
		}
		fmt.Fprintf(&p.out, "%6d\t%s%s\n", p.lines, text.Safe(string(line)), mark)
		p.shown++
	}
	return ctx.Err()
}

// readLine reads one line, without its end, of which it keeps so much as is shown.
func readLine(ctx context.Context, in *bufio.Reader) (line []byte, long bool, err error) {
	read := false
	for ctx.Err() == nil { // a line can be as long as the disk
		piece, err := in.ReadSlice('\n')
		read = read || len(piece) > 0
		ended := err == nil
		if ended {
			piece = piece[:len(piece)-1]
		}
		if room := widestLine - len(line); len(piece) > room {
			long = true
			piece = piece[:room]
		}
		line = append(line, piece...)
		switch {
		case ended || err == io.EOF && read:
			if long {
				line = text.WholeRunes(line)
			}
			return bytes.TrimSuffix(line, []byte("\r")), long, nil
		case err != bufio.ErrBufferFull:
			return nil, false, err
		}
	}
	return nil, false, ctx.Err()
}

// String returns the page for the model.
func (p *page) String() string {
	var notes []string
	switch {
	case p.lines == 0:
		return "The file is empty."
	case p.shown == 0 && !p.full:
		return fmt.Sprintf("The file has only %s.", text.Count(p.lines, "line"))
	case p.full && p.size > 0:
		notes = append(notes, fmt.Sprintf("lines %d to %d of a file of %d bytes; offset %d continues", p.first, p.last(), p.size, p.last()+1))
	case p.full:
		notes = append(notes, fmt.Sprintf("lines %d to %d of %d; offset %d continues", p.first, p.last(), p.lines, p.last()+1))
	case p.first > 1:
		notes = append(notes, fmt.Sprintf("lines %d to %d of %d", p.first, p.last(), p.lines))
	}
	if p.invalid {
		notes = append(notes, "bytes that are not UTF-8 are shown as \uFFFD")
	}
	if p.cut {
		notes = append(notes, fmt.Sprintf("lines over %d bytes are cut", widestLine))
	}
	if len(notes) == 0 {
		return p.out.String()
	}
	return p.out.String() + "[" + strings.Join(notes, "; ") + "]\n"
}

func (p *page) brief(rel string) string {
	if p.shown == 0 {
		return fmt.Sprintf("%s: nothing to show", showPath(rel))
	}
	return fmt.Sprintf("%s: lines %d to %d", showPath(rel), p.first, p.last())
}

// last returns the number of the last line on the page.
func (p *page) last() int { return p.first + p.shown - 1 }

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
