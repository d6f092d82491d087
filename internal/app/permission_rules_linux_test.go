package app_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"ramet/internal/testkit"
)

// leaving are command lines that rules permit, and that write to OUT: by an option, a program that they start, or their
// usual work.
var leaving = []struct{ rule, line string }{
	{"git log *", "git log --output=OUT"}, {"git diff *", "git diff --output=OUT"}, {"git show *", "git show --output=OUT"},
	{"git format-patch *", "git format-patch -o OUT HEAD"}, {"git archive *", "git archive -o OUT HEAD"},
	{"git bundle *", "git bundle create OUT HEAD"}, {"git grep *", "git grep '--open-files-in-pager=touch OUT;' text"},
	{"git clone *", "git clone -q . OUT"}, {"git init *", "git init -q OUT"}, {"git *", "git -c alias.x='!touch OUT' x"},
	{"find *", "find . -maxdepth 0 -fprint OUT"}, {"find *", `find . -maxdepth 0 -exec touch OUT \;`},
	{"sort *", "sort -o OUT file"}, {"uniq *", "uniq file OUT"}, {"split *", "split file OUT"},
	{"make *", "make -s TO=OUT"}, {"awk *", `awk 'BEGIN { print > "OUT" }'`}, {"sed *", "sed -n 'w OUT' file"},
	{"tee *", "tee OUT </dev/null"}, {"cp *", "cp file OUT"}, {"ln *", "ln -s file OUT"}, {"mkdir *", "mkdir OUT"},
	{"install *", "install file OUT"}, {"dd *", "dd if=file of=OUT"}, {"touch *", "touch OUT"}, {"truncate *", "truncate -s 1 OUT"},
	{"tar *", "tar cf OUT file"}, {"tar *", "tar cf /dev/null --checkpoint=1 '--checkpoint-action=exec=touch OUT' file"},
	{"xargs *", "xargs -a outside touch"}, {"env *", "env touch OUT"}, {"timeout *", "timeout 5 touch OUT"},
	{"sh *", "sh -c 'touch OUT'"}, {"perl *", `perl -e 'open F, ">OUT"'`},
}

// A rule means fewer questions, in no mode the way out of the sandbox: as root and as an ordinary user.
func TestNoRuleLeavesTheSandbox(t *testing.T) {
	t.Parallel()
	for _, uid := range []int{os.Geteuid(), 61234} {
		if uid != os.Geteuid() && os.Geteuid() != 0 {
			continue
		}
		for _, mode := range []string{"ask", "edits", "sandbox"} {
			t.Run(fmt.Sprintf("%s, user %d", mode, uid), func(t *testing.T) {
				base := testkit.Must(os.MkdirTemp("", "ramet-rules-"))(t) // not t.TempDir(), which others cannot reach
				t.Cleanup(func() { os.RemoveAll(base) })
				dir, out, exe := filepath.Join(base, "project"), filepath.Join(base, "out"), filepath.Join(base, "ramet")
				testkit.OK(t, os.Mkdir(dir, 0o700))
				testkit.OK(t, os.Mkdir(out, 0o700))
				testkit.OK(t, os.WriteFile(exe, testkit.Must(os.ReadFile(binary(t)))(t), 0o755))
				args := []string{"--db", filepath.Join(dir, "ramet.db"), "exec", "--allow", "bash!(touch " + filepath.Join(out, "free") + ")"}
				var script strings.Builder
				say := func(command string) { fmt.Fprintln(&script, wants("", command)) }
				for i, one := range leaving {
					args = append(args, "--allow", "bash("+one.rule+")")
					say(strings.ReplaceAll(one.line, "OUT", filepath.Join(out, fmt.Sprint(i))))
					if one.rule == "make *" {
						say("make -s TO=made") // in the workspace each does its work
					}
				}
				say("touch " + filepath.Join(out, "free"))
				fmt.Fprintln(&script, `{"when": "", "steps": [{"text": "done"}]}`)
				for name, text := range map[string]string{"file": "text\n", "Makefile": "all:\n\t@touch $(TO)\n", "script": script.String(), "outside": filepath.Join(out, "xargs") + "\n"} {
					testkit.OK(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
				}
				testkit.Git(t, dir, "init", "-q")
				testkit.Git(t, dir, "add", "file")
				testkit.Git(t, dir, "commit", "-q", "-m", "begin")
				testkit.OK(t, filepath.WalkDir(base, func(path string, _ os.DirEntry, err error) error {
					if err != nil {
						return err
					}
					return os.Lchown(path, uid, uid)
				}))
				s := &stage{exe: exe, dir: dir, db: args[1], mark: "RAMET_TEST_MARK=" + filepath.Base(base)}
				cmd := s.command(append(args[2:], "--model", "script/"+filepath.Join(dir, "script"), "go")...)
				cmd.Env = append(cmd.Env, "RAMET_PERMISSION="+mode, "HOME="+base, "RAMET_HOME="+filepath.Join(base, "ramet-home"), "XDG_CONFIG_HOME="+filepath.Join(base, "config"))
				cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(uid)}}
				if got := outcomeOf(cmd); got.code != 0 || !strings.Contains(got.stdout, "done") {
					t.Fatalf("exit code %d\n%s%s", got.code, got.stdout, got.stderr)
				}
				for _, name := range []string{filepath.Join(dir, "made"), filepath.Join(out, "free")} {
					if _, err := os.Stat(name); err != nil {
						t.Errorf("what is permitted was not done: %v", err)
					}
				}
				wrote := 0
				for _, one := range testkit.Must(os.ReadDir(out))(t) {
					if one.Name() == "free" {
						continue
					}
					wrote++
					var i int
					if _, err := fmt.Sscan(one.Name(), &i); err == nil && i < len(leaving) {
						t.Errorf("it wrote outside: %s", leaving[i].line)
					} else {
						t.Errorf("it wrote outside: %s", one.Name())
					}
				}
				if wrote > 0 {
					t.Errorf("%d of %d lines wrote outside", wrote, len(leaving))
				}
				for _, one := range leaving {
					testkit.Attack(t, "rules", mode+": "+one.line, uint32(uid))
				}
			})
		}
	}
}
