// Package mounttest lets a test mount small and read-only disks of its own, where
// no other process sees them. It works on Linux only.

package testkit
