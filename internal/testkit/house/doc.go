// Package house keeps the house in order: its tests check that every package
// has a place and imports only what that place allows, and that linking a
// dependency does not slow down every start of ramet. It holds no code.
//
// The places, the arrows between them and the allowances are the tables at
// the top of house_test.go. A package that needs an arrow which is not there
// is usually in the wrong place; where it is not, change the table in the same
// commit and say why in docs/decisions.
package house
