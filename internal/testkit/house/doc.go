// Package house checks the structure of the code: its tests fail if a package is in no area, if an area
// imports one above it, if a program is started without the launcher, or if a dependency slows down
// every start. It has no code of its own.
//
// The areas are the table at the top of house_test.go, from the top of the program to its ground. A
// package that needs an import upwards is usually in the wrong place; if it is not, change the table in
// the same commit and say why in docs/decisions.
package house
