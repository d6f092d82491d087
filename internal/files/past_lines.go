package files

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"

	"ramet/internal/base/durable"
)

// jsonLines is a file of JSON values, one a line, to which processes append: values are short, and so are written whole.
type jsonLines struct {
	path   string
	info   os.FileInfo // of the file that was read
	offset int64       // how far it was read
}

// append adds a value.
func (l *jsonLines) append(v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	f, err := durable.OpenFile(l.path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = f.Write(append(text, '\n'))
	return durable.Failure("write", l.path, err)
}

// read calls take with each line that was added since the last time. again is called first if the file is another one now, so
// that all of it is read. A line without an end is not written yet.
func (l *jsonLines) read(again func(), take func(line []byte)) error {
	f, err := durable.OpenFile(l.path, os.O_RDONLY, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return durable.Failure("read", l.path, err)
	}
	if l.info == nil || !os.SameFile(l.info, info) || info.Size() < l.offset {
		l.offset = 0
		again()
	}
	l.info = info
	if _, err := f.Seek(l.offset, io.SeekStart); err != nil {
		return durable.Failure("read", l.path, err)
	}
	for lines := bufio.NewReader(f); ; {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return nil
		}
		l.offset += int64(len(line))
		take(line)
	}
}
