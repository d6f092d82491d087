// Package tasks is work that an agent must finish, on small repositories that are made for
// it and on modules from the module cache, where they are in there. Each task names what happens on the way: a stream that is cut, a command that goes on in
// the background, a process that is killed. Whether it is solved is judged by a program that
// looks at the files and at facts of the history, never at what a model says of itself.
//
//	go test ./internal/testkit/bench      played by scripted models, in CI
//	make tasks MODEL=vendor/name        played by that model; prints solved, steps, tokens, cost, time
//
// Both ways go over a server of this package: scripted models answer there, real ones are
// reached through it, so that what goes wrong on the way is the same for both.

package bench
