package app_test

import (
	"bufio"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"ramet/internal/testkit"
)

// imageCalls are the calls that change what a disk holds, or say that it must hold it.
const imageCalls = "open,openat,creat,write,writev,pwrite64,pwritev,lseek,fsync,fdatasync,ftruncate,truncate,rename,renameat,renameat2,link,linkat,unlink,unlinkat,mkdir,mkdirat,rmdir"

// deedKind is what one recorded call did to a disk.
type deedKind int

const (
	didWrite  deedKind = iota // data at an offset of a file
	didCut                    // a file to a length
	didSync                   // a file is on the disk
	didName                   // a file got a name
	didFolder                 // a folder got a name
	didRemove                 // a name is gone
	didRename                 // from one name to another
	didSettle                 // the names of a folder are on the disk
	didSay                    // that something is done
)

// motion is one of them, in the order in which they happened.
type motion struct {
	kind     deedKind
	file     int    // of wrote, cut, didSync, didName
	at       int64  // offset or length
	data     []byte // of didWrite
	name, to string // paths below the root; of didSay: what
}

// tape is all that programs did to the files below a folder.
type tape struct {
	t       *testing.T
	root    string
	motions []motion
	files   map[string]int // by path, as it is now
	folders map[string]bool
	sizes   []int64
	lies    bool // the disk: it says that it has what it has not
}

func newTape(t *testing.T, root string) *tape {
	return &tape{t: t, root: root, files: map[string]int{}, folders: map[string]bool{}}
}

// opened is a descriptor of the program that is read.
type opened struct {
	file     int
	folder   string
	at       int64
	appended bool
}

var (
	callLine = regexp.MustCompile(`^(\d+) +(\w+)\((.*)\) += (-?\d+|\?)(<[^>]*>)?`)
	unended  = regexp.MustCompile(`^(\d+) +(\w+)\((.*?),? <unfinished \.\.\.>$`)
	resumed  = regexp.MustCompile(`^(\d+) +<\.\.\. (\w+) resumed>(.*)$`)
)

// read adds what strace -f -y -xx wrote about one program. said tells what an answer of it
// acknowledges: the first bytes that it writes to something that is no file.
func (p *tape) read(trace string, said func(fd int, data []byte) (what string, ok bool)) {
	p.t.Helper()
	f, err := os.Open(trace)
	if err != nil {
		p.t.Fatal(err)
	}
	defer f.Close()
	open, half := map[int]*opened{}, map[string]string{}
	lines := bufio.NewReader(f)
	for {
		line, err := lines.ReadString('\n')
		if line = strings.TrimRight(line, "\n"); line != "" {
			if m := unended.FindStringSubmatch(line); m != nil {
				half[m[1]] = m[1] + " " + m[2] + "(" + m[3]
				continue
			}
			if m := resumed.FindStringSubmatch(line); m != nil {
				rest := m[3]
				if begun := half[m[1]]; rest != "" && !strings.HasPrefix(rest, ")") && !strings.HasSuffix(begun, "(") {
					rest = ", " + strings.TrimLeft(rest, " ,")
				}
				line = half[m[1]] + rest
			}
			if m := callLine.FindStringSubmatch(line); m != nil {
				p.call(open, m[2], m[3], m[4], said)
			}
		}
		if err != nil {
			return
		}
	}
}

// call understands one call.
func (p *tape) call(open map[int]*opened, name, args, result string, said func(int, []byte) (string, bool)) {
	n, err := strconv.ParseInt(result, 10, 64)
	if err != nil || n < 0 {
		return // it did nothing
	}
	a := arguments(args)
	switch name {
	case "open":
		p.open(open, int(n), p.below("", a[0]), a[1])
	case "openat":
		p.open(open, int(n), p.below(a[0], a[1]), a[2])
	case "lseek":
		if o := open[number(a[0])]; o != nil {
			o.at = n
		}
	case "write", "writev", "pwrite64", "pwritev":
		p.write(open, name, a, n, said)
	case "ftruncate":
		if o := open[number(a[0])]; o != nil && o.file >= 0 && p.of(a[0]) != "" {
			p.cut(o.file, int64(number(a[1])))
		}
	case "fsync", "fdatasync":
		o := open[number(a[0])]
		switch {
		case o == nil, p.of(a[0]) == "":
		case o.file >= 0:
			p.add(motion{kind: didSync, file: o.file})
		default:
			p.add(motion{kind: didSettle, name: o.folder})
		}
	default:
		p.rename(name, a)
	}
}

