//go:build !unix

package durable

// noFollow: here making a link takes a right that strangers' files do not come with.
const noFollow = 0

// unchangeable: files have no modes that could be set through a descriptor.
const unchangeable = true
