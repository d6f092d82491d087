// Package id holds the names of things: agents and messages. They are types,
// so that one cannot be passed for the other.
package id

import (
	"crypto/rand"
	"encoding/base64"
	"strconv"

	"ramet/internal/base/fault"
)

// Agent is the identity of an agent: 16 random bytes in base64url, 22
// characters, never beginning with - or _ so that it is never taken for a
// flag. The empty Agent names no agent: no parent, or the user as a sender.
type Agent string

// Kernel is ramet itself as a sender of notices. It is no identity: no agent has it.
const Kernel Agent = "kernel"

// Keeps reports whether it can be an agent's, who keeps a history: neither the user nor
// the kernel does.
func (a Agent) Keeps() bool { return a != "" && a != Kernel }

const (
	agentBytes = 16
	agentChars = 22
	shortChars = 8
)

// NewAgent draws an identity.
func NewAgent() Agent {
	for {
		var b [agentBytes]byte
		rand.Read(b[:]) // never fails: crypto/rand ends the process instead
		s := base64.RawURLEncoding.EncodeToString(b[:])
		if s[0] != '-' && s[0] != '_' {
			return Agent(s)
		}
	}
}

// ParseAgent accepts exactly what NewAgent makes.
func ParseAgent(s string) (Agent, error) {
	b, err := base64.RawURLEncoding.Strict().DecodeString(s)
	if err != nil || len(s) != agentChars || len(b) != agentBytes || s[0] == '-' || s[0] == '_' {
		return "", fault.New(fault.InvalidID, "%q is not an agent's uuid", s).
			WithHint("a uuid has %d characters of A-Z a-z 0-9 - _", agentChars)
	}
	return Agent(s), nil
}

// Bytes returns the drawn bytes of an identity; false for what is none.
func (a Agent) Bytes() (b [agentBytes]byte, ok bool) {
	drawn, err := base64.RawURLEncoding.Strict().DecodeString(string(a))
	if err != nil || len(drawn) != agentBytes {
		return b, false
	}
	return [agentBytes]byte(drawn), true
}

// AgentOf returns the identity of drawn bytes.
func AgentOf(b [agentBytes]byte) Agent { return Agent(base64.RawURLEncoding.EncodeToString(b[:])) }

// IsPrefix reports whether s could be the beginning of an identity.
func IsPrefix(s string) bool {
	if s == "" || len(s) > agentChars || s[0] == '-' || s[0] == '_' {
		return false
	}
	for _, c := range []byte(s) {
		ok := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_'
		if !ok {
			return false
		}
	}
	return true
}

// Short returns the first eight characters, for people.
func (a Agent) Short() string {
	if len(a) <= shortChars {
		return string(a)
	}
	return string(a[:shortChars])
}

// Message is the place of an entry in the workspace: ascending along every
// lineage, never reused. 0 is before the first entry and names none.
type Message int64

// ParseMessage reads a message id as a user types it.
func ParseMessage(s string) (Message, error) {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < 1 {
		return 0, fault.New(fault.InvalidID, "%q is not a message id", s).
			WithHint("message ids are the numbers that `ramet log` prints")
	}
	return Message(n), nil
}

// String returns the decimal form, as it is hashed and printed.
func (m Message) String() string { return strconv.FormatInt(int64(m), 10) }
