package facts_test

import (
	"strings"
	"testing"
	"testing/fstest"
	"time"
)

// TestHostileFilesCostLittle gives each parser a quarter of a megabyte that is made to hurt. The limit is
// far above what is needed and far below what a quadratic or exponential way would take.
func TestHostileFilesCostLittle(t *testing.T) {
	size := 1 << 18
	if testing.Short() {
		size /= 4
	}
	fill := func(s string) string { return strings.Repeat(s, size/len(s)) }
	deep := func(open, close string) string {
		n := size / (len(open) + len(close))
		return strings.Repeat(open, n) + strings.Repeat(close, n)
	}
	for file, texts := range map[string][]string{
		"x.py": {fill("("), deep("(", ")"), deep("[", "]"), fill("\""), fill("@a\n"), fill("def f(\n"), fill("class A:\n"),
			fill("from . import *\n"), fill("if x:\n "), fill("x = 1; "), fill("'a' "), fill("p.add_argument("), "import click\n" + fill("@click.command()\ndef f(): pass\n"),
			"import argparse\np = argparse.ArgumentParser()\n" + fill("p.add_argument('--x', help='y')\n"), "class A:\n" + fill("  a: int = 3\n"), fill("__all__ += ['a']\n")},
		"index.ts": {fill("interface a\n"), fill("export class a\n"), fill("export const a =\n"), fill("type a =\n| b\n"), fill("`${"), fill("/*"), fill("/"), deep("{", "}"),
			fill("export * from './index'\n"), fill("export {a} from './index'\n"), fill("function a(): \n"), fill("export function f(a) {}\n"), fill("export default "), fill("/** {@link "),
			"export class A {" + fill("a: b\n") + "}", "import x from 'commander';" + fill(".command('a')"), "import x from 'yargs';" + deep(".command('a',(", "))"), fill("export const f = (a) => b\n")},
		"src/lib.rs": {fill("/*"), fill("'"), fill("r#"), deep("mod a {", "}"), fill("pub fn f("), fill("pub fn f\n"), fill("pub use a::*;\n"), "pub use " + deep("{", "}") + ";", fill("#["), fill("impl A {}\n"),
			fill("pub struct A<"), "pub enum E {" + fill("A,") + "}", "pub enum E {" + fill("A<") + "}", fill("macro_rules! m { () => {} }\n"), fill("/// [`a`]\n")},
		"main.go":                 {"package x\n" + fill("func F() {}\n"), "package x\nvar x = " + fill("("), "package x\nvar X = " + deep("f(", ")"), "package x\n// " + fill("[a] "), "package x\nconst X = 1" + fill("+1")},
		"README.md":               {fill("["), fill("[a]("), fill("![a]("), fill("`"), fill("``"), fill("```\n"), fill("# a\n"), fill("<!--"), fill("<a "), fill("[a]: b\n"), fill("a\n---\n"), fill("\x00")},
		"README.rst":              {fill("``"), fill("a::\n\n  b\n"), fill("a\n=\n"), fill(".. code::\n"), fill("`a <"), fill("|a"), fill(":a:`"), fill("a::\n")},
		"Cargo.toml":              {"[package]\nname='x'\n" + fill("a"), "x = " + deep("[", "]"), fill("a."), fill("[a]\n"), fill("[[a]]\n"), "a=" + fill("{a="), "a = \"\"\"" + fill("\"\"")},
		"package.json":            {deep("[", "]"), fill("{\"a\":"), `{"name":"x","scripts":{` + strings.TrimSuffix(fill(`"a":"b",`), ",") + "}}", `{"name":"x","exports":` + deep(`{".":`, "}") + "}"},
		"go.mod":                  {"module x\n" + fill("require a.b/c v1.0.0\n"), fill("("), fill("a ")},
		"Makefile":                {fill("a: b\n"), fill("# a\n"), fill("a")},
		"noxfile.py":              {fill("@nox.session\ndef f(): pass\n")},
		"tox.ini":                 {fill("[testenv:a]\n")},
		"setup.cfg":               {"[metadata]\nname = x\n" + fill(" a\n"), "[options]\ninstall_requires =\n" + fill(" a\n")},
		"setup.py":                {"setup(" + fill("a=") + ")", fill("setup(name='a')\n"), "setup(install_requires=[" + fill("'a',") + "])"},
		"pyproject.toml":          {"[project]\nname='x'\ndependencies=[" + fill("'a',\n") + "]"},
		".github/workflows/x.yml": {"name: " + fill("a"), "on: " + fill("["), "a: &a [x]\n" + fill("b: *a\n"), fill("- ")},
	} {
		for _, text := range texts {
			fsys := fstest.MapFS{file: {Data: []byte(text)}}
			for _, s := range surroundings {
				for name, text := range s {
					if fsys[name] == nil {
						fsys[name] = &fstest.MapFile{Data: []byte(text)}
					}
				}
			}
			begin := time.Now()
			_, f := extract(t, fsys, "x")
			if took := time.Since(begin); took > 20*time.Second {
				t.Errorf("%s of %.20q took %v for %d claims", file, text, took, len(f.Claims))
			} else if took > time.Second {
				t.Logf("%s of %.30q took %v for %d claims", file, text, took, len(f.Claims))
			}
			if len(f.Claims) < 100 { // checking reads the file for each
				holds(t, fsys, f)
			}
		}
	}
}
