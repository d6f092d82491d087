//go:build !unix

package durable

import "io/fs"

// noFollow: here making a link takes a right that strangers' files do not come with.
const noFollow = 0

// unchangeable: files have no modes that could be set through a descriptor.
const unchangeable = true

// ownedByUser reports true: here the temporary folder is the user's own.
func ownedByUser(fs.FileInfo) bool { return true }
