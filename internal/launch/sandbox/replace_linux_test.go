package sandbox

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// A command finds other files in place of some, and changes neither.
func TestFilesAreReplaced(t *testing.T) {
	dir, copies := t.TempDir(), t.TempDir()
	for name, text := range map[string]string{dir + "/file": "theirs", dir + "/folder/a": "theirs", copies + "/file": "ours", copies + "/folder/b": "ours"} {
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	boxes := []*Box{nil}
	if Available() == nil {
		boxes = append(boxes, &Box{Write: []string{dir}, Hide: []string{copies}})
	}
	for _, box := range boxes {
		cmd := sh(dir, `cat file folder/*; (echo changed > file; touch folder/c; rm -r folder; mv file other) 2>&- || exit 0`)
		cmd.Confine = box
		cmd.Replace = map[string]string{dir + "/file": copies + "/file", dir + "/folder": copies + "/folder"}
		if r, out := run(t, cmd); r.ExitCode != 0 || out != "oursours" {
			t.Errorf("confined %v: %+v %q", box != nil, r, out)
		}
		for name, want := range map[string]string{dir + "/file": "theirs", dir + "/folder/a": "theirs", copies + "/file": "ours", copies + "/folder/b": "ours", dir + "/folder/c": "", copies + "/folder/c": ""} {
			if text, _ := os.ReadFile(name); string(text) != want {
				t.Errorf("confined %v: %s is %q", box != nil, name, text)
			}
		}
	}
}
