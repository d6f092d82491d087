package sqlite

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"

	"ramet/internal/base/fault"
	"ramet/internal/testkit"
)

// Another process carries its log into the file while this one looks at it: the header is new, the file
// not yet as long as it says, and the log is gone when it is looked for. That is no file that was cut.
func TestAFileThatGrowsIsNotCut(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ramet.db")
	s := testkit.Must(Open(t.Context(), path, Options{Cwd: "/"}))(t)
	testkit.OK(t, s.Close())
	f := testkit.Must(os.OpenFile(path, os.O_RDWR, 0))(t)
	defer f.Close()
	var head [100]byte
	testkit.Must(f.ReadAt(head[:], 0))(t)
	pages := binary.BigEndian.Uint32(head[28:])
	binary.BigEndian.PutUint32(head[28:], pages+1)
	testkit.Must(f.WriteAt(head[:], 0))(t)
	if _, _, err := examineFile(path); !fault.Is(err, fault.StorageCorrupt) {
		t.Errorf("a file that stays too short: %v", err)
	}
	before := meanwhile
	defer func() { meanwhile = before }()
	meanwhile = func() {
		if err := f.Truncate(int64(pages+1) * 4096); err != nil {
			t.Error(err)
		}
	}
	if _, _, err := examineFile(path); err != nil {
		t.Errorf("a file that becomes longer: %v", err)
	}
}