func (p *tape) open(open map[int]*opened, fd int, at string, flags string) {
	delete(open, fd)
	if at == "" || skipped(at) {
		return
	}
	if p.folders[at] || at == "." {
		open[fd] = &opened{file: -1, folder: at}
		return
	}
	file, there := p.files[at]
	if !there {
		if !strings.Contains(flags, "O_CREAT") {
			return // it is older than the tape
		}
		file = len(p.sizes)
		p.sizes = append(p.sizes, 0)
		p.files[at] = file
		p.add(motion{kind: didName, file: file, name: at})
	}
	if strings.Contains(flags, "O_TRUNC") && p.sizes[file] > 0 {
		p.cut(file, 0)
	}
	open[fd] = &opened{file: file, appended: strings.Contains(flags, "O_APPEND")}
}

func (p *tape) write(open map[int]*opened, name string, a []string, n int64, said func(int, []byte) (string, bool)) {
	fd := number(a[0])
	data := unquoted(a[1])
	into := p.of(a[0])
	if into == "" || skipped(into) { // descriptors that were closed are used again by others
		if what, ok := said(fd, data); ok {
			p.add(motion{kind: didSay, name: what})
		}
		return
	}
	o := open[fd]
	if o == nil || o.file < 0 {
		p.t.Fatalf("%s writes to %s, and nobody saw it opened", name, into)
	}
	if int64(len(data)) != n {
		p.t.Fatalf("%s of %d bytes was recorded as %d", name, n, len(data))
	}
	at := o.at
	switch {
	case name == "pwrite64":
		at = int64(number(a[3]))
	case name != "write":
		p.t.Fatalf("%s is not understood", name)
	case o.appended:
		at = p.sizes[o.file]
	}
	p.sizes[o.file] = max(p.sizes[o.file], at+n)
	if name == "write" {
		o.at = at + n
	}
	p.add(motion{kind: didWrite, file: o.file, at: at, data: data})
}

func (p *tape) cut(file int, to int64) {
	p.sizes[file] = to
	p.add(motion{kind: didCut, file: file, at: to})
}

func (p *tape) rename(name string, a []string) {
	here := "AT_FDCWD<" + hexed(p.root) + ">"
	switch name {
	case "mkdir", "rmdir", "unlink":
		a = []string{here, a[0]}
	case "rename", "link":
		a = []string{here, a[0], here, a[1]}
	}
	at := p.below(a[0], a[1])
	if at == "" || skipped(at) {
		return
	}
	switch name {
	case "mkdir", "mkdirat":
		p.folders[at] = true
		p.add(motion{kind: didFolder, name: at})
	case "unlink", "unlinkat", "rmdir":
		delete(p.files, at)
		delete(p.folders, at)
		p.add(motion{kind: didRemove, name: at})
	case "link", "linkat":
		to := p.below(a[2], a[3])
		if file, ok := p.files[at]; ok && to != "" {
			p.files[to] = file
			p.add(motion{kind: didName, file: file, name: to})
		}
	case "rename", "renameat", "renameat2":
		to := p.below(a[2], a[3])
		if to == "" {
			p.t.Fatalf("%s leaves the folder", at)
		}
		move(p.files, p.folders, at, to)
		p.add(motion{kind: didRename, name: at, to: to})
	}
}

// move renames a file, or a folder with all that is in it.
func move(files map[string]int, folders map[string]bool, from, to string) {
	for name, file := range files {
		if rest, ok := strings.CutPrefix(name+"/", from+"/"); ok {
			delete(files, name)
			files[path.Clean(to+"/"+rest)] = file
		}
	}
	for name := range folders {
		if rest, ok := strings.CutPrefix(name+"/", from+"/"); ok {
			delete(folders, name)
			folders[path.Clean(to+"/"+rest)] = true
		}
	}
}

func (p *tape) add(m motion) { p.motions = append(p.motions, m) }

// skipped: what SQLite keeps in memory that happens to be a file.
func skipped(at string) bool { return strings.HasSuffix(at, "-shm") }

// below is a path relative to the root; empty: it is elsewhere.
func (p *tape) below(folder, name string) string {
	full := string(unquoted(name))
	if !filepath.IsAbs(full) {
		_, rest, _ := strings.Cut(folder, "<")
		full = filepath.Join(string(unhex(strings.TrimSuffix(rest, ">"))), full)
	}
	rel, err := filepath.Rel(p.root, full)
	if err != nil || strings.HasPrefix(rel, "..") {
		return ""
	}
	return rel
}

// of is the file of a descriptor, as strace shows it; empty: none below the root.
func (p *tape) of(descriptor string) string {
	_, rest, _ := strings.Cut(descriptor, "<")
	at := string(unhex(strings.TrimSuffix(rest, ">")))
	if !filepath.IsAbs(at) {
		return ""
	}
	return p.below("", `"`+hexed(at)+`"`)
}

