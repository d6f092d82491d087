package local

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"ramet/internal/launch/sandbox"
	"ramet/internal/model/llm"
	"ramet/internal/testkit"
	"ramet/internal/turn/tool"
)

func TestMain(m *testing.M) {
	sandbox.Main()
	os.Exit(m.Run())
}

// desk is a workspace with its tools, and a folder beside it that is not theirs.
type desk struct {
	*testing.T
	local   *Local
	root    string
	outside string
	out     output
}

type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *output) take(p []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.text.Write(p)
}

func newDesk(t *testing.T, files ...string) *desk {
	t.Helper()
	top := testkit.Must(filepath.EvalSymlinks(t.TempDir()))(t)
	d := &desk{T: t, root: filepath.Join(top, "root"), outside: filepath.Join(top, "outside")}
	for _, dir := range []string{d.root, d.outside} {
		testkit.OK(t, os.Mkdir(dir, 0o755))
	}
	d.put("../outside/secret", "theirs")
	for i := 0; i < len(files); i += 2 {
		d.put(files[i], files[i+1])
		d.age(files[i], time.Hour)
	}
	d.local = testkit.Must(New(Options{Root: d.root, Env: []string{"PATH=" + os.Getenv("PATH"), "LANG=C.UTF-8"}, Hide: []string{d.outside}}))(t)
	return d
}

func (d *desk) put(name, text string) {
	d.Helper()
	file := filepath.Join(d.root, name)
	testkit.OK(d, os.MkdirAll(filepath.Dir(file), 0o755))
	testkit.OK(d, os.WriteFile(file, []byte(text), 0o644))
}

// age says when a file was changed last.
func (d *desk) age(name string, age time.Duration) {
	d.Helper()
	when := began.Add(-age)
	testkit.OK(d, os.Chtimes(filepath.Join(d.root, name), when, when))
}

var began = time.Now()

func (d *desk) link(target, name string) {
	d.Helper()
	testkit.OK(d, os.Symlink(target, filepath.Join(d.root, name)))
}

func (d *desk) get(name string) string {
	d.Helper()
	text := testkit.Must(os.ReadFile(filepath.Join(d.root, name)))(d)
	return string(text)
}

type args map[string]any

// call makes a call as the engine does: checked, then run.
func (d *desk) call(name string, a args) tool.Answer {
	d.Helper()
	return d.granted(tool.Free, name, a)
}

func (d *desk) granted(g tool.Grant, name string, a args) tool.Answer {
	d.Helper()
	text := testkit.Must(json.Marshal(a))(d)
	one, refused, ok := d.local.Tools().Find(llm.Part{Name: name, Args: text})
	if !ok {
		return refused
	}
	answer, err := one.Run(d.Context(), tool.Call{ID: "1", Name: name, Args: one.Args, Grant: g, Output: d.out.take})
	if err != nil {
		d.Fatalf("%s %s: %v", name, text, err)
	}
	return answer
}

// works wants an answer that is no error and holds a text.
func (d *desk) works(name string, a args, want string) tool.Answer {
	d.Helper()
	got := d.call(name, a)
	if got.IsError || !strings.Contains(got.Text, want) {
		d.Errorf("%s %v: %+v, want %q", name, a, got, want)
	}
	return got
}

// fails wants an error that holds a text.
func (d *desk) fails(name string, a args, want string) {
	d.Helper()
	got := d.call(name, a)
	if !got.IsError || !strings.Contains(got.Text, want) {
		d.Errorf("%s %v: %+v, want the error %q", name, a, got, want)
	}
}
