// Command release builds what people install: for each platform an archive with the
// program, man pages, completions, units and licences; packages for Debian, Red Hat and
// Alpine; images, alone and with git; packages for npm and a formula for Homebrew; a list of what is linked;
// and the checksums of all, signed if a key is given.
//
// It promises:
//
//   - The same source, version and Go make the same bytes, whatever the folder, the host
//     or the day: nothing but the commit's date gets in.
//   - Nothing is linked into ramet for it. It is a module of its own.
//   - It publishes nothing, and asks the network for nothing but modules and, for the image
//     with git, packages of Debian, each pinned by its SHA-256.
//   - The folder of the release appears whole or not at all.
package main

import (
	"flag"
	"fmt"
	"os"
	"strings"
)

func main() {
	var r Release
	var platforms, date string
	flag.StringVar(&r.Source, "source", ".", "the checkout to build")
	flag.StringVar(&r.Out, "out", "bin/release", "the folder to make; it must not be there")
	flag.StringVar(&r.Version, "version", "", "the version, without v (default: that of the tag of this commit, else 0.1.0-dev)")
	flag.StringVar(&r.Stamp.Commit, "commit", "", "the commit (default: the checkout's)")
	flag.StringVar(&date, "date", "", "the commit's date, RFC 3339 (default: the checkout's)")
	flag.StringVar(&r.KeyFile, "key", "", "the file of the key that signs the checksums")
	flag.StringVar(&r.Home, "home", "https://example.com/ramet", "where the project and its downloads are")
	flag.StringVar(&platforms, "platforms", strings.Join(everywhere, ","), "what to build for, OS/ARCH,…")
	flag.StringVar(&r.Debian, "debian", "http://deb.debian.org/debian", "the archive of Debian, for the image with git; empty: no such image")
	flag.StringVar(&r.Debs, "debs", "bin/debs", "the folder where its packages are kept")
	checked := flag.String("check", "", "check the files of a release in this folder instead, with -verifier")
	verifier := flag.String("verifier", "", "the public key of who released: ramet+01234567+AbCd…")
	weighed := flag.Bool("weigh", false, "say what each module adds to the program of the first platform instead")
	flag.Parse()
	if *checked != "" {
		n, err := check(*checked, *verifier)
		if err != nil {
			fail(err)
		}
		fmt.Printf("ok: %d files are as they were released\n", n)
		return
	}
	r.Platforms = strings.Split(platforms, ",")
	if *weighed {
		if err := weighing(&r); err != nil {
			fail(err)
		}
		return
	}
	if err := run(&r, date); err != nil {
		fail(err)
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "release:", err)
	os.Exit(1)
}

func weighing(r *Release) error {
	work, err := os.MkdirTemp("", "ramet-weigh")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	return r.weigh(os.Stdout, r.Platforms[0], work)
}

func run(r *Release, date string) error {
	if err := r.describe(date); err != nil {
		return err
	}
	return r.Make()
}