// arguments cuts them apart: strings hold no comma, as they are all hexadecimal.
func arguments(s string) []string {
	out := strings.Split(s, ", ")
	for len(out) < 5 {
		out = append(out, "")
	}
	return out
}

func number(s string) int {
	s, _, _ = strings.Cut(s, "<")
	n, _ := strconv.Atoi(s)
	return n
}

func unquoted(s string) []byte {
	return unhex(strings.TrimSuffix(strings.TrimPrefix(strings.TrimSuffix(s, "..."), `"`), `"`))
}

func unhex(s string) []byte {
	data, _ := hex.DecodeString(strings.ReplaceAll(s, `\x`, ""))
	return data
}

func hexed(s string) string {
	var b strings.Builder
	for i := range len(s) {
		fmt.Fprintf(&b, `\x%02x`, s[i])
	}
	return b.String()
}

// image makes what a disk may hold after the power failed before motion n: what was synced
// is there, of everything else some of it, in sectors; names come in their order, as a journal
// keeps them.
func (p *tape) image(n int, into string, dice *rand.Rand) {
	p.t.Helper()
	happened := p.motions[:n]
	files, folders := p.names(happened, dice)
	contents := p.contents(happened, dice)
	testkit.OK(p.t, os.RemoveAll(into))
	all := []string{"."}
	for name := range folders {
		all = append(all, name)
	}
	slices.Sort(all)
	for _, name := range all {
		testkit.OK(p.t, os.MkdirAll(filepath.Join(into, name), 0o700))
	}
	for name, file := range files {
		testkit.OK(p.t, os.WriteFile(filepath.Join(into, name), contents[file], 0o600))
	}
}

// names are those that are on the disk.
func (p *tape) names(happened []motion, dice *rand.Rand) (map[string]int, map[string]bool) {
	var changes []motion
	sure := 0
	for _, m := range happened {
		switch m.kind {
		case didName, didFolder, didRemove, didRename:
			changes = append(changes, m)
		case didSettle:
			for i, c := range changes {
				if path.Dir(c.name) == m.name || c.kind == didRename && path.Dir(c.to) == m.name {
					sure = max(sure, i+1)
				}
			}
		}
	}
	files, folders := map[string]int{}, map[string]bool{}
	for _, c := range changes[:sure+dice.IntN(len(changes)-sure+1)] {
		switch c.kind {
		case didName:
			files[c.name] = c.file
		case didFolder:
			folders[c.name] = true
		case didRemove:
			delete(files, c.name)
			delete(folders, c.name)
		case didRename:
			move(files, folders, c.name, c.to)
		}
	}
	return files, folders
}

// sector is what a disk writes whole.
const sector = 512

// contents are those of all files, with what was synced and some of the rest.
func (p *tape) contents(happened []motion, dice *rand.Rand) map[int][]byte {
	last := map[int]int{} // by file, how far it is synced
	for i, m := range happened {
		if m.kind == didSync && !p.lies {
			last[m.file] = i
		}
	}
	luck := dice.IntN(5) // how much of the rest: nothing, all, some of what was written at once, or some sectors of it
	out := map[int][]byte{}
	for i, m := range happened {
		if m.kind != didWrite && m.kind != didCut {
			continue
		}
		end, any := last[m.file]
		kept := any && i < end
		data := out[m.file]
		switch {
		case m.kind == didCut && (kept || luck == 1 || luck > 1 && dice.IntN(2) == 0):
			if m.at <= int64(len(data)) {
				data = data[:m.at]
			} else {
				data = append(data, make([]byte, m.at-int64(len(data)))...)
			}
		case m.kind == didWrite && (kept || luck == 1 || luck == 2 && dice.IntN(2) == 0):
			data = put(data, m.at, m.data)
		case m.kind == didWrite && luck > 2:
			for from := int64(0); from < int64(len(m.data)); {
				to := min(int64(len(m.data)), (m.at+from)/sector*sector+sector-m.at)
				if dice.IntN(3) > 0 {
					data = put(data, m.at+from, m.data[from:to])
				}
				from = to
			}
		}
		out[m.file] = data
	}
	return out
}

func put(data []byte, at int64, more []byte) []byte {
	if end := at + int64(len(more)); end > int64(len(data)) {
		data = append(data, make([]byte, end-int64(len(data)))...)
	}
	copy(data[at:], more)
	return data
}

// acknowledged is what was said before motion n.
func (p *tape) acknowledged(n int) map[string]bool {
	out := map[string]bool{}
	for _, m := range p.motions[:n] {
		if m.kind == didSay {
			out[m.name] = true
		}
	}
	return out
}
