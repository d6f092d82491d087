// Package vendors holds what ramet understands of the vendors' answers against
// what their own SDKs understand of the same bytes.
//
// The bytes are recorded traffic: the cassettes in the test data of public Go
// modules, read where the module cache keeps them. Nothing of them is copied, and
// nothing of this module is linked into ramet. One server on loopback plays each
// recording twice, to our adapter and to the SDK; both are reduced to an Answer,
// and two answers must be equal in every field, or the difference must stand in
// the list of recordings that are at fault themselves, with its reason.
//
// Where a vendor sends a total of tokens, ours is the same number.
//
// Requests go the other way: what our adapters send is decoded into the SDK's
// own parameter types and encoded again. A field that does not come back is one
// that the vendor does not have.
package vendors
