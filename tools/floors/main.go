// Floors orders the files of a package by who uses whom, and counts the uses that go
// against that order: a package reads well when its files stand on floors, each using
// only what lies below it.
//
//	go run ./floors [-v] PACKAGE...
//
// A use is a pair of a file and a name that another file of the package declares. For
// each package it prints how many uses there are and how many go upwards in the best
// order that it finds; -v lists those, and the order from the ground up.
package main

import (
	"flag"
	"fmt"
	"os"
)

func main() {
	verbose := flag.Bool("v", false, "list the files from the ground up, and the uses that go upwards")
	all := flag.Bool("a", false, "list every use")
	flag.Parse()
	if flag.NArg() == 0 {
		fmt.Fprintln(os.Stderr, "usage: floors [-v] PACKAGE...")
		os.Exit(2)
	}
	packages, err := load(flag.Args())
	if err != nil {
		fmt.Fprintln(os.Stderr, "floors:", err)
		os.Exit(1)
	}
	for _, p := range packages {
		order := arrange(p)
		up := p.against(order)
		fmt.Printf("%s: %d of %d uses against the order of %d files\n", p.name, len(up), len(p.uses), len(p.files))
		if *verbose {
			for _, f := range order {
				fmt.Println("  floor", p.files[f])
			}
			for _, u := range up {
				fmt.Println("  up   ", p.files[u.by], "uses", u.name, "of", p.files[u.of])
			}
		}
		if *all {
			for _, u := range p.uses {
				fmt.Println("  use  ", p.files[u.by], "uses", u.name, "of", p.files[u.of])
			}
		}
	}
}
