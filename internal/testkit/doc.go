// Package testkit has helpers for tests: small and read-only disks that only the test sees (MountInside, Linux only),
// a local forge with the APIs of GitHub, Gitea and Forgejo (NewForge), the npm packages of a page (InstallNPM, which
// skips the test where they cannot be had), waiting for a condition that sends no signal (WaitUntil, Receive), a
// record of attacks (Attack), and soak tests.
//
// Property tests try the same few cases in every run, so that they pass or fail alike on every machine; packages that
// use rapid import testkit for this effect. Tests whose names end in Soak run for minutes or hours, or draw their steps
// at random: `make soak` runs them, `./test` does not. RAMET_SOAK=short, which CI sets, runs a small part of each;
// RAMET_SOAK=1 runs all of it.
package testkit
